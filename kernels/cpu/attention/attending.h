// What the ops of attention share: layouts, masks, caches of keys and values,
// and attention without its matrix of scores: tiles of queries meet tiles of
// keys, and the softmax is taken along the way (online softmax). Internal to
// kernels/cpu.
#pragma once

#include <array>
#include <numeric>
#include <vector>

#include "kernels/attention.h"

namespace ruleengine::kernels {

// Places of [batch, head, row, element]; elements of a row are adjacent. The
// stride of an axis that is broadcast is 0.
struct HeadStrides {
  std::int64_t batch = 0, head = 0, row = 0;
  std::int64_t first = 0;  // where the first row begins
  std::int64_t place(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return first + b * batch + h * head + r * row;
  }
};
// Of [batch, heads, rows, size], and of [batch, rows, heads * size].
HeadStrides split_strides(std::int64_t heads, std::int64_t rows,
                          std::int64_t size);
HeadStrides merged_strides(std::int64_t heads, std::int64_t rows,
                           std::int64_t size);

// Rows of heads: of [batch, heads, rows, size], or merged in
// [batch, rows, heads * size], where `merged` says how many heads there are.
struct HeadLayout {
  HeadLayout(const Tensor& x, std::int64_t merged);

  std::int64_t batch, heads, rows, size;
  HeadStrides at;
};

// What is added to scores: numbers, or truth values of which false hides.
struct ScoreMask {
  Tensor values;                        // bool or the type of the queries
  std::array<std::int64_t, 4> strides;  // of [batch, head, query, key]
  std::int64_t first = 0;
  std::int64_t keys = 0;  // later ones are hidden
  bool is_there() const { return values.dtype() != DataType::kUndefined; }
  std::int64_t place(std::int64_t b, std::int64_t head, std::int64_t query,
                     std::int64_t key) const {
    return first + b * strides[0] + head * strides[1] + query * strides[2] +
           key * strides[3];
  }
};

// Which keys are seen: of `keys` those in [begin, end).
struct KeyRange {
  std::int64_t begin = 0, end = 0;
};

struct Attending {
  std::int64_t batch = 0, heads = 0;
  // Each head of keys, and of values, serves equally many heads of queries.
  std::int64_t k_heads = 0, v_heads = 0;
  std::int64_t queries = 0, keys = 0;
  std::int64_t k_size = 0, v_size = 0;
  Tensor q, k, v;
  HeadStrides q_at, k_at, v_at, out_at;
  double scale = 1, softcap = 0;
  ScoreMask mask;
  bool is_causal = false;
  std::int64_t left = -1, right = -1;  // of a window; -1: no bound
  Ints offsets = {
      0};        // keys before the first query: one, or one for each batch
  Ints lengths;  // keys that are there, for each batch; empty: all
  std::vector<float> sinks;  // a score without a value per head; or empty
  bool guarded = false;      // a row whose weights are NaN is 0

  // Heads of queries in a row that have the same keys and values.
  std::int64_t sharing() const {
    return std::gcd(heads / k_heads, heads / v_heads);
  }
  // The head of the keys, or the values, of a head of queries.
  std::int64_t k_head(std::int64_t head) const {
    return head / (heads / k_heads);
  }
  std::int64_t v_head(std::int64_t head) const {
    return head / (heads / v_heads);
  }
  KeyRange seen(std::int64_t b, std::int64_t query) const;
};

// Checks that the types are equal and computable, and that the heads form
// groups.
void check_attending(const Attending& a);

// Fills `out`. All tensors are float.
void flash_attention(const RunContext& c, const Attending& a, Tensor& out);

// The same with all scores, row by row in double: for double tensors, and for
// scores that are asked for. `scores` may be nullptr; else it is
// [batch, heads, queries, keys] and `mode` is that of `qk_matmul_output_mode`.
void plain_attention(const RunContext& c, const Attending& a, Tensor& out,
                     Tensor* scores, std::int64_t mode);

// Their steps for row `i` of [batch, heads, queries], with sums in double.
template <typename T, typename To>
void score_row(const Attending& a, std::int64_t i, To* scores) {
  const std::int64_t head = i / a.queries % a.heads;
  const std::int64_t b = i / a.queries / a.heads;
  const T* q = a.q.data<T>() + a.q_at.place(b, head, i % a.queries);
  const T* k = a.k.data<T>() + a.k_at.place(b, a.k_head(head), 0);
  for (std::int64_t j = 0; j < a.keys; ++j, k += a.k_at.row) {
    double sum = 0;
    for (std::int64_t e = 0; e < a.k_size; ++e) {
      sum += static_cast<double>(q[e]) * static_cast<double>(k[e]);
    }
    scores[j] = static_cast<To>(sum * a.scale);
  }
}
// `sums`: room for v_size. `all`: also of keys that have no weight.
template <typename T, typename Weight>
void gather_row(const Attending& a, std::int64_t i, const Weight* weights,
                bool all, double* sums, T* out) {
  const std::int64_t head = i / a.queries % a.heads;
  const std::int64_t b = i / a.queries / a.heads;
  std::fill_n(sums, a.v_size, 0.0);
  const T* v = a.v.data<T>() + a.v_at.place(b, a.v_head(head), 0);
  for (std::int64_t j = 0; j < a.keys; ++j, v += a.v_at.row) {
    // Keys that are not seen may have anything for values.
    if (!all && weights[j] == 0) continue;
    const auto by = static_cast<double>(weights[j]);
    for (std::int64_t e = 0; e < a.v_size; ++e) {
      sums[e] += by * static_cast<double>(v[e]);
    }
  }
  for (std::int64_t e = 0; e < a.v_size; ++e) out[e] = static_cast<T>(sums[e]);
}

// A mask that broadcasts to the scores of `a`; its last axis may be shorter
// than the keys, the rest of which are hidden then. Integers are added like
// floats. A message names input `i`.
ScoreMask mask_of(Call& c, const Attending& a, std::size_t i,
                  const Tensor& mask);

// Keys or values of [batch, heads, rows, size]: the rows of input `past`, if
// there is one, the `count` rows of `x` from row first[batch] on, and 0 after
// both. `first`: one, or one for each batch.
Tensor with_past(Call& c, std::size_t past, const Tensor& x,
                 const HeadStrides& at, std::int64_t count, const Ints& first,
                 Shape dims);

// Sets what follows from a query of [batch, heads, rows, size], or of
// [batch, rows, heads * size] with the given number of heads.
void set_queries(Attending& a, const Tensor& q, std::int64_t heads);

// Sets what follows from all keys and values, of [batch, heads, rows, size];
// fails where they do not fit the queries.
void set_keys(Attending& a, const Tensor& k, const Tensor& v);

// Attends, and fills output 0 of those dims. `scores` as for plain_attention.
void attend(const RunContext& c, const Attending& a, Tensor& out,
            Tensor* scores = nullptr, std::int64_t mode = 0);

// Rotary position embedding: pairs of elements of a head turn by the angle of
// their position.
struct Rotation : HeadLayout {
  std::int64_t turned = 0;  // the first elements of a head; even
  bool interleaved = false;
  Tensor cosines, sines;  // rows of turned / 2
  Ints positions;         // the row of these for each of batch and row
};

// Fails where something does not fit.
void check_rotation(const Rotation& r);

// `out` = the input turned; float or double.
void rotate(Call& c, const Rotation& r, const Tensor& x, Tensor& out);

}  // namespace ruleengine::kernels
