// The arguments of trial.cu: what a plan of cuDNN is tried with before it is
// trusted. Names end in f16 or bf16.
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

constexpr unsigned kTrialThreads = 256;  // of a block, at most

// random: numbers of [-1, 1) that depend on seed and index alone.
struct RandomArgs {
  void* out;
  std::int64_t count;
  std::uint32_t seed;
};

// differ: *differs becomes 1 where an element of `a` is not within
// absolute + relative * |b| of that of `b`; two NaNs are equal.
struct DifferArgs {
  const void* a;
  const void* b;
  std::int64_t count;
  float absolute, relative;
  std::int32_t* differs;
};

}  // namespace ruleengine::kernels::device
