// What scores of attention go through before softmax.
#pragma once

#include "kernels/cuda/device/attention_rows.h"
#include "kernels/cuda/device/products.h"

namespace ruleengine::kernels::device {

template <typename B>
__device__ __forceinline__ float bias_of(B value) {
  return widen(value);
}
__device__ __forceinline__ float bias_of(u8 is_seen) {
  return is_seen != 0 ? 0.0f : -INFINITY;
}

// What a row of scores needs.
struct RowMask {
  KeyRange seen;
  i64 bias = 0;  // where its bias begins

  __device__ RowMask(const AttentionArgs& args, const Work& work, i32 row) {
    if (row >= rows_of_group(args)) return;
    const GroupRow own(args, work.kv_head, row);
    seen = work.sequence.seen(args, own.query);
    bias = work.sequence.batch * args.bias_strides[0] +
           own.head * args.bias_strides[1] + own.query * args.bias_strides[2];
  }

  __device__ __forceinline__ bool sees(i32 key) const {
    return key >= seen.low && key < seen.high;
  }
};

// f(score, the mask of its row, its key) for the scores of a lane, of which
// `key` is the first key.
template <int n, typename F>
__device__ __forceinline__ void each_score(Fragments<n>& scores,
                                           const RowMask (&masks)[2], i32 key,
                                           const F& f) {
#pragma unroll
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      f(scores[i][c], masks[c / 2], key + i * 8 + c % 2);
    }
  }
}

template <typename B, int n>
__device__ __forceinline__ void add_bias(const AttentionArgs& args,
                                         Fragments<n>& scores,
                                         const RowMask (&masks)[2], i32 key) {
  const B* bias = static_cast<const B*>(args.bias);
  const i64 stride = args.bias_strides[3];
  each_score(scores, masks, key, [&](float& score, const RowMask& mask, i32 k) {
    if (mask.sees(k)) score += bias_of(bias[mask.bias + k * stride]);
  });
}

// All that scores go through before softmax.
template <int n>
__device__ __forceinline__ void prepare(const AttentionArgs& args,
                                        Fragments<n>& scores,
                                        const RowMask (&masks)[2], i32 key) {
  each_score(scores, masks, key, [&](float& score, const RowMask&, i32) {
    score *= args.scale;
    if (args.cap != 0) score = args.cap * tanhf(score / args.cap);
  });
  switch (args.bias_kind) {
    case BiasKind::kNone:
      break;
    case BiasKind::kF32:
      add_bias<f32>(args, scores, masks, key);
      break;
    case BiasKind::kF16:
      add_bias<f16>(args, scores, masks, key);
      break;
    case BiasKind::kBf16:
      add_bias<bf16>(args, scores, masks, key);
      break;
    case BiasKind::kBool:
      add_bias<u8>(args, scores, masks, key);
      break;
  }
  each_score(scores, masks, key, [&](float& score, const RowMask& mask, i32 k) {
    if (!mask.sees(k)) score = -INFINITY;
  });
}

}  // namespace ruleengine::kernels::device
