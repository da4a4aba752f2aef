// What attention makes of a query that sees no key, where whoever computed the
// others does not say it.
#include "kernels/cuda/device/attention.h"
#include "kernels/cuda/device/scores.h"

namespace ruleengine::kernels::device {
namespace {

// By a warp. A bias that is no number does not hide.
template <typename B>
__device__ __forceinline__ bool hides_all(const AttentionArgs& args, i64 bias,
                                          const KeyRange& seen) {
  const B* data = static_cast<const B*>(args.bias) + bias;
  for (i32 key = seen.low; key < seen.high; key += kWarp) {
    const i32 at = key + static_cast<i32>(threadIdx.x % kWarp);
    const bool is_seen =
        at < seen.high &&
        !(bias_of(data[at * args.bias_strides[3]]) == -INFINITY);
    if (__ballot_sync(kWholeWarp, is_seen) != 0) return false;
  }
  return true;
}

__device__ __forceinline__ bool is_hidden(const AttentionArgs& args, i64 bias,
                                          const KeyRange& seen) {
  switch (args.bias_kind) {
    case BiasKind::kF32:
      return hides_all<f32>(args, bias, seen);
    case BiasKind::kF16:
      return hides_all<f16>(args, bias, seen);
    case BiasKind::kBf16:
      return hides_all<bf16>(args, bias, seen);
    case BiasKind::kBool:
      return hides_all<u8>(args, bias, seen);
    case BiasKind::kNone:
      break;
  }
  return seen.low >= seen.high;
}

template <typename T>
__device__ __forceinline__ void clear_hidden(const AttentionArgs& args) {
  const i64 row = thread_of_grid() / kWarp;
  if (row >= hidden_rows(args)) return;
  const i64 group = divide(row, args.q_length);
  const i32 query = static_cast<i32>(row - group * args.q_length);
  const i32 batch = static_cast<i32>(divide(group, args.q_heads));
  const i32 head = static_cast<i32>(group - i64{batch} * args.q_heads);
  const i64 bias = batch * args.bias_strides[0] + head * args.bias_strides[1] +
                   query * args.bias_strides[2];
  const KeyRange seen = Sequence(args, batch).seen(args, query);
  const bool is_guarded = args.is_guarded && is_nan(args.log_sums[row]);
  if (!is_guarded && !is_hidden(args, bias, seen)) return;
  T* out =
      static_cast<T*>(args.out.data) + offset_of(args.out, batch, head, query);
  for (i32 i = threadIdx.x % kWarp; i < args.v_size; i += kWarp) {
    out[i] = narrow<T>(0.0f);
  }
}

}  // namespace

RULEENGINE_KERNEL_OF(f16, f16, clear_hidden, AttentionArgs, kHiddenThreads)
RULEENGINE_KERNEL_OF(bf16, bf16, clear_hidden, AttentionArgs, kHiddenThreads)

}  // namespace ruleengine::kernels::device
