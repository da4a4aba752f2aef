// Loops over tensors with any strides, of the kernels that compute each element
// for itself. The host fills sizes, strides and data, and plan() does the rest:
// it merges dimensions and finds where whole vectors can be loaded.
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

constexpr int kMaxRank = 8;

// A divisor of numbers below 2^31 that multiplies instead.
struct Divisor {
  std::uint64_t divisor = 1;
  std::uint32_t magic = 0, shift = 0;
};

inline Divisor divisor_of(std::uint64_t divisor) {
  Divisor by{.divisor = divisor};
  while ((std::uint64_t{1} << by.shift) < divisor) ++by.shift;
  if (by.shift < 32) {
    const std::uint64_t rest = (std::uint64_t{1} << by.shift) - divisor;
    by.magic = static_cast<std::uint32_t>((rest << 32) / divisor + 1);
  }
  return by;
}

struct Operand {
  void* data = nullptr;  // kernels write what the host calls an output only
  // Of each dimension, in elements; 0 where one element stands for all. From
  // plan() on: of the outer dimensions of the loop.
  std::int64_t strides[kMaxRank] = {};
  std::int64_t step = 0;   // plan(): the stride of the innermost dimension
  std::int32_t bytes = 0;  // of an element
  bool is_wide = false;    // plan(): whether chunks are loaded as vectors
};

// A thread computes a chunk: so many elements beside each other in the
// innermost dimension, or fewer at its end.
struct Loop {
  std::int64_t inner = 1;   // the innermost size
  std::int64_t total = 0;   // of chunks: threads that have work
  std::int32_t rank = 0;    // of the outer dimensions
  bool is_small = false;    // fewer than 2^31 chunks
  Divisor chunks;           // in a row of the innermost dimension
  Divisor sizes[kMaxRank];  // of the outer dimensions
};

template <int n>
struct StridedArgs {
  Loop loop;
  Operand operands[n];  // the output first
};

// The elements of a chunk, where the widest operand has such elements.
constexpr int chunk_of(int bytes) { return 16 / bytes; }

// Whether dimension `at` goes on where `before` has one step, in all operands.
template <int n>
bool merges(const Operand (&operands)[n], const std::int64_t* sizes, int before,
            int at) {
  for (const Operand& each : operands) {
    if (each.strides[before] != each.strides[at] * sizes[at]) return false;
  }
  return true;
}

// Drops sizes of 1, merges dimensions, in place; returns how many are left,
// 1 or more.
template <int n>
int merge_dims(Operand (&operands)[n], std::int64_t* sizes, int rank) {
  int kept = 0;
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 1) continue;
    const bool joins = kept > 0 && merges(operands, sizes, kept - 1, i);
    const int to = joins ? kept - 1 : kept++;
    sizes[to] = joins ? sizes[to] * sizes[i] : sizes[i];
    for (Operand& each : operands) each.strides[to] = each.strides[i];
  }
  if (kept > 0) return kept;
  sizes[0] = 1;
  for (Operand& each : operands) each.strides[0] = 1;
  return 1;
}

inline bool is_wide(const Operand& operand, int outer, int chunk) {
  const auto address = reinterpret_cast<std::uintptr_t>(operand.data);
  bool wide = operand.step == 1 &&
              address % static_cast<unsigned>(chunk * operand.bytes) == 0;
  for (int i = 0; i < outer; ++i) wide &= operand.strides[i] % chunk == 0;
  return wide;
}

// `args.operands` have data, bytes and the strides of `rank` dimensions with
// these sizes, of which none is 0; `chunk` is the kernel's.
template <int n>
void plan(StridedArgs<n>& args, const std::int64_t* dims, int rank, int chunk) {
  std::int64_t sizes[kMaxRank] = {};
  for (int i = 0; i < rank; ++i) sizes[i] = dims[i];
  const int outer = merge_dims(args.operands, sizes, rank) - 1;
  Loop& loop = args.loop;
  loop.inner = sizes[outer];
  loop.rank = outer;
  const std::int64_t chunks = (loop.inner + chunk - 1) / chunk;
  loop.chunks = divisor_of(static_cast<std::uint64_t>(chunks));
  loop.total = chunks;
  for (int i = 0; i < outer; ++i) {
    loop.total *= sizes[i];
    loop.sizes[i] = divisor_of(static_cast<std::uint64_t>(sizes[i]));
  }
  loop.is_small = loop.total < (std::int64_t{1} << 31);
  for (Operand& each : args.operands) {
    each.step = each.strides[outer];
    each.is_wide = is_wide(each, outer, chunk);
  }
}

}  // namespace ruleengine::kernels::device
