// What an attention is, as far as a plan of cuDNN depends on it. The scale and
// the soft cap itself are numbers of a run, so that plans serve all of them.
//
// Scores go through these steps: scale, soft cap, bias, masks, softmax. A mask
// of booleans becomes a bias before: 0 where it is true, minus infinity
// elsewhere.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "core/ir/data_type.h"

namespace ruleengine::kernels::cuda {

using ir::DataType;

// Of [batch, heads, length, head size]; the last stride is 1.
using FourSizes = std::array<std::int64_t, 4>;

// Where the diagonal of the scores begins: query 0 meets key 0, or the last
// query meets the last key, which each sequence of a batch has its own of.
enum class Diagonal { kTopLeft, kBottomRight };

// The keys that a query sees: from `left` keys before the diagonal to `right`
// keys behind it, both included; nullopt: no bound. Causal is right = 0. cuDNN
// leaves its left bound out, so it gets left + 1; its right bound is the same.
struct Band {
  Diagonal diagonal = Diagonal::kTopLeft;
  std::optional<std::int64_t> left, right;

  bool is_there() const { return left || right; }
  auto operator<=>(const Band&) const = default;
};

// It has its own type: cuDNN would else read it in that of the queries.
struct Bias {
  FourSizes dims{};  // those of the scores, or 1
  FourSizes strides{};
  DataType element = DataType::kFloat;

  auto operator<=>(const Bias&) const = default;
};

// Keys and values are in pages, [pages, heads, page size, head size]; a table
// says which pages a sequence has, [batch, 1, pages of a sequence, 1].
struct Paging {
  std::int64_t page_size = 0, pages = 0;
  std::int64_t table_length = 0, table_stride = 0;

  auto operator<=>(const Paging&) const = default;
};

struct AttentionDescription {
  DataType element = DataType::kFloat16;
  std::int64_t batch = 1;
  std::int64_t q_heads = 1, kv_heads = 1;
  std::int64_t q_length = 1, kv_length = 1;  // the most of a sequence
  std::int64_t qk_size = 64, v_size = 64;
  FourSizes q{}, k{}, v{}, o{};  // strides
  std::optional<Paging> paging;
  // Sequences lie behind each other, from offsets that are data.
  bool is_ragged = false;
  Band band;
  std::optional<Bias> bias;
  bool has_lengths = false;  // of each sequence
  bool has_sink = false;     // a score without a value for each head
  bool has_cap = false;
  bool has_statistics = false;  // writes the logarithm of the sums

  auto operator<=>(const AttentionDescription&) const = default;

  // Bytes that are equal where the descriptions are.
  std::string key() const;
};

// The same attention, where masks that hide nothing are left out and one of two
// equal diagonals, and of equal strides, is chosen, so that more attentions
// share a plan. cuDNN computes wrongly what is causal with one query.
AttentionDescription canonical(AttentionDescription d);

// Strides of [batch, length, heads, size] and of [batch, heads, length, size].
FourSizes strides_by_length(std::int64_t heads, std::int64_t length,
                            std::int64_t size);
FourSizes strides_by_head(std::int64_t heads, std::int64_t length,
                          std::int64_t size);

// Fewer plans for lengths that change: a plan serves all lengths up to that of
// its bucket, and is told the lengths, and where sequences begin, at each run.

// The next power of two that is at least 64; 1 stays, as decoding has plans of
// its own.
std::int64_t bucket_of(std::int64_t length);

// The attention with these lengths of buckets: sequences lie behind each other,
// from offsets that are data, so that strides do not depend on their lengths.
// The heads of a row must be beside each other. Not for a bias or pages.
AttentionDescription with_buckets(AttentionDescription d, std::int64_t q_length,
                                  std::int64_t kv_length);

}  // namespace ruleengine::kernels::cuda
