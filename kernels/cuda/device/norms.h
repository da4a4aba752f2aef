// The arguments of norms.cu: layer_norm and rms_norm (f32 f16 bf16), of rows.
// norm_blocks() says how many blocks a launch has.
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

constexpr unsigned kNormThreads = 256;
// Rows up to this size have a warp each, longer ones a block.
constexpr std::int64_t kNormOfWarp = 1024;

// Norms x, or x + skip + skip_bias. Where a pointer may be nullptr, that
// means: none of it.
struct NormArgs {
  const void* x;             // [rows, n]
  const void* skip;          // [rows, n], or nullptr
  const void* skip_bias;     // [n], or nullptr
  const void* scale;         // [n], or nullptr
  const void* bias;          // [n], or nullptr
  void* out;                 // [rows, n]; may be x or skip
  void* sum;                 // [rows, n]: what was normed, rounded; or nullptr
  float* mean;               // [rows], or nullptr; rms_norm has none
  float* inverse_deviation;  // [rows]: 1 / sqrt(variance + epsilon), or nullptr
  std::int64_t rows;
  std::int64_t n;
  float epsilon;
};

// The blocks of a launch, of kNormThreads threads.
inline std::int64_t norm_blocks(const NormArgs& args) {
  constexpr std::int64_t kWarps = kNormThreads / 32;
  if (args.n > kNormOfWarp) return args.rows;
  return (args.rows + kWarps - 1) / kWarps;
}

}  // namespace ruleengine::kernels::device
