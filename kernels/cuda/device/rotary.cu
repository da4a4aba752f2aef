#include "kernels/cuda/device/rotary.h"

#include "kernels/cuda/device/formulas.h"
#include "kernels/cuda/device/rows.h"

namespace ruleengine::kernels::device {
namespace {

// Where a head begins in each tensor.
struct Head {
  i64 in, out;
  i64 batch, place;  // of [batch, seq]

  __device__ Head(const RotaryArgs& args, i64 at) {
    const i64 line = divide(at, args.seq);  // of [batch, heads]
    place = at - line * args.seq;
    batch = divide(line, args.heads);
    const i64 head = line - batch * args.heads;
    in = batch * args.in_strides[0] + head * args.in_strides[1] +
         place * args.in_strides[2];
    out = batch * args.out_strides[0] + head * args.out_strides[1] +
          place * args.out_strides[2];
  }
};

// The row of the caches; negative where there is none.
__device__ __forceinline__ i64 row_of(const RotaryArgs& args,
                                      const Head& head) {
  if (args.positions == nullptr) {
    return head.batch * args.row_strides[0] + head.place * args.row_strides[1];
  }
  const i64 token = head.batch * args.seq + head.place;
  i64 position =
      args.counts_on ? args.positions[0] + head.place : args.positions[token];
  if (position < 0) position += args.position_count;
  if (position >= 0 && position < args.position_count) return position;
  *args.beyond = 1;
  return -1;
}

// Whether all chunks of the tensors are vectors.
template <typename T>
__device__ __forceinline__ bool is_wide(const RotaryArgs& args) {
  constexpr int size = kChunk<T>;
  bool wide = args.rotated / 2 % size == 0 && args.head_size % size == 0 &&
              is_aligned(args.in, kVectorBytes) &&
              is_aligned(args.out, kVectorBytes) &&
              is_aligned(args.cosines, kVectorBytes) &&
              is_aligned(args.sines, kVectorBytes);
  for (int i = 0; i < 3; ++i) {
    wide &= args.in_strides[i] % size == 0 && args.out_strides[i] % size == 0;
  }
  return wide;
}

// The chunks of a head's elements that hold the pairs of one thread.
struct Pairs {
  int starts[2];
  int held[2];

  __device__ Pairs(const RotaryArgs& args, int pair, int count, int size) {
    if (args.is_interleaved) {
      starts[0] = 2 * pair;
      starts[1] = 2 * pair + size;
      held[0] = 2 * count < size ? 2 * count : size;
      held[1] = 2 * count - held[0];
    } else {
      starts[0] = pair;
      starts[1] = pair + args.rotated / 2;
      held[0] = held[1] = count;
    }
  }
};

template <bool neighbours, typename T>
__device__ __forceinline__ void turn(Values<T> (&values)[2],
                                     const Values<T>& cosines,
                                     const Values<T>& sines) {
  constexpr int size = kChunk<T>;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const int first = neighbours ? 2 * i : i;
    const int second = neighbours ? 2 * i + 1 : size + i;
    auto& a = values[first / size].at[first % size];
    auto& b = values[second / size].at[second % size];
    const float before = a;
    a = cosines.at[i] * before - sines.at[i] * b;
    b = sines.at[i] * before + cosines.at[i] * b;
  }
}

template <typename T>
__device__ __forceinline__ void turn_chunk(const RotaryArgs& args,
                                           const Head& head, int pair,
                                           bool wide) {
  constexpr int size = kChunk<T>;
  const int half = args.rotated / 2;
  const int count = half - pair < size ? half - pair : size;
  const Pairs pairs(args, pair, count, size);
  const T* in = static_cast<const T*>(args.in) + head.in;
  T* out = static_cast<T*>(args.out) + head.out;
  Values<T> values[2], cosines = {}, sines = {};
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    values[k] = load_values<T>(in + pairs.starts[k], pairs.held[k], wide);
  }
  const i64 row = row_of(args, head);
  if (row >= 0) {
    const i64 at = row * half + pair;
    cosines =
        load_values<T>(static_cast<const T*>(args.cosines) + at, count, wide);
    sines = load_values<T>(static_cast<const T*>(args.sines) + at, count, wide);
  }
  if (args.is_interleaved) {
    turn<true, T>(values, cosines, sines);
  } else {
    turn<false, T>(values, cosines, sines);
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    store_values(out + pairs.starts[k], values[k], pairs.held[k], wide);
  }
}

template <typename T>
__device__ __forceinline__ void rotary(const RotaryArgs& args) {
  constexpr int size = kChunk<T>;
  const int turned = (args.rotated / 2 + size - 1) / size;
  const int kept = (args.head_size - args.rotated + size - 1) / size;
  const bool wide = is_wide<T>(args);
  const i64 total = args.batch * args.heads * args.seq * (turned + kept);
  for_each(total, [&](i64 i) {
    const i64 at = divide(i, turned + kept);
    const int chunk = static_cast<int>(i - at * (turned + kept));
    const Head head(args, at);
    if (chunk < turned) {
      return turn_chunk<T>(args, head, chunk * size, wide);
    }
    const int start = args.rotated + (chunk - turned) * size;
    const int rest = args.head_size - start;
    const int held = rest < size ? rest : size;
    store_values(
        static_cast<T*>(args.out) + head.out + start,
        load_values<T>(static_cast<const T*>(args.in) + head.in + start, held,
                       wide),
        held, wide);
  });
}

}  // namespace

RULEENGINE_FLOATS(RULEENGINE_KERNEL_OF, rotary, RotaryArgs, kRotaryThreads)

}  // namespace ruleengine::kernels::device
