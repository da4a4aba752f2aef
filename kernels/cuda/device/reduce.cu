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

// The result of output `at`, or of one part of its axis.
template <typename T, typename Op>
__device__ __forceinline__ void store(const ReduceArgs& args, i64 at, i64 split,
                                      Wide<T> all) {
  if (args.splits > 1) {
    static_cast<Wide<T>*>(args.parts)[at * args.splits + split] = all;
  } else {
    static_cast<T*>(args.axis.out)[at] =
        narrow<T>(Op::result(all, args.axis.n));
  }
}

// The part of an axis that a block works on.
struct AxisPart {
  unsigned block;  // among those of the same part
  i64 split = 0, begin = 0, end;

  __device__ explicit AxisPart(const ReduceArgs& args)
      : block(blockIdx.x), end(args.axis.n) {
    if (args.splits == 1) return;
    const auto splits = static_cast<unsigned>(args.splits);
    block = blockIdx.x / splits;
    split = blockIdx.x - block * splits;
    begin = split * args.size;
    if (begin + args.size < end) end = begin + args.size;
  }
};

template <typename T, typename Op, typename Team>
__device__ __forceinline__ void reduce_row(const ReduceArgs& args, Team team,
                                           i64 at, const AxisPart& part) {
  const PlainRow<T> row(PlainRow<T>(args.axis.in, at, args.axis.n), part.begin,
                        part.end);
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
  if (team.rank() == 0) store<T, Op>(args, at, part.split, all);
}

template <typename T, typename Op>
__device__ __forceinline__ void reduce_columns(const ReduceArgs& args,
                                               const AxisPart& part) {
  const AxisArgs& axis = args.axis;
  const Columns columns(axis, part.block);
  const T* in = static_cast<const T*>(axis.in);
  Accumulator<T, Op> own;
  const bool is_column = columns.at < axis.inner;
  Wide<T> first{0};
  if (is_column) {
    in += columns.outer * axis.n * axis.inner + columns.at;
    first = widen(in[part.begin * axis.inner]);
#pragma unroll 2
    for (i64 i = part.begin + columns.team.rank(); i < part.end;
         i += columns.team.size()) {
      own.add(widen(in[i * axis.inner]));
    }
  }
  const Wide<T> all = joined(own, columns.team, first);
  if (columns.team.rank() != 0 || !is_column) return;
  store<T, Op>(args, columns.outer * axis.inner + columns.at, part.split, all);
}

template <typename T, typename Op>
__device__ __forceinline__ void reduce(const ReduceArgs& args) {
  const AxisPart part(args);
  if (args.axis.inner > 1) return reduce_columns<T, Op>(args, part);
  if (args.axis.n > kAxisOfWarp) {
    return reduce_row<T, Op>(args, BlockTeam(), part.block, part);
  }
  const WarpTeam team;
  if (team.row() < args.axis.outer) {
    reduce_row<T, Op>(args, team, team.row(), part);
  }
}

// The parts of an output, in an order that is always the same.
template <typename T, typename Op>
__device__ __forceinline__ void join_parts(const ReduceArgs& args) {
  const WarpTeam team;
  const i64 at = team.row();
  if (at >= args.axis.outer * args.axis.inner) return;
  const auto* parts =
      static_cast<const Wide<T>*>(args.parts) + at * args.splits;
  Accumulator<T, Op> own;
  for (i64 i = team.rank(); i < args.splits; i += team.size()) {
    own.add(parts[i]);
  }
  const Wide<T> all = joined(own, team, parts[0]);
  if (team.rank() != 0) return;
  static_cast<T*>(args.axis.out)[at] = narrow<T>(Op::result(all, args.axis.n));
}

}  // namespace

#define RULEENGINE_REDUCTION(suffix, T, name, ...)                        \
  RULEENGINE_KERNEL(reduce_##name##_##suffix, ReduceArgs, kAxisThreads) { \
    reduce<T, __VA_ARGS__>(args);                                         \
  }                                                                       \
  RULEENGINE_KERNEL(reduce_##name##_parts_##suffix, ReduceArgs,           \
                    kAxisThreads) {                                       \
    join_parts<T, __VA_ARGS__>(args);                                     \
  }

RULEENGINE_NUMBERS(RULEENGINE_REDUCTION, sum, Whole<Add>)
RULEENGINE_FLOATS(RULEENGINE_REDUCTION, mean, Mean)
RULEENGINE_NUMBERS(RULEENGINE_REDUCTION, max, Whole<Larger>)
RULEENGINE_NUMBERS(RULEENGINE_REDUCTION, min, Whole<Smaller>)

}  // namespace ruleengine::kernels::device
