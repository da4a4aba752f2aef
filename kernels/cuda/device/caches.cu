#include "kernels/cuda/device/caches.h"

#include "kernels/cuda/device/device.h"

namespace ruleengine::kernels::device {
namespace {

__device__ __forceinline__ void find_length(const KeyLengthsArgs& args, i64 i) {
  i64 length = args.plus;
  if (args.in != nullptr) length += load_index(args.in, args.is_wide, i);
  if (length < args.least || length > args.most) *args.beyond = 1;
  if (length > args.rows) length = args.rows;
  args.keys[i] = static_cast<i32>(length < 0 ? 0 : length);
  if (args.queries != nullptr) args.queries[i] = args.q_length;
}

template <typename T, int n>
__device__ __forceinline__ void extend(const ExtendArgs& args) {
  const i64 chunks = args.size / n;
  const i64 rows = args.is_in_place ? args.added_rows : args.rows;
  const i64 total = args.batch * args.heads * rows * chunks;
  const T* past = static_cast<const T*>(args.past);
  const T* added = static_cast<const T*>(args.added);
  for_each(total, [&](i64 i) {
    const i64 line = divide(i, chunks);
    const i64 column = (i - line * chunks) * n;
    const i64 group = divide(line, rows);
    const i64 batch = divide(group, args.heads);
    const i64 head = group - batch * args.heads;
    const i64 first =
        args.keys == nullptr ? args.first : args.keys[batch] - args.added_rows;
    const i64 row = line - group * rows + (args.is_in_place ? first : 0);
    // A wrong length, of which key_lengths tells.
    if (row < 0 || row >= args.rows) return;
    Pack<T, n> pack = {};
    if (row >= first && row < first + args.added_rows) {
      pack = load_pack<T, n>(added + batch * args.added_strides[0] +
                             head * args.added_strides[1] +
                             (row - first) * args.added_strides[2] + column);
    } else if (row < args.past_rows) {
      pack = load_pack<T, n>(past + (group * args.past_rows + row) * args.size +
                             column);
    }
    const i64 at = group * args.rows + row;
    store_pack(static_cast<T*>(args.out) + at * args.size + column, pack);
  });
}

template <typename T>
__device__ __forceinline__ void extend_cache(const ExtendArgs& args) {
  if (args.is_vector) return extend<T, kVectorBytes / sizeof(T)>(args);
  extend<T, 1>(args);
}

}  // namespace

RULEENGINE_KERNEL(key_lengths, KeyLengthsArgs, kCacheThreads) {
  for_each(args.batch, [&](i64 i) { find_length(args, i); });
}

RULEENGINE_KERNEL(token_positions, PositionsArgs, kCacheThreads) {
  const i64 total = args.batch * args.rows;
  for (i64 i = thread_of_grid(); i < total; i += threads_of_grid()) {
    const i64 batch = divide(i, args.rows);
    i64 first = args.keys == nullptr ? 0 : args.keys[batch] - args.rows;
    if (args.in != nullptr) first = *args.in;
    args.out[i] = first + i - batch * args.rows;
  }
}

RULEENGINE_KERNEL(ragged_offsets, OffsetsArgs, kCacheThreads) {
  const i64 count = args.batch + 1;
  for_each(4 * count, [&](i64 i) {
    const i64 tensor = divide(i, count);
    const i64 batch = i - tensor * count;
    args.out[tensor * args.pitch + batch] = batch * args.strides[tensor];
  });
}

RULEENGINE_KERNEL_OF(2, u16, extend_cache, ExtendArgs, kCacheThreads)
RULEENGINE_KERNEL_OF(4, u32, extend_cache, ExtendArgs, kCacheThreads)

}  // namespace ruleengine::kernels::device
