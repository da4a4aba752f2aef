#include <type_traits>

#include "kernels/cuda/device/axis.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

// Integers are not divided: they have no mean.
struct Mean : Add {
  __device__ static float result(float sum, i64 n) {
    return sum / static_cast<float>(n);
  }
};
template <typename Op>
struct Whole : Op {
  template <typename T>
  __device__ static T result(T value, i64) {
    return value;
  }
};

// Joins what is not there yet with the first value.
template <typename T, typename Op>
struct Accumulator {
  Wide<T> value{0};
  bool is_empty = true;

  __device__ __forceinline__ void add(Wide<T> x) {
    value = is_empty ? x : Op()(value, x);
    is_empty = false;
  }
};

// A team may be larger than its row; then the threads beyond take a value that
// another thread has, which changes no greatest or least one. A sum takes 0.
template <typename T, typename Op, typename Team>
__device__ __forceinline__ Wide<T> joined(const Accumulator<T, Op>& own,
                                          const Team& team, Wide<T> first) {
  constexpr bool is_sum = std::is_base_of_v<Add, Op>;
  const Wide<T> other = is_sum ? Wide<T>{0} : first;
  return team.reduce(own.is_empty ? other : own.value, Op());
}

template <typename T, typename Op, typename Team>
__device__ __forceinline__ void reduce_row(const AxisArgs& args, Team team,
                                           i64 at) {
  const PlainRow<T> row(args.in, at, args.n);
  Accumulator<T, Op> own;
  for (i64 chunk = team.rank(); chunk < row.chunks(); chunk += team.size()) {
    const Values<T> values = row.values(row.input(chunk));
    const int held = row.count(chunk);
#pragma unroll
    for (int i = 0; i < kChunk<T>; ++i) {
      if (i < held) own.add(values.at[i]);
    }
  }
  const Wide<T> all = joined(own, team, widen(row.in[0]));
  if (team.rank() != 0) return;
  static_cast<T*>(args.out)[at] = Narrow<T>::from(Op::result(all, args.n));
}

template <typename T, typename Op>
__device__ __forceinline__ void reduce_columns(const AxisArgs& args) {
  const Columns columns(args);
  const T* in = static_cast<const T*>(args.in);
  Accumulator<T, Op> own;
  columns.each(args, [&](i64 offset) { own.add(widen(in[offset])); });
  const bool is_column = columns.at < args.inner;
  Wide<T> first{0};
  if (is_column) {
    first = widen(in[columns.outer * args.n * args.inner + columns.at]);
  }
  const Wide<T> all = joined(own, columns.team, first);
  if (columns.team.rank() != 0 || !is_column) return;
  static_cast<T*>(args.out)[columns.outer * args.inner + columns.at] =
      Narrow<T>::from(Op::result(all, args.n));
}

template <typename T, typename Op>
__device__ __forceinline__ void reduce(const AxisArgs& args) {
  if (args.inner > 1) return reduce_columns<T, Op>(args);
  with_row(args,
           [&](auto team, i64 row) { reduce_row<T, Op>(args, team, row); });
}

}  // namespace

#define RULEENGINE_REDUCTION(suffix, T, name, ...)                      \
  RULEENGINE_KERNEL(reduce_##name##_##suffix, AxisArgs, kAxisThreads) { \
    reduce<T, __VA_ARGS__>(args);                                       \
  }

RULEENGINE_NUMBERS(RULEENGINE_REDUCTION, sum, Whole<Add>)
RULEENGINE_FLOATS(RULEENGINE_REDUCTION, mean, Mean)
RULEENGINE_NUMBERS(RULEENGINE_REDUCTION, max, Whole<Larger>)
RULEENGINE_NUMBERS(RULEENGINE_REDUCTION, min, Whole<Smaller>)

}  // namespace ruleengine::kernels::device
