// Plans of cuDNN that compute attentions. cuDNN is opened at run time; where it
// is missing or too old, each call says so. No exception leaves these calls but
// std::bad_alloc. Safe on any thread; an AttentionPlan may run on many at once,
// each with a handle and a workspace of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "kernels/cuda/attention/chip.h"
#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

// As cuDNN tells it: 91900 for 9.19.0.
Result<std::int64_t> cudnn_version();
// That of the headers that plans are made with: 13200 for 1.32.0.
std::int64_t cudnn_frontend_version();

// The GPU with this number, asked through cuDNN.
Result<Chip> chip_of_device(int device);
// From the words of cuDNN, which reads them and tells them again.
Result<Chip> chip_from_json(std::string_view json);

// A cudnnHandle_t whose work is on this stream, a CUstream.
using HandlePointer = std::unique_ptr<void, void (*)(void*)>;
Result<HandlePointer> open_handle(void* stream);

// Addresses on the GPU; nullptr for what the description does not have. The
// offsets of ragged sequences are int64, batch + 1 of them, in elements;
// lengths and pages are int32.
struct AttentionPointers {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
  const void* bias = nullptr;
  const void* q_lengths = nullptr;
  const void* kv_lengths = nullptr;
  const void* k_pages = nullptr;
  const void* v_pages = nullptr;
  const void* q_offsets = nullptr;
  const void* k_offsets = nullptr;
  const void* v_offsets = nullptr;
  const void* o_offsets = nullptr;
  const void* sink = nullptr;  // float, one for each head of queries
  void* statistics = nullptr;  // float, [batch, heads of queries, length, 1]
  float scale = 1;
  float cap = 0;
};

class AttentionPlan {
 public:
  // An error of the kind kModel says that cuDNN has no plan for this; another
  // kind says that something is missing here.
  static Result<AttentionPlan> build(const AttentionDescription& d,
                                     const Chip& chip);
  // Each plan that cuDNN has for this, at least one. The first is what build()
  // gives. They are there to be compared, and are not serialized.
  static Result<std::vector<AttentionPlan>> candidates(
      const AttentionDescription& d, const Chip& chip);
  // What serialize gave; refused where it was for another chip or another
  // cuDNN. `bytes` come from a file of ours: they are checked for damage there.
  static Result<AttentionPlan> deserialize(std::string_view bytes,
                                           const Chip& chip);
  Result<std::string> serialize() const;

  // The engine of cuDNN and its choices, in the words of cuDNN; empty for what
  // was read.
  std::string name() const;
  std::int64_t workspace_bytes() const;
  // What the code of its kernels lives as long as.
  std::shared_ptr<const void> owner() const;
  // Whether someone found that this plan, or a copy of it, computes what it
  // should.
  bool is_trusted() const;
  void trust() const;
  // kModel where cuDNN does not run it here. `handle`: a cudnnHandle_t, whose
  // stream this runs on. `workspace`: on the GPU; nullptr where
  // workspace_bytes() is 0.
  Status execute(void* handle, const AttentionPointers& at,
                 void* workspace) const;

 private:
  struct Body;
  explicit AttentionPlan(std::shared_ptr<const Body> body)
      : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace ruleengine::kernels::cuda
