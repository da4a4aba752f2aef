#include "kernels/cuda/device/norms.h"

#include "kernels/cuda/device/formulas.h"
#include "kernels/cuda/device/rows.h"

namespace ruleengine::kernels::device {
namespace {

// One row, in chunks of which the last may be shorter.
template <typename T>
struct Row {
  static constexpr int size = kChunk<T>;
  const NormArgs& args;
  i64 start;
  bool is_wide;

  __device__ Row(const NormArgs& of, i64 row)
      : args(of), start(row * of.n), is_wide(of.n % size == 0) {
    for (const void* data :
         {of.x, of.skip, of.skip_bias, of.scale, of.bias,
          static_cast<const void*>(of.out), static_cast<const void*>(of.sum)}) {
      is_wide &= is_aligned(data, kVectorBytes);
    }
  }

  __device__ i64 chunks() const { return (args.n + size - 1) / size; }
  __device__ int count(i64 chunk) const {
    const i64 rest = args.n - chunk * size;
    return static_cast<int>(rest < size ? rest : size);
  }

  __device__ __forceinline__ Values<T> load(const void* data, i64 offset,
                                            int held) const {
    return load_values<T>(static_cast<const T*>(data) + offset, held, is_wide);
  }
  __device__ __forceinline__ void store(void* data, i64 chunk,
                                        const Values<T>& values) const {
    store_values(static_cast<T*>(data) + start + chunk * size, values,
                 count(chunk), is_wide);
  }

  __device__ __forceinline__ void add(Values<T>& values, const void* data,
                                      i64 offset, int held) const {
    if (data == nullptr) return;
    const Values<T> more = load(data, offset, held);
#pragma unroll
    for (int i = 0; i < size; ++i) values.at[i] += more.at[i];
  }

  // What is normed.
  using Kept = Values<T>;
  static __device__ __forceinline__ const Kept& values(const Kept& kept) {
    return kept;
  }
  __device__ __forceinline__ Values<T> input(i64 chunk) const {
    const i64 column = chunk * size;
    const int held = count(chunk);
    Values<T> values = load(args.x, start + column, held);
    add(values, args.skip, start + column, held);
    add(values, args.skip_bias, column, held);
    return values;
  }

  __device__ __forceinline__ void output(i64 chunk, Values<T> values,
                                         float mean, float inverse) const {
    if (args.sum != nullptr) store(args.sum, chunk, values);
    const i64 column = chunk * size;
    const int held = count(chunk);
#pragma unroll
    for (int i = 0; i < size; ++i) {
      values.at[i] = (values.at[i] - mean) * inverse;
    }
    if (args.scale != nullptr) {
      const Values<T> scale = load(args.scale, column, held);
#pragma unroll
      for (int i = 0; i < size; ++i) values.at[i] *= scale.at[i];
    }
    add(values, args.bias, column, held);
    store(args.out, chunk, values);
  }
};

// The mean of f(value) over the row.
template <typename T, typename Team, typename F>
__device__ __forceinline__ float mean_of(const Part<T, Row<T>, Team>& part,
                                         F f) {
  float sum = 0;
  part.each([&](i64 chunk, const Values<T>& values) {
    const int held = part.row.count(chunk);
#pragma unroll
    for (int i = 0; i < kChunk<T>; ++i) {
      if (i < held) sum += f(values.at[i]);
    }
  });
  return part.team.reduce(sum, Add()) / static_cast<float>(part.row.args.n);
}

template <typename T, bool has_mean, typename Team>
__device__ __forceinline__ void norm_row(const NormArgs& args, Team team,
                                         i64 at) {
  const Row<T> row(args, at);
  const Part<T, Row<T>, Team> part(row, team);
  float mean = 0;
  if constexpr (has_mean) mean = mean_of(part, [](float x) { return x; });
  const float variance =
      mean_of(part, [mean](float x) { return (x - mean) * (x - mean); });
  const float inverse = 1.0f / sqrtf(variance + args.epsilon);
  part.each([&](i64 chunk, const Values<T>& values) {
    row.output(chunk, values, mean, inverse);
  });
  if (team.rank() != 0) return;
  if (has_mean && args.mean != nullptr) args.mean[at] = mean;
  if (args.inverse_deviation != nullptr) args.inverse_deviation[at] = inverse;
}

template <typename T, bool has_mean>
__device__ __forceinline__ void norm(const NormArgs& args) {
  if (args.n > kNormOfWarp) {
    norm_row<T, has_mean>(args, BlockTeam(), BlockTeam().row());
  } else if (WarpTeam().row() < args.rows) {
    norm_row<T, has_mean>(args, WarpTeam(), WarpTeam().row());
  }
}

}  // namespace

#define RULEENGINE_NORM(suffix, T, name, has_mean)             \
  RULEENGINE_KERNEL(name##_##suffix, NormArgs, kNormThreads) { \
    norm<T, has_mean>(args);                                   \
  }

RULEENGINE_FLOATS(RULEENGINE_NORM, layer_norm, true)
RULEENGINE_FLOATS(RULEENGINE_NORM, rms_norm, false)

}  // namespace ruleengine::kernels::device
