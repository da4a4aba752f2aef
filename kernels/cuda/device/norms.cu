#include "kernels/cuda/device/norms.h"

#include "kernels/cuda/device/formulas.h"
#include "kernels/cuda/device/team.h"

namespace ruleengine::kernels::device {
namespace {

// Chunks of a row that a thread keeps in registers between the passes; what is
// beyond them is read again.
constexpr int kKept = 4;

template <typename T>
constexpr int kChunk = kVectorBytes / sizeof(T);

template <typename T>
struct Values {
  float at[kChunk<T>];
};

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
    const T* from = static_cast<const T*>(data) + offset;
    Values<T> values;
    if (is_wide) {
      const Pack<T, size> pack = load_pack<T, size>(from);
#pragma unroll
      for (int i = 0; i < size; ++i) values.at[i] = widen(pack.values[i]);
      return values;
    }
#pragma unroll
    for (int i = 0; i < size; ++i) {
      values.at[i] = i < held ? widen(from[i]) : 0.0f;
    }
    return values;
  }

  __device__ __forceinline__ void store(void* data, i64 chunk,
                                        const Values<T>& values) const {
    T* to = static_cast<T*>(data) + start + chunk * size;
    Pack<T, size> pack;
#pragma unroll
    for (int i = 0; i < size; ++i) {
      pack.values[i] = Narrow<T>::from(values.at[i]);
    }
    if (is_wide) return store_pack(to, pack);
    const int held = count(chunk);
#pragma unroll
    for (int i = 0; i < size; ++i) {
      if (i < held) to[i] = pack.values[i];
    }
  }

  __device__ __forceinline__ void add(Values<T>& values, const void* data,
                                      i64 offset, int held) const {
    if (data == nullptr) return;
    const Values<T> more = load(data, offset, held);
#pragma unroll
    for (int i = 0; i < size; ++i) values.at[i] += more.at[i];
  }

  // What is normed.
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

// The chunks of a thread: the first ones are kept.
template <typename T, typename Team>
struct Part {
  const Row<T>& row;
  const Team team;
  Values<T> kept[kKept];

  __device__ Part(const Row<T>& of, const Team& by) : row(of), team(by) {
    const i64 chunks = row.chunks();
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const i64 chunk = team.rank() + i64{k} * team.size();
      if (chunk < chunks) kept[k] = row.input(chunk);
    }
  }

  // f(chunk, its values) for each chunk.
  template <typename F>
  __device__ __forceinline__ void each(F f) const {
    const i64 chunks = row.chunks();
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const i64 chunk = team.rank() + i64{k} * team.size();
      if (chunk < chunks) f(chunk, kept[k]);
    }
    for (i64 chunk = team.rank() + i64{kKept} * team.size(); chunk < chunks;
         chunk += team.size()) {
      f(chunk, row.input(chunk));
    }
  }

  // The mean of f(value) over the row.
  template <typename F>
  __device__ __forceinline__ float mean_of(F f) const {
    float sum = 0;
    each([&](i64 chunk, const Values<T>& values) {
      const int held = row.count(chunk);
#pragma unroll
      for (int i = 0; i < kChunk<T>; ++i) {
        if (i < held) sum += f(values.at[i]);
      }
    });
    return team.reduce(sum, Sum()) / static_cast<float>(row.args.n);
  }
};

template <typename T, bool has_mean, typename Team>
__device__ __forceinline__ void norm_row(const NormArgs& args, Team team,
                                         i64 at) {
  const Row<T> row(args, at);
  const Part<T, Team> part(row, team);
  float mean = 0;
  if constexpr (has_mean) mean = part.mean_of([](float x) { return x; });
  const float variance =
      part.mean_of([mean](float x) { return (x - mean) * (x - mean); });
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
