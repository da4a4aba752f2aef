// What GroupQueryAttention of ONNX Runtime's domain says, whatever computes it.
// Internal to kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

struct GroupedSlot {
  enum Input {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLast,
    kTotal,
    kCos,
    kSin,
    kPositions,
    kBias,
    kSink,
    kKeyScale,
    kValueScale,
    kQueryNorm,
    kKeyNorm
  };
};

struct GroupedAttributes {
  explicit GroupedAttributes(const runtime::Preparation& p)
      : heads(p.attribute_int("num_heads")),
        kv_heads(p.attribute_int("kv_num_heads")),
        window(p.attribute_int("local_window_size", -1)),
        scale(p.attribute_float("scale", 0)),
        softcap(std::max(p.attribute_float("softcap"), 0.0F)),
        is_rotated(p.attribute_flag("do_rotary")),
        is_interleaved(p.attribute_flag("rotary_interleaved")),
        is_causal(!p.has_attribute("causal") || p.attribute_flag("causal")),
        has_sink(p.attribute_int("smooth_softmax") > 0) {
    constexpr std::int64_t kMostHeads = 1 << 30;
    if (heads <= 0 || kv_heads <= 0 || heads % kv_heads != 0 ||
        heads > kMostHeads) {
      p.wrong_attribute("num_heads", "a multiple of 'kv_num_heads', which is " +
                                         std::to_string(kv_heads));
    }
    if (window == 0) {
      p.wrong_attribute("local_window_size", "-1, or 1 or more");
    }
  }

  double scale_of(std::int64_t size) const {
    return scale != 0 ? static_cast<double>(scale)
                      : 1 / std::sqrt(static_cast<double>(size));
  }

  std::int64_t heads, kv_heads, window;
  float scale, softcap;
  bool is_rotated, is_interleaved, is_causal, has_sink;
};

// Declines scaled caches, norms of queries and keys, and scores as a result.
inline void decline_unknown_grouped(const runtime::Preparation& p) {
  for (const std::size_t i : {GroupedSlot::kKeyScale, GroupedSlot::kValueScale,
                              GroupedSlot::kQueryNorm, GroupedSlot::kKeyNorm}) {
    if (p.node().has_input(i)) {
      runtime::decline("the kernel does not take input " + std::to_string(i));
    }
  }
  if (p.wants(3)) {
    runtime::decline("the kernel does not give output 'output_qk'");
  }
}

// How many new rows, and rows in all, a call has.
struct GroupedRows {
  std::int64_t rows = 0, past_rows = 0, total = 0;

  // A first prompt: all rows are new where they are as many as the longest.
  bool is_first() const { return total == rows; }
  std::int64_t keys() const { return std::max(past_rows, total); }
};

// Fails where one input of the past is missing, or the total is too small.
inline void expect_grouped(const Call& c, const GroupedRows& g) {
  if (c.has_input(GroupedSlot::kPastKey) !=
      c.has_input(GroupedSlot::kPastValue)) {
    fail("only one of the inputs 'past_key' and 'past_value' is given",
         "both or neither");
  }
  if (c.has_input(GroupedSlot::kKey) != c.has_input(GroupedSlot::kValue)) {
    fail("only one of the inputs 'key' and 'value' is given",
         "both, or neither and packed queries");
  }
  if (g.total < g.rows) {
    c.wrong_value(GroupedSlot::kTotal, std::to_string(g.rows) + " or more",
                  std::to_string(g.total));
  }
}

}  // namespace ruleengine::kernels
