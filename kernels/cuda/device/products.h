// The two matrix products of attention.cu, of the 16 rows of a warp. A lane has
// the scores and the outputs of rows lane / 4 and lane / 4 + 8, and of each 8
// columns the ones at lane % 4 * 2 and beside it: as matrix.h says of `sum`.
#pragma once

#include "kernels/cuda/device/attention.h"
#include "kernels/cuda/device/matrix.h"

namespace ruleengine::kernels::device {

// [16, 8 * n] of a warp.
template <int n>
using Fragments = float[n][4];

// Tensor cores compute these of halves.
template <typename T, int size>
struct TileProducts {
  static constexpr int kKeys = attention_keys(size, sizeof(T));
  static constexpr int kPitch = attention_pitch(size, sizeof(T));
  using Scores = Fragments<kKeys / 8>;
  using Outputs = Fragments<size / 8>;

  // scores = q * k; both begin at their first rows.
  static __device__ __forceinline__ void score(Scores& scores, const T* q,
                                               const T* k) {
    const int lane = threadIdx.x % kWarp;
    q += lane % 16 * kPitch + lane / 16 * 8;
    k += (lane % 8 + lane / 16 * 8) * kPitch + lane / 8 % 2 * 8;
#pragma unroll
    for (int i = 0; i < size; i += 16) {
      u32 a[4];
      load_matrices<false>(a, q + i);
#pragma unroll
      for (int n = 0; n < kKeys; n += 16) {
        u32 b[4];
        load_matrices<false>(b, k + n * kPitch + i);
        multiply<T>(scores[n / 8], a, b[0], b[1]);
        multiply<T>(scores[n / 8 + 1], a, b[2], b[3]);
      }
    }
  }

  static __device__ __forceinline__ u32 pair(float x, float y) {
    const T both[2] = {narrow<T>(x), narrow<T>(y)};
    u32 word;
    memcpy(&word, both, sizeof(word));
    return word;
  }

  // outputs += shares * v.
  static __device__ __forceinline__ void add(Outputs& outputs,
                                             const Scores& shares, const T* v) {
    const int lane = threadIdx.x % kWarp;
    v += lane % 16 * kPitch + lane / 16 * 8;
#pragma unroll
    for (int i = 0; i < kKeys; i += 16) {
      const auto& low = shares[i / 8];
      const auto& high = shares[i / 8 + 1];
      const u32 a[4] = {pair(low[0], low[1]), pair(low[2], low[3]),
                        pair(high[0], high[1]), pair(high[2], high[3])};
#pragma unroll
      for (int n = 0; n < size; n += 16) {
        u32 b[4];
        load_matrices<true>(b, v + i * kPitch + n);
        multiply<T>(outputs[n / 8], a, b[0], b[1]);
        multiply<T>(outputs[n / 8 + 1], a, b[2], b[3]);
      }
    }
  }
};

// Tensor cores would drop digits of float.
template <int size>
struct TileProducts<f32, size> {
  static constexpr int kKeys = attention_keys(size, sizeof(f32));
  static constexpr int kPitch = attention_pitch(size, sizeof(f32));
  using Scores = Fragments<kKeys / 8>;
  using Outputs = Fragments<size / 8>;

  static __device__ __forceinline__ void add_product(float& sum,
                                                     const Pack<f32, 4>& a,
                                                     const Pack<f32, 4>& b) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += a.values[i] * b.values[i];
  }

  static __device__ __forceinline__ void score(Scores& scores, const f32* q,
                                               const f32* k) {
    const int lane = threadIdx.x % kWarp;
    q += lane / 4 * kPitch;
    k += lane % 4 * 2 * kPitch;
#pragma unroll 4
    for (int i = 0; i < size; i += 4) {
      const auto upper = load_pack<f32, 4>(q + i);
      const auto lower = load_pack<f32, 4>(q + 8 * kPitch + i);
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
        const f32* row = k + n * 8 * kPitch + i;
        const auto first = load_pack<f32, 4>(row);
        const auto second = load_pack<f32, 4>(row + kPitch);
        add_product(scores[n][0], upper, first);
        add_product(scores[n][1], upper, second);
        add_product(scores[n][2], lower, first);
        add_product(scores[n][3], lower, second);
      }
    }
  }

  static __device__ __forceinline__ void add(Outputs& outputs,
                                             const Scores& shares,
                                             const f32* v) {
    const int lane = threadIdx.x % kWarp;
    v += lane % 4 * 2;
#pragma unroll
    for (int key = 0; key < kKeys; ++key) {
      const auto& own = shares[key / 8];
      const int owner = lane / 4 * 4 + key % 8 / 2;
      const float upper = __shfl_sync(kWholeWarp, own[key % 2], owner);
      const float lower = __shfl_sync(kWholeWarp, own[key % 2 + 2], owner);
#pragma unroll
      for (int n = 0; n < size / 8; ++n) {
        const auto both = load_pack<f32, 2>(v + key * kPitch + n * 8);
        outputs[n][0] += upper * both.values[0];
        outputs[n][1] += upper * both.values[1];
        outputs[n][2] += lower * both.values[0];
        outputs[n][3] += lower * both.values[1];
      }
    }
  }
};

}  // namespace ruleengine::kernels::device
