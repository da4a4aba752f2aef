// An attention on the GPU as rows of attention fill it, whatever op it is of:
// by a plan of cuDNN where that takes it, else by the kernel of
// kernels/cuda/device/attention.h. Internal to kernels/cuda.
#pragma once

#include <optional>

#include "kernels/attention.h"
#include "kernels/cuda/attention_engine.h"
#include "kernels/cuda/cache.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/heads.h"

namespace ruleengine::kernels::cuda {

// The size of the heads of an input, where its type tells it; `heads`: the
// attribute that says how many an input of 3 axes has.
std::optional<std::int64_t> known_head_size(const Preparation& p,
                                            std::size_t input,
                                            std::string_view heads);

// What a row keeps between runs.
class AttentionParts {
 public:
  // Declines what is not computed on the GPU: other types than float, float16
  // and bfloat16, and heads that are too large or of a size that is not known.
  AttentionParts(const Preparation& p, Session& session, DataType type,
                 std::optional<std::int64_t> qk_size,
                 std::optional<std::int64_t> v_size);

  Session& session() const { return session_; }
  // Whether lengths change from run to run.
  bool has_any_length() const { return has_any_length_; }
  bool runs_often() const { return runs_often_; }
  DataType type() const { return type_; }
  // A mask as a plan of cuDNN takes it: numbers to add to scores.
  Tensor bias_of(Call& c, const Tensor& mask) const;

 private:
  Session& session_;
  DataType type_;
  bool has_any_length_, runs_often_;
  Tensor zero_, least_;  // of one element
};

struct GpuAttending {
  HeadView q, k, v, out;
  double scale = 1, cap = 0;
  bool is_causal = false;
  std::int64_t left = -1, right = -1;  // of a window; -1: no bound
  std::int64_t offset = 0;             // keys before the first query
  // Broadcasts to the scores; or none. What is false hides; numbers are added.
  Tensor mask;
  std::int64_t mask_keys = -1;  // later ones are hidden; -1: none
  // Keys that are there. `ends_meet`: the last query meets the last of them,
  // whatever the offset is.
  KeyLengths lengths;
  bool ends_meet = false;
  // Where sequences begin: then a plan is for the lengths of their buckets.
  SequenceOffsets offsets;
  Tensor sinks;  // float, a score without a value for each head; or none

  bool is_guarded = false;  // a row whose weights are NaN is 0

  // The mask is an input that may leave out the last keys, which are hidden.
  void set_mask(const Call& c, std::size_t input);
  std::int64_t seen_keys() const { return mask_keys < 0 ? k.rows : mask_keys; }
  bool has_mask() const { return mask.dtype() != DataType::kUndefined; }
  bool has_sinks() const { return sinks.dtype() != DataType::kUndefined; }
  bool has_band() const { return is_causal || left >= 0 || right >= 0; }
  // Adds it to the work; `to` is the tensor that `out` is a view of.
  void run(Call& c, const AttentionParts& parts, Tensor& to) const;
};

}  // namespace ruleengine::kernels::cuda
