// The kernels of the CPU: a row for each op that has one, the list of all
// families, a file each in a folder of kernels/cpu, and the kernels that stand
// in another file than their family's rows. A family is an op or a few that
// share their loop. Internal to kernels/cpu.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "kernels/keeping.h"

namespace ruleengine::kernels {

// What becomes of inputs of types that a kernel does not compute in.
enum class Adapt : std::uint8_t {
  kNone,  // the kernel takes inputs as they are
  // float16, bfloat16 and narrower become float before, and outputs of the same
  // type parameter are rounded back after.
  kWiden,
  // Elements below a byte become a byte each before, and are packed again
  // after: for kernels that move elements.
  kUnpack,
};

struct Kernel {
  using Run = void (*)(runtime::Call&);
  using Prepare = runtime::Op (*)(const runtime::Preparation&);

  // `domain`: "" for the standard one.
  constexpr Kernel(std::string_view d, std::string_view t, Prepare p,
                   Adapt a = Adapt::kNone)
      : domain(d), type(t), adapt(a), prepare_(p) {}
  // An op that has nothing to prepare.
  constexpr Kernel(std::string_view d, std::string_view t, Run r,
                   Adapt a = Adapt::kNone)
      : domain(d), type(t), adapt(a), run_(r) {}

  runtime::Op prepare(const runtime::Preparation& node) const {
    return prepare_ != nullptr ? prepare_(node) : runtime::Op(run_);
  }

  std::string_view domain, type;
  Adapt adapt;

 private:
  Prepare prepare_ = nullptr;
  Run run_ = nullptr;
};

using KernelRows = std::initializer_list<Kernel>;
extern const KernelRows kActivationRows, kArithmeticRows, kAttentionRows,
    kCastRows, kCollectiveRows, kComparisonRows, kContribRows, kControlRows,
    kCumulativeRows, kConvolutionRows, kGatherRows, kGeneratorRows, kImageRows,
    kLayoutRows, kMlRows, kNormRows, kOwnAttentionRows, kOwnProjectionRows,
    kPadRows, kPoolingRows, kProductRows, kQuantizationRows, kRandomRows,
    kRecurrentRows, kReductionRows, kRotaryRows, kScatterRows, kSelectionRows,
    kSequenceRows, kSignalRows, kSoftmaxRows, kStringRows, kTrainingRows,
    kUnaryRows, kViewRows;

inline constexpr const KernelRows* kFamilies[] = {
    &kActivationRows,   &kArithmeticRows,    &kAttentionRows, &kCastRows,
    &kCollectiveRows,   &kComparisonRows,    &kContribRows,   &kControlRows,
    &kCumulativeRows,   &kConvolutionRows,   &kGatherRows,    &kGeneratorRows,
    &kImageRows,        &kLayoutRows,        &kMlRows,        &kNormRows,
    &kOwnAttentionRows, &kOwnProjectionRows, &kPadRows,       &kPoolingRows,
    &kProductRows,      &kQuantizationRows,  &kRandomRows,    &kRecurrentRows,
    &kReductionRows,    &kRotaryRows,        &kScatterRows,   &kSelectionRows,
    &kSequenceRows,     &kSignalRows,        &kSoftmaxRows,   &kStringRows,
    &kTrainingRows,     &kUnaryRows,         &kViewRows};

// attention: scores and weights pass through subgraphs; a state per head
// instead of softmax.
Op flex_attention(const Preparation& p);
Op linear_attention(const Preparation& p);
// contrib
Op group_query_attention(const Preparation& p);
// control
Op scan(const Preparation& p);
Op scan_8(const Preparation& p);
// norm
Op batch_normalization(const Preparation& p);
Op instance_normalization(const Preparation& p);
Op group_normalization(const Preparation& p);
// pooling
Op max_roi_pool(const Preparation& p);
Op max_unpool(const Preparation& p);
// product
Op einsum(const Preparation& p);
// random
Op dropout(const Preparation& p);
// selection
void non_max_suppression(Call& c, bool is_center);
Op unique(const Preparation& p);
// string
Op tf_idf_vectorizer(const Preparation& p);

}  // namespace ruleengine::kernels
