#include "kernels/cuda/device/lines.h"

#include <type_traits>

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

// A line and which of the threads that share it this one is.
struct Line {
  i64 start;  // of the elements
  i64 outer, at;
  int thread, threads;
  bool exists = true;

  __device__ explicit Line(const LineSizes& sizes) {
    const bool is_shared = sizes.n > kLineOfThread;
    const i64 line = is_shared ? i64{blockIdx.x} : thread_of_grid();
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

template <typename T, typename Sum>
__device__ __forceinline__ void cum_sum(const CumSumArgs& args) {
  RULEENGINE_SHARED(Sum, sums, kLineThreads);
  const Line line(args.sizes);
  if (!line.exists) return;
  const T* in = static_cast<const T*>(args.in) + line.start;
  T* out = static_cast<T*>(args.out) + line.start;
  const i64 n = args.sizes.n;
  const i64 size = divide(n + line.threads - 1, line.threads);
  const i64 begin = line.thread * size;
  const i64 end = begin + size < n ? begin + size : n;
  const auto place = [&](i64 i) {
    return (args.is_reverse ? n - 1 - i : i) * args.sizes.inner;
  };
  Sum sum{0};
  if (line.is_shared()) {
    for (i64 i = begin; i < end; ++i) {
      sum += static_cast<Sum>(widen(in[place(i)]));
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    sum = Sum{0};
    for (int i = 0; i < line.thread; ++i) sum += sums[i];
  }
  for (i64 i = begin; i < end; ++i) {
    const i64 at = place(i);
    const Sum before = sum;
    sum += static_cast<Sum>(widen(in[at]));
    const Sum result = args.is_exclusive ? before : sum;
    out[at] = Narrow<T>::from(static_cast<Wide<T>>(result));
  }
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

template <typename T>
__device__ __forceinline__ void top_k(const TopKArgs& args) {
  using W = Wide<T>;
  const Line line(args.sizes);
  if (!line.exists) return;
  const T* in = static_cast<const T*>(args.in) + line.start;
  const Before<W> before{args};
  const i64 inner = args.sizes.inner;
  i64 to = line.outer * args.k * inner + line.at;
  Ranked<W> last{W{0}, -1};
  for (i64 k = 0; k < args.k; ++k, to += inner) {
    Ranked<W> best{W{0}, -1};
// More at once need more registers than there are.
#pragma unroll 1
    for (i64 i = line.thread; i < args.sizes.n; i += line.threads) {
      const Ranked<W> each{widen(in[i * inner]), i};
      if (last.index >= 0 && !before(last, each)) continue;
      if (before(each, best)) best = each;
    }
    last = line.is_shared() ? first_of_block(best, before) : best;
    if (line.thread != 0) continue;
    if (args.values != nullptr) {
      static_cast<T*>(args.values)[to] = in[last.index * inner];
    }
    if (args.indices != nullptr) args.indices[to] = last.index;
  }
}

// What the elements are added in.
template <typename T>
using SumOf = std::conditional_t<kIsFloat<Wide<T>>, double, u64>;

}  // namespace

#define RULEENGINE_LINES(suffix, T, ...)                          \
  RULEENGINE_KERNEL(cum_sum_##suffix, CumSumArgs, kLineThreads) { \
    cum_sum<T, SumOf<T>>(args);                                   \
  }                                                               \
  RULEENGINE_KERNEL(top_k_##suffix, TopKArgs, kLineThreads) { top_k<T>(args); }

RULEENGINE_NUMBERS(RULEENGINE_LINES, )

}  // namespace ruleengine::kernels::device
