// What the ops of attention say, whatever computes them. Internal to kernels.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

// Inputs of Attention and of the engine's own ops of it.
enum AttentionInput { kQ, kK, kV, kMask };

// What scores are multiplied by: an attribute, or 1 / sqrt(size) where it is
// not written.
class ScoreScale {
 public:
  ScoreScale(const runtime::Preparation& p, std::string_view attribute) {
    if (p.has_attribute(attribute)) written_ = p.attribute_float(attribute);
  }
  double of(std::int64_t size) const {
    return written_ ? static_cast<double>(*written_)
                    : 1 / std::sqrt(static_cast<double>(size));
  }

 private:
  std::optional<float> written_;
};

// How many keys a window has on a side; -1: no bound.
inline std::int64_t window_of(const runtime::Preparation& p,
                              std::string_view name) {
  const std::int64_t size = p.attribute_int(name, -1);
  if (size < -1) p.wrong_attribute(name, "-1 or more");
  return size;
}

// The size of one head; fails if `heads` does not divide `hidden`.
inline std::int64_t head_size(std::int64_t hidden, std::int64_t heads) {
  if (heads <= 0) {
    fail("wrong number of heads", "1 or more", std::to_string(heads));
  }
  if (hidden % heads != 0) {
    fail("wrong hidden size",
         "a multiple of " + std::to_string(heads) + ", the number of heads",
         std::to_string(hidden));
  }
  return hidden / heads;
}

}  // namespace ruleengine::kernels
