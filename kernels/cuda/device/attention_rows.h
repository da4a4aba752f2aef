// Which rows and keys a block of attention.cu works on, and how it gets them.
#pragma once

#include "kernels/cuda/device/attention.h"
#include "kernels/cuda/device/matrix.h"
#include "kernels/cuda/device/rows.h"

namespace ruleengine::kernels::device {

__device__ __forceinline__ i32 clamp(i64 x, i32 most) {
  return static_cast<i32>(x < 0 ? 0 : x < most ? x : most);
}

__device__ __forceinline__ i32 length_of(const SequenceLengths& lengths,
                                         i64 batch, i32 most) {
  if (lengths.data == nullptr) return most;
  return clamp(load_index(lengths.data, lengths.is_wide, batch), most);
}

// Keys from `low` to before `high`.
struct KeyRange {
  i32 low = 0, high = 0;
};

struct Sequence {
  i32 batch;
  i32 queries, keys;  // keys that no query sees do not count
  i64 diagonal;

  __device__ Sequence(const AttentionArgs& args, i32 at)
      : batch(at),
        queries(length_of(args.q_lengths, at, args.q_length)),
        keys(length_of(args.kv_lengths, at, args.kv_length)),
        diagonal(args.diagonal + (args.is_bottom_right ? keys - queries : 0)) {
    if (keys > args.seen_keys) keys = args.seen_keys;
  }

  // What a query sees of it as far as bounds say.
  __device__ KeyRange seen(const AttentionArgs& args, i32 query) const {
    if (query >= queries) return {};
    const i64 at = query + diagonal;
    return {args.has_left ? clamp(at - args.left, keys) : 0,
            args.has_right ? clamp(at + args.right + 1, keys) : keys};
  }
};

// A row of a group: all heads of a query, then those of the next.
struct GroupRow {
  i32 query, head;
  __device__ GroupRow(const AttentionArgs& args, i32 kv_head, i32 row) {
    const i32 group = args.q_heads / args.kv_heads;
    query = row / group;
    head = kv_head * group + row - query * group;
  }
};

__device__ __forceinline__ i64 offset_of(const AttentionRows& rows, i64 batch,
                                         i64 head, i64 row) {
  return batch * rows.strides[0] + head * rows.strides[1] +
         row * rows.strides[2];
}

// What a block works on. Blocks beside each other share keys.
struct Work {
  i32 split, kv_head, row;  // the first row
  Sequence sequence;

  __device__ static i32 groups(const AttentionArgs& args) {
    return gridDim.x / (args.batch * args.kv_heads);
  }
  __device__ explicit Work(const AttentionArgs& args)
      : sequence(args, blockIdx.x / groups(args) / args.kv_heads) {
    const i32 group = blockIdx.x / groups(args);
    const i32 at = blockIdx.x - group * groups(args);
    kv_head = group % args.kv_heads;
    split = at % args.splits;
    // The last rows have the most keys where the band is causal.
    row = (groups(args) / args.splits - 1 - at / args.splits) * kAttentionRows;
  }

  // The keys of its part that any of its rows sees: whole steps.
  __device__ KeyRange keys(const AttentionArgs& args, i32 step) const {
    const i32 rows = static_cast<i32>(rows_of_group(args));
    const i32 end = row + kAttentionRows < rows ? row + kAttentionRows : rows;
    const i32 from = GroupRow(args, 0, row).query;
    i32 to = GroupRow(args, 0, end - 1).query;
    if (from >= sequence.queries) return {};
    if (to >= sequence.queries) to = sequence.queries - 1;
    const i32 first = sequence.seen(args, from).low / step;
    const i32 last = (sequence.seen(args, to).high + step - 1) / step;
    if (first >= last) return {};
    const i32 steps = (last - first + args.splits - 1) / args.splits;
    const i32 low = first + split * steps;
    return {low * step, (low + steps < last ? low + steps : last) * step};
  }
};

// Whether rows can be copied and stored as whole vectors.
template <typename T>
__device__ __forceinline__ bool is_wide(const AttentionRows& rows, i32 size) {
  bool wide = is_aligned(rows.data, kVectorBytes) && size % kChunk<T> == 0;
  for (const i64 stride : rows.strides) wide &= stride % kChunk<T> == 0;
  return wide;
}

// Copies rows to shared memory; `place(row)` is where one begins. Of so many,
// the first `there` are, 1 or more; others are zeros, and so is what is beyond
// the `held` elements of a row.
template <typename T, int size, typename Place>
__device__ __forceinline__ void copy_rows(T* shared, int rows, i32 there,
                                          i32 held, bool is_wide,
                                          const Place& place) {
  constexpr int chunks = size / kChunk<T>;
  constexpr int pitch = attention_pitch(size, sizeof(T));
  for (int i = threadIdx.x; i < rows * chunks; i += kAttentionThreads) {
    const int row = i / chunks;
    const int column = i % chunks * kChunk<T>;
    const T* from = place(row < there ? row : 0);
    T* to = shared + row * pitch + column;
    const bool is_there = row < there && column < held;
    if (is_wide || !is_there) {
      // A copy of nothing, too, needs an address that is aligned.
      copy_later(to, aligned_down(is_there ? from + column : from), is_there);
      continue;
    }
#pragma unroll
    for (int k = 0; k < kChunk<T>; ++k) {
      to[k] = column + k < held ? from[column + k] : narrow<T>(0.0f);
    }
  }
}

// Of keys or of values.
template <typename T, int size>
__device__ __forceinline__ void copy_keys(T* shared, const AttentionArgs& args,
                                          const Work& work,
                                          const AttentionRows& rows, i32 held,
                                          i32 key, bool is_wide) {
  const Sequence& sequence = work.sequence;
  const T* data = static_cast<const T*>(rows.data);
  copy_rows<T, size>(
      shared, attention_keys(size, sizeof(T)), sequence.keys - key, held,
      is_wide, [&](int row) {
        const i32 at = key + row;
        if (args.pages == nullptr) {
          return data + offset_of(rows, sequence.batch, work.kv_head, at);
        }
        const i32 page = at / args.page_size;
        const i32* pages = args.pages + sequence.batch * args.pages_stride;
        return data + offset_of(rows, pages[page], work.kv_head,
                                at - page * args.page_size);
      });
}

template <typename T, int size>
__device__ __forceinline__ void copy_queries(T* shared,
                                             const AttentionArgs& args,
                                             const Work& work) {
  copy_rows<T, size>(
      shared, kAttentionRows, static_cast<i32>(rows_of_group(args)) - work.row,
      args.qk_size, is_wide<T>(args.q, args.qk_size), [&](int row) {
        const GroupRow own(args, work.kv_head, work.row + row);
        return static_cast<const T*>(args.q.data) +
               offset_of(args.q, work.sequence.batch, own.head, own.query);
      });
}

}  // namespace ruleengine::kernels::device
