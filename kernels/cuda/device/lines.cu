#include "kernels/cuda/device/lines.h"

#include <type_traits>

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

// A line, or a part of one, and which of the threads that share it this one is.
struct Line {
  i64 start;  // of the elements
  i64 outer, at;
  i64 part = 0;
  int thread, threads;
  bool exists = true;

  __device__ explicit Line(const LineSizes& sizes, i64 splits = 1) {
    const bool is_shared = sizes.n > kLineOfThread;
    i64 line = is_shared ? i64{blockIdx.x} : thread_of_grid();
    if (splits > 1) {
      const i64 block = line;
      line = divide(block, splits);
      part = block - line * splits;
    }
    thread = is_shared ? static_cast<int>(threadIdx.x) : 0;
    threads = is_shared ? static_cast<int>(kLineThreads) : 1;
    exists = line < sizes.outer * sizes.inner;
    outer = divide(line, sizes.inner);
    at = line - outer * sizes.inner;
    start = outer * sizes.n * sizes.inner + at;
  }
  __device__ bool is_shared() const { return threads > 1; }
};

// --- sums ------------------------------------------------------------------

// A line in the order in which it is summed up.
template <typename T, typename Sum>
struct Summed {
  const T* in;
  T* out;
  i64 n, first, step;
  bool is_exclusive;

  __device__ Summed(const CumSumArgs& args, i64 start)
      : in(static_cast<const T*>(args.in) + start),
        out(static_cast<T*>(args.out) + start),
        n(args.sizes.n),
        first(args.is_reverse ? (n - 1) * args.sizes.inner : 0),
        step(args.is_reverse ? -args.sizes.inner : args.sizes.inner),
        is_exclusive(args.is_exclusive) {}

  __device__ __forceinline__ Wide<T> load(i64 i) const {
    return i < n ? widen(in[first + i * step]) : Wide<T>{0};
  }
  // Stores the sum before an element or with it, and returns the latter.
  __device__ __forceinline__ Sum store(i64 i, Sum before, Wide<T> own) const {
    const Sum with = before + static_cast<Sum>(own);
    if (i < n) {
      const Sum result = is_exclusive ? before : with;
      out[first + i * step] = narrow<T>(static_cast<Wide<T>>(result));
    }
    return with;
  }
};

// The sum of the values of the lanes up to this one.
template <typename Sum>
__device__ __forceinline__ Sum sum_of_lanes(Sum value) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int distance = 1; distance < int{kWarp}; distance *= 2) {
    const bool is_there = lane >= distance;
    const Sum lower =
        __shfl_sync(kWholeWarp, value, is_there ? lane - distance : lane);
    if (is_there) value += lower;
  }
  return value;
}

// By all threads of a block: tile by tile, with the sum of the tiles before.
// Threads beside each other read elements beside each other.
template <typename T, typename Sum>
__device__ __forceinline__ void sum_line(const Summed<T, Sum>& line) {
  constexpr int each = 4;  // elements of a thread
  constexpr int warps = kLineThreads / kWarp;
  RULEENGINE_SHARED(Sum, sums, warps);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  Sum carry{0};
#pragma unroll 1
  for (i64 tile = 0; tile < line.n; tile += each * int{kLineThreads}) {
    const i64 begin = tile + i64{threadIdx.x} * each;
    Wide<T> own[each];
    Sum all{0};
#pragma unroll
    for (int k = 0; k < each; ++k) {
      own[k] = line.load(begin + k);
      all += static_cast<Sum>(own[k]);
    }
    all = sum_of_lanes(all);
    if (lane == kWarp - 1) sums[warp] = all;
    // Not a difference, which infinity would make a NaN of.
    Sum lower = __shfl_sync(kWholeWarp, all, lane == 0 ? 0 : lane - 1);
    if (lane == 0) lower = Sum{0};
    __syncthreads();
    Sum before = carry;
#pragma unroll 1
    for (int i = 0; i < warps; ++i) {
      if (i < warp) before += sums[i];
      carry += sums[i];
    }
    before += lower;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      before = line.store(begin + k, before, own[k]);
    }
    __syncthreads();  // the sums were read
  }
}

template <typename T>
__device__ __forceinline__ void cum_sum(const CumSumArgs& args) {
  // What the elements are added in.
  using Sum = std::conditional_t<kIsFloat<Wide<T>>, double, u64>;
  const Line line(args.sizes);
  if (!line.exists) return;
  const Summed<T, Sum> summed(args, line.start);
  if (line.is_shared()) return sum_line(summed);
  Sum sum{0};
  for (i64 i = 0; i < summed.n; ++i) sum = summed.store(i, sum, summed.load(i));
}

// --- the first in an order ---------------------------------------------------

template <typename W>
struct Ranked {
  W value;
  i64 index;  // -1: none
};

template <typename W>
struct Before {
  const TopKArgs& args;

  __device__ bool operator()(const Ranked<W>& a, const Ranked<W>& b) const {
    if (b.index < 0 || a.index < 0) return b.index < 0 && a.index >= 0;
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (a_is_nan != b_is_nan) return a_is_nan == args.is_nan_first;
    if (!a_is_nan && a.value != b.value) {
      return args.is_largest ? a.value > b.value : a.value < b.value;
    }
    return args.is_last_first ? a.index > b.index : a.index < b.index;
  }
};

