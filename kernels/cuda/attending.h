// An attention on the GPU as rows of attention fill it, whatever op it is of.
// Internal to kernels/cuda.
#pragma once

#include <optional>

#include "kernels/cuda/attention_engine.h"
#include "kernels/cuda/families.h"

namespace ruleengine::kernels::cuda {

// [batch, heads, rows, size] as it lies in a tensor.
struct HeadView {
  const std::byte* data = nullptr;
  std::int64_t batch = 1, heads = 1, rows = 0, size = 0;
  FourSizes strides{};

  std::int64_t count() const { return batch * heads * rows * size; }
};
// Of [batch, heads, rows, size], or of [batch, rows, heads * size].
HeadView head_view(const Tensor& x, std::int64_t heads);

// What a row keeps between runs.
class AttentionParts {
 public:
  AttentionParts(const Preparation& p, Session& session, DataType type);

  Session& session() const { return session_; }
  DataType type() const { return type_; }

  // Scores are added to what this has: 0 where a mask of booleans is true and
  // minus infinity elsewhere; a mask of numbers itself.
  Tensor bias_of(Call& c, const Tensor& mask) const;
  // Rows that see no key are 0.
  void clear_hidden(Call& c, Tensor& out) const;

 private:
  Session& session_;
  DataType type_;
  Tensor zero_, least_;  // of one element
  CUfunction equal_;
};

struct GpuAttending {
  HeadView q, k, v;
  double scale = 1, cap = 0;
  bool is_causal = false;
  std::int64_t left = -1, right = -1;  // of a window; -1: no bound
  std::int64_t offset = 0;             // keys before the first query
  Tensor bias;                         // broadcasts to the scores; or none
  // Keys that are there, for each batch; empty: all. `ends_meet`: the last
  // query meets the last of them, whatever the offset is.
  Ints lengths;
  bool ends_meet = false;

  bool has_bias() const { return bias.dtype() != DataType::kUndefined; }
  // Adds it to the work. `out` lies like `out_view`.
  void run(Call& c, const AttentionParts& parts, Tensor& out,
           const HeadView& out_view) const;
};

}  // namespace ruleengine::kernels::cuda
