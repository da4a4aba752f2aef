#include "kernels/cuda/device/softmax.h"

#include "kernels/cuda/device/axis.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

// The greatest number so far, and the sum of exp(x - greatest).
struct Exponents {
  float greatest = -INFINITY;
  float sum = 0;

  // What the sum shrinks by. There is none yet where all was -inf.
  static __device__ __forceinline__ float scale(float from, float to) {
    return from == -INFINITY ? 0.0f : expf(from - to);
  }

  template <int size>
  __device__ __forceinline__ void add(const float (&values)[size], int held) {
    float most = greatest;
#pragma unroll
    for (int i = 0; i < size; ++i) {
      if (i < held) most = Larger()(most, values[i]);
    }
    sum *= scale(greatest, most);
#pragma unroll
    for (int i = 0; i < size; ++i) {
      if (i < held) sum += scale(values[i], most);
    }
    greatest = most;
  }

  __device__ __forceinline__ void add(const Exponents& other) {
    const float most = Larger()(greatest, other.greatest);
    sum = sum * scale(greatest, most) + other.sum * scale(other.greatest, most);
    greatest = most;
  }

  // Of all threads of the team.
  template <typename Team>
  __device__ __forceinline__ Exponents joined(const Team& team) const {
    const float most = team.reduce(greatest, Larger());
    const float scaled = sum * scale(greatest, most);
    return {most, team.reduce(scaled, Add())};
  }
};

struct Softmax {
  float greatest, factor;
  __device__ explicit Softmax(const Exponents& all)
      : greatest(all.greatest), factor(1.0f / all.sum) {}
  __device__ float operator()(float x) const {
    return expf(x - greatest) * factor;
  }
};
struct LogSoftmax {
  float greatest, log;
  __device__ explicit LogSoftmax(const Exponents& all)
      : greatest(all.greatest), log(logf(all.sum)) {}
  __device__ float operator()(float x) const { return x - greatest - log; }
};

template <typename T, typename Result, typename Team>
__device__ __forceinline__ void softmax_row(const AxisArgs& args, Team team,
                                            i64 at) {
  const PlainRow<T> row(args.in, at, args.n);
  const Part<T, PlainRow<T>, Team> part(row, team);
  Exponents own;
  part.each([&](i64 chunk, const Values<T>& values) {
    own.add(values.at, row.count(chunk));
  });
  const Result result(own.joined(team));
  // From the input's address, which is still known: one number fewer is kept.
  T* out =
      static_cast<T*>(args.out) + (row.in - static_cast<const T*>(args.in));
  const bool is_wide = row.is_wide && is_aligned(args.out, kVectorBytes);
  part.each([&](i64 chunk, Values<T> values) {
#pragma unroll
    for (int i = 0; i < kChunk<T>; ++i) values.at[i] = result(values.at[i]);
    store_values(out + chunk * kChunk<T>, values, row.count(chunk), is_wide);
  });
}

template <typename T, typename Result>
__device__ __forceinline__ void softmax_columns(const AxisArgs& args) {
  const Columns columns(args, blockIdx.x);
  const T* in = static_cast<const T*>(args.in);
  T* out = static_cast<T*>(args.out);
  Exponents own;
  columns.each(args, [&](i64 offset) {
    const float value[1] = {widen(in[offset])};
    own.add(value, 1);
  });
  const Result result(own.joined(columns.team));
  columns.each(args, [&](i64 offset) {
    out[offset] = narrow<T>(result(widen(in[offset])));
  });
}

template <typename T, typename Result>
__device__ __forceinline__ void softmax(const AxisArgs& args) {
  if (args.inner > 1) return softmax_columns<T, Result>(args);
  with_row(args, [&](auto team, i64 row) {
    softmax_row<T, Result>(args, team, row);
  });
}

// --- rows that are few -----------------------------------------------------

// A part of a row, by a block.
template <typename T>
struct RowPart {
  BlockTeam team;
  i64 outer, begin;
  PlainRow<T> row;

  __device__ explicit RowPart(const SplitSoftmaxArgs& args)
      : outer(divide(blockIdx.x, args.splits)),
        begin((blockIdx.x - outer * args.splits) * args.size),
        row(PlainRow<T>(args.axis.in, outer, args.axis.n), begin,
            begin + args.size < args.axis.n ? begin + args.size : args.axis.n) {
  }

  // f(chunk, its values) for each chunk of this thread.
  template <typename F>
  __device__ __forceinline__ void each(F f) const {
    for (i64 chunk = team.rank(); chunk < row.chunks(); chunk += team.size()) {
      f(chunk, row.values(row.input(chunk)));
    }
  }
};

template <typename T>
__device__ __forceinline__ void softmax_sums(const SplitSoftmaxArgs& args) {
  const RowPart<T> part(args);
  Exponents own;
  part.each([&](i64 chunk, const Values<T>& values) {
    own.add(values.at, part.row.count(chunk));
  });
  const Exponents all = own.joined(part.team);
  if (part.team.rank() != 0) return;
  args.sums[2 * i64{blockIdx.x}] = all.greatest;
  args.sums[2 * i64{blockIdx.x} + 1] = all.sum;
}

template <typename T, typename Result>
__device__ __forceinline__ void split_softmax(const SplitSoftmaxArgs& args) {
  const RowPart<T> part(args);
  const float* sums = args.sums + 2 * part.outer * args.splits;
  Exponents own;
  for (i64 i = part.team.rank(); i < args.splits; i += part.team.size()) {
    own.add(Exponents{sums[2 * i], sums[2 * i + 1]});
  }
  const Result result(own.joined(part.team));
  T* out =
      static_cast<T*>(args.axis.out) + part.outer * args.axis.n + part.begin;
  const bool is_wide =
      part.row.is_wide && is_aligned(args.axis.out, kVectorBytes);
  part.each([&](i64 chunk, Values<T> values) {
#pragma unroll
    for (int i = 0; i < kChunk<T>; ++i) values.at[i] = result(values.at[i]);
    store_values(out + chunk * kChunk<T>, values, part.row.count(chunk),
                 is_wide);
  });
}

}  // namespace

#define RULEENGINE_SOFTMAX(suffix, T, name, Result)                            \
  RULEENGINE_KERNEL(name##_##suffix, AxisArgs, kAxisThreads) {                 \
    softmax<T, Result>(args);                                                  \
  }                                                                            \
  RULEENGINE_KERNEL(split_##name##_##suffix, SplitSoftmaxArgs, kAxisThreads) { \
    split_softmax<T, Result>(args);                                            \
  }
RULEENGINE_FLOATS(RULEENGINE_KERNEL_OF, softmax_sums, SplitSoftmaxArgs,
                  kAxisThreads)
RULEENGINE_FLOATS(RULEENGINE_SOFTMAX, softmax, Softmax)
RULEENGINE_FLOATS(RULEENGINE_SOFTMAX, log_softmax, LogSoftmax)

}  // namespace ruleengine::kernels::device