// The first of those of all threads of the block; all threads get it.
template <typename W>
__device__ __forceinline__ Ranked<W> first_of_block(Ranked<W> own,
                                                    const Before<W>& before) {
  RULEENGINE_SHARED(W, values, kLineThreads);
  RULEENGINE_SHARED(i64, indices, kLineThreads);
  __syncthreads();  // an earlier result was read
  values[threadIdx.x] = own.value;
  indices[threadIdx.x] = own.index;
  for (unsigned half = kLineThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const Ranked<W> other{values[threadIdx.x + half],
                          indices[threadIdx.x + half]};
    if (!before(other, own)) continue;
    own = other;
    values[threadIdx.x] = own.value;
    indices[threadIdx.x] = own.index;
  }
  __syncthreads();
  return {values[0], indices[0]};
}

// store(which it is) for the first `most` of source(begin), ..., source(end -
// 1), of which there are as many.
template <typename W, typename Source, typename Store>
__device__ __forceinline__ void each_first(const TopKArgs& args,
                                           const Line& line, i64 most,
                                           i64 begin, i64 end,
                                           const Source& source,
                                           const Store& store) {
  const Before<W> before{args};
  Ranked<W> last{W{0}, -1};
  for (i64 k = 0; k < most; ++k) {
    Ranked<W> best{W{0}, -1};
// More at once need more registers than there are.
#pragma unroll 1
    for (i64 i = begin + line.thread; i < end; i += line.threads) {
      const Ranked<W> each = source(i);
      if (last.index >= 0 && !before(last, each)) continue;
      if (before(each, best)) best = each;
    }
    last = line.is_shared() ? first_of_block(best, before) : best;
    if (line.thread == 0) store(last);
  }
}

// Where the first elements of a line go.
template <typename T>
struct FirstOfLine {
  const TopKArgs& args;
  const T* in;
  i64 to;

  __device__ FirstOfLine(const TopKArgs& all, const Line& line)
      : args(all),
        in(static_cast<const T*>(all.in) + line.start),
        to(line.outer * all.k * all.sizes.inner + line.at) {}
  __device__ __forceinline__ void store(i64 index) {
    if (args.values != nullptr) {
      static_cast<T*>(args.values)[to] = in[index * args.sizes.inner];
    }
    if (args.indices != nullptr) args.indices[to] = index;
    to += args.sizes.inner;
  }
};

// Where the elements are that a part of a line has found.
__device__ __forceinline__ i64* found_in(const TopKArgs& args, const Line& line,
                                         i64 part) {
  const i64 at = line.outer * args.sizes.inner + line.at;
  return args.parts + (at * args.splits + part) * args.k;
}

template <typename T>
__device__ __forceinline__ void top_k(const TopKArgs& args) {
  const Line line(args.sizes);
  if (!line.exists) return;
  FirstOfLine<T> out(args, line);
  each_first<Wide<T>>(
      args, line, args.k, 0, args.sizes.n,
      [&](i64 i) {
        return Ranked<Wide<T>>{widen(out.in[i * args.sizes.inner]), i};
      },
      [&](const Ranked<Wide<T>>& first) { out.store(first.index); });
}

// By a block for each part of a line.
template <typename T>
__device__ __forceinline__ void top_k_parts(const TopKArgs& args) {
  using W = Wide<T>;
  const Line line(args.sizes, args.splits);
  const T* in = static_cast<const T*>(args.in) + line.start;
  const i64 begin = line.part * args.size;
  const i64 rest = args.sizes.n - begin;
  const i64 count = rest < args.size ? rest : args.size;
  i64* found = found_in(args, line, line.part);
  each_first<W>(
      args, line, count < args.k ? count : args.k, begin, begin + count,
      [&](i64 i) {
        return Ranked<W>{widen(in[i * args.sizes.inner]), i};
      },
      [&](const Ranked<W>& first) { *found++ = first.index; });
  // The last part may have fewer.
  for (i64 k = count + line.thread; k < args.k; k += line.threads) {
    found_in(args, line, line.part)[k] = -1;
  }
}

// By a block for each line.
template <typename T>
__device__ __forceinline__ void top_k_join(const TopKArgs& args) {
  using W = Wide<T>;
  const Line line(args.sizes);
  const i64* found = found_in(args, line, 0);
  FirstOfLine<T> out(args, line);
  each_first<W>(
      args, line, args.k, 0, args.splits * args.k,
      [&](i64 i) {
        const i64 index = found[i];
        const i64 at = index < 0 ? 0 : index;
        return Ranked<W>{widen(out.in[at * args.sizes.inner]), index};
      },
      [&](const Ranked<W>& first) { out.store(first.index); });
}

}  // namespace

RULEENGINE_NUMBERS(RULEENGINE_KERNEL_OF, cum_sum, CumSumArgs, kLineThreads)
RULEENGINE_NUMBERS(RULEENGINE_KERNEL_OF, top_k, TopKArgs, kLineThreads)
RULEENGINE_NUMBERS(RULEENGINE_KERNEL_OF, top_k_parts, TopKArgs, kLineThreads)
RULEENGINE_NUMBERS(RULEENGINE_KERNEL_OF, top_k_join, TopKArgs, kLineThreads)

}  // namespace ruleengine::kernels::device
