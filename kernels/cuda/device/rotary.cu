#include "kernels/cuda/device/rotary.h"

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

// A pair of elements of a head: in each tensor, where the head begins.
struct Head {
  i64 in, out;
  i64 token;  // of [batch, seq]
};

__device__ __forceinline__ Head head_of(const RotaryArgs& args, i64 at) {
  const i64 line = at / args.seq;  // of [batch, heads]
  const i64 token = at - line * args.seq;
  const i64 batch = line / args.heads;
  const i64 head = line - batch * args.heads;
  return {batch * args.in_strides[0] + head * args.in_strides[1] +
              token * args.in_strides[2],
          batch * args.out_strides[0] + head * args.out_strides[1] +
              token * args.out_strides[2],
          batch * args.seq + token};
}

// The row of the caches; negative where there is none.
__device__ __forceinline__ i64 row_of(const RotaryArgs& args, i64 token) {
  if (args.positions == nullptr) return token;
  const i64 position = args.positions[token];
  if (position >= 0 && position < args.position_count) return position;
  *args.beyond = 1;
  return -1;
}

template <typename T>
__device__ __forceinline__ void turn(const RotaryArgs& args, const Head& head,
                                     int pair) {
  const int half = args.rotated / 2;
  const int first = args.is_interleaved ? 2 * pair : pair;
  const int second = args.is_interleaved ? first + 1 : pair + half;
  const T* in = static_cast<const T*>(args.in) + head.in;
  T* out = static_cast<T*>(args.out) + head.out;
  const i64 row = row_of(args, head.token);
  float cosine = 0, sine = 0;
  if (row >= 0) {
    cosine = widen(static_cast<const T*>(args.cosines)[row * half + pair]);
    sine = widen(static_cast<const T*>(args.sines)[row * half + pair]);
  }
  const float a = widen(in[first]), b = widen(in[second]);
  out[first] = Narrow<T>::from(cosine * a - sine * b);
  out[second] = Narrow<T>::from(sine * a + cosine * b);
}

template <typename T>
__device__ __forceinline__ void rotary(const RotaryArgs& args) {
  const int pairs = args.head_size / 2;
  const i64 total = args.batch * args.heads * args.seq * pairs;
  const i64 step = threads_of_grid();
  for (i64 i = thread_of_grid(); i < total; i += step) {
    const i64 at = i / pairs;
    const int pair = static_cast<int>(i - at * pairs);
    const Head head = head_of(args, at);
    if (pair < args.rotated / 2) {
      turn<T>(args, head, pair);
      continue;
    }
    const T* in = static_cast<const T*>(args.in) + head.in + 2 * pair;
    T* out = static_cast<T*>(args.out) + head.out + 2 * pair;
    out[0] = in[0];
    out[1] = in[1];
  }
}

}  // namespace

#define RULEENGINE_ROTARY(suffix, T, name)                         \
  RULEENGINE_KERNEL(name##_##suffix, RotaryArgs, kRotaryThreads) { \
    rotary<T>(args);                                               \
  }

RULEENGINE_FLOATS(RULEENGINE_ROTARY, rotary)

}  // namespace ruleengine::kernels::device
