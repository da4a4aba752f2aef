// A block has 64 rows of queries, each warp 16 of them, and goes through the
// keys in steps; the next step is copied while one is computed. Sums are scaled
// down whenever a greater score comes.
#include "kernels/cuda/device/attention.h"

#include "kernels/cuda/device/formulas.h"
#include "kernels/cuda/device/scores.h"

namespace ruleengine::kernels::device {
namespace {

// A lane has parts of two rows; four lanes share one.
template <typename Op>
__device__ __forceinline__ float reduce_row(float value, Op op) {
  value = op(value, __shfl_xor_sync(kWholeWarp, value, 1));
  return op(value, __shfl_xor_sync(kWholeWarp, value, 2));
}

// A number to subtract from scores; there is none where all are -inf.
__device__ __forceinline__ float base_of(float most) {
  return most == -INFINITY ? 0.0f : most;
}

// The rows of a lane.
template <typename T, int size>
struct State {
  using Product = TileProducts<T, size>;
  using Scores = typename Product::Scores;
  static constexpr int kKeys = Product::kKeys;

  typename Product::Outputs outputs = {};
  float most[2] = {-INFINITY, -INFINITY};
  float sum[2] = {};  // of this lane's keys

  // Makes exponents of the scores.
  __device__ __forceinline__ void soften(Scores& scores) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float greatest = most[r];
#pragma unroll
      for (auto& each : scores) {
        greatest = fmaxf(greatest, fmaxf(each[2 * r], each[2 * r + 1]));
      }
      greatest = reduce_row(greatest, Larger());
      const float base = base_of(greatest);
      const float shrink = expf(most[r] - base);
      most[r] = greatest;
      sum[r] *= shrink;
#pragma unroll
      for (auto& each : scores) {
        each[2 * r] = expf(each[2 * r] - base);
        each[2 * r + 1] = expf(each[2 * r + 1] - base);
        sum[r] += each[2 * r] + each[2 * r + 1];
      }
      scale(r, shrink);
    }
  }

  __device__ __forceinline__ void scale(int r, float factor) {
#pragma unroll
    for (auto& each : outputs) {
      each[2 * r] *= factor;
      each[2 * r + 1] *= factor;
    }
  }

  __device__ __forceinline__ void clear(int r) {
#pragma unroll
    for (auto& each : outputs) each[2 * r] = each[2 * r + 1] = 0.0f;
  }

  __device__ __forceinline__ void add(const AttentionArgs& args,
                                      const RowMask (&masks)[2], const T* q,
                                      const T* k, const T* v, i32 key) {
    Scores scores = {};
    Product::score(scores, q, k);
    prepare(args, scores, masks, key + threadIdx.x % 4 * 2);
    soften(scores);
    Product::add(outputs, scores, v);
  }

  // Divides by the sums, and returns their logarithm.
  __device__ __forceinline__ float finish(int r, float sink, bool is_guarded) {
    const float greatest = fmaxf(most[r], sink);
    const float base = base_of(greatest);
    const float shrink = expf(most[r] - base);
    const float all = reduce_row(sum[r], Add()) * shrink + expf(sink - base);
    scale(r, shrink / all);
    if (all == 0 || (is_guarded && is_nan(all))) clear(r);
    return all == 0 ? -INFINITY : base + logf(all);
  }
};

// Shared memory of a block.
template <typename T, int size>
struct Buffers {
  static constexpr int kPitch = attention_pitch(size, sizeof(T));
  static constexpr int kStep = attention_keys(size, sizeof(T)) * kPitch;
  T* q;

  __device__ T* keys(int at) const {
    return q + kAttentionRows * kPitch + at % 2 * kStep;
  }
  __device__ T* values(int at) const { return keys(at) + 2 * kStep; }
};

template <typename T, int size>
__device__ __forceinline__ void go_through_keys(const AttentionArgs& args,
                                                const Work& work,
                                                const RowMask (&masks)[2],
                                                const Buffers<T, size>& buffers,
                                                State<T, size>& state) {
  constexpr int step = State<T, size>::kKeys;
  const KeyRange keys = work.keys(args, step);
  if (keys.low >= keys.high) return;
  const bool wide_keys = is_wide<T>(args.k, args.qk_size);
  const bool wide_values = is_wide<T>(args.v, args.v_size);
  const auto copy = [&](int at, i32 key) {
    copy_keys<T, size>(buffers.keys(at), args, work, args.k, args.qk_size, key,
                       wide_keys);
    copy_keys<T, size>(buffers.values(at), args, work, args.v, args.v_size, key,
                       wide_values);
    end_copies();
  };
  const int warp_row = threadIdx.x / kWarp * 16;
  const T* q = buffers.q + warp_row * buffers.kPitch;
  const bool has_rows = work.row + warp_row < rows_of_group(args);
  copy_queries<T, size>(buffers.q, args, work);
  copy(0, keys.low);
  int at = 0;
  for (i32 key = keys.low; key < keys.high; key += step, ++at) {
    if (key + step < keys.high) {
      copy(at + 1, key + step);
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    __syncthreads();
    if (has_rows) {
      state.add(args, masks, q, buffers.keys(at), buffers.values(at), key);
    }
    __syncthreads();  // the next copies go where this step was read
  }
}

// Row `row` of the launch, of all groups.
__device__ __forceinline__ i64 row_of_part(const AttentionArgs& args,
                                           const Work& work, i32 row) {
  return (i64{work.sequence.batch} * args.kv_heads + work.kv_head) *
             rows_of_group(args) +
         row;
}

__device__ __forceinline__ float* log_sums_of_parts(const AttentionArgs& args) {
  return args.parts + args.splits * rows_of_part(args) * part_pitch(args);
}

// The output of a lane's row, as one of several parts.
template <int n>
__device__ __forceinline__ void store_part(const AttentionArgs& args,
                                           const Work& work, i32 row, int r,
                                           const Fragments<n>& outputs,
                                           float log_sum) {
  const i64 at = work.split * rows_of_part(args) + row_of_part(args, work, row);
  const int first = threadIdx.x % 4 * 2;
  if (first == 0) log_sums_of_parts(args)[at] = log_sum;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const int column = i * 8 + first;
    if (column >= part_pitch(args)) continue;
    const Pack<f32, 2> both{{outputs[i][2 * r], outputs[i][2 * r + 1]}};
    store_pack(args.parts + at * part_pitch(args) + column, both);
  }
}

__device__ __forceinline__ void store_log_sum(const AttentionArgs& args,
                                              i32 batch, const GroupRow& row,
                                              float log_sum) {
  if (args.log_sums == nullptr) return;
  const i64 head = i64{batch} * args.q_heads + row.head;
  args.log_sums[head * args.q_length + row.query] = log_sum;
}

// The outputs of a lane to the warp's part of shared memory.
template <typename T, int size>
__device__ __forceinline__ void stage(const Fragments<size / 8>& outputs,
                                      T* shared) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int i = 0; i < size / 8; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int row = lane / 4 + c / 2 * 8;
      shared[row * attention_pitch(size, sizeof(T)) + i * 8 + lane % 4 * 2 +
             c % 2] = narrow<T>(outputs[i][c]);
    }
  }
}

// The outputs of the warp's rows, which shared memory makes whole vectors of.
template <typename T, int size>
__device__ __forceinline__ void store_rows(const AttentionArgs& args,
                                           const Work& work, i32 first,
                                           const Fragments<size / 8>& outputs,
                                           T* shared) {
  constexpr int chunks = size / kChunk<T>;
  stage<T, size>(outputs, shared);
  __syncwarp();
  const bool wide = is_wide<T>(args.out, args.v_size);
  for (int i = threadIdx.x % kWarp; i < 16 * chunks; i += kWarp) {
    const int row = i / chunks;
    const int column = i % chunks * kChunk<T>;
    if (first + row >= rows_of_group(args) || column >= args.v_size) continue;
    const GroupRow own(args, work.kv_head, first + row);
    T* to = static_cast<T*>(args.out.data) + column +
            offset_of(args.out, work.sequence.batch, own.head, own.query);
    const T* from = shared + row * attention_pitch(size, sizeof(T)) + column;
    store_held(to, load_pack<T, kChunk<T>>(from), args.v_size - column, wide);
  }
}

// The two rows of a lane, of which `row` is the first.
template <typename T, int size>
__device__ __forceinline__ void finish_rows(const AttentionArgs& args,
                                            const Work& work, i32 row,
                                            State<T, size>& state) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const i32 at = row + 8 * r;
    const bool is_row = at < rows_of_group(args);
    const GroupRow own(args, work.kv_head, at);
    // Of parts, the sink is added once, when they are joined.
    const bool sinks = is_row && args.sinks != nullptr && args.splits == 1;
    const float log_sum = state.finish(
        r, sinks ? args.sinks[own.head] : -INFINITY, args.is_guarded);
    if (!is_row) continue;
    if (args.splits > 1) {
      store_part(args, work, at, r, state.outputs, log_sum);
    } else if (threadIdx.x % 4 == 0) {
      store_log_sum(args, work.sequence.batch, own, log_sum);
    }
  }
}

template <typename T, int size>
__device__ __forceinline__ void attend(const AttentionArgs& args) {
  RULEENGINE_DYNAMIC_SHARED(T, shared);
  const Buffers<T, size> buffers{shared};
  const Work work(args);
  const i32 warp_row = threadIdx.x / kWarp * 16;
  const i32 row = work.row + warp_row + threadIdx.x % kWarp / 4;
  const RowMask masks[2] = {RowMask(args, work, row),
                            RowMask(args, work, row + 8)};
  State<T, size> state;
  go_through_keys(args, work, masks, buffers, state);
  finish_rows(args, work, row, state);
  if (args.splits > 1) return;
  store_rows<T, size>(args, work, work.row + warp_row, state.outputs,
                      shared + warp_row * buffers.kPitch);
}

// The parts of a row, in the order of keys.
struct Parts {
  const AttentionArgs& args;
  i64 row;
  float base;    // subtracted from their logarithms
  float factor;  // what divides by the sum
  float log_sum;
  i32 count;  // of those that the output is a sum of

  __device__ Parts(const AttentionArgs& of, i64 at, float sink)
      : args(of), row(at) {
    float most = sink;
    for (i32 i = 0; i < args.splits; ++i) most = fmaxf(most, log_of(i));
    base = base_of(most);
    float sum = expf(sink - base);
    for (i32 i = 0; i < args.splits; ++i) sum += expf(log_of(i) - base);
    factor = sum == 0 ? 0.0f : 1.0f / sum;
    log_sum = sum == 0 ? -INFINITY : base + logf(sum);
    count = args.is_guarded && is_nan(sum) ? 0 : args.splits;
  }

  __device__ __forceinline__ float log_of(i32 split) const {
    return log_sums_of_parts(args)[split * rows_of_part(args) + row];
  }

  __device__ __forceinline__ Pack<f32, 4> output(i32 column) const {
    Pack<f32, 4> all = {};
    for (i32 i = 0; i < count; ++i) {
      const float share = expf(log_of(i) - base) * factor;
      const i64 at = i * rows_of_part(args) + row;
      const auto part =
          load_pack<f32, 4>(args.parts + at * part_pitch(args) + column);
#pragma unroll
      for (int k = 0; k < 4; ++k) all.values[k] += share * part.values[k];
    }
    return all;
  }
};

template <typename T>
__device__ __forceinline__ void join_attention(const AttentionArgs& args) {
  const i64 row = thread_of_grid() / kWarp;
  if (row >= rows_of_part(args)) return;
  const i64 group = divide(row, rows_of_group(args));
  const i32 batch = static_cast<i32>(group) / args.kv_heads;
  const i32 kv_head = static_cast<i32>(group) % args.kv_heads;
  const GroupRow own(args, kv_head,
                     static_cast<i32>(row - group * rows_of_group(args)));
  const Parts parts(args, row,
                    args.sinks != nullptr ? args.sinks[own.head] : -INFINITY);
  const int lane = threadIdx.x % kWarp;
  if (lane == 0) store_log_sum(args, batch, own, parts.log_sum);
  const bool wide = is_wide<T>(args.out, args.v_size);
  T* out = static_cast<T*>(args.out.data) +
           offset_of(args.out, batch, own.head, own.query);
  for (i32 column = lane * 4; column < args.v_size; column += kWarp * 4) {
    const Pack<f32, 4> sums = parts.output(column);
    Pack<T, 4> pack;
#pragma unroll
    for (int k = 0; k < 4; ++k) pack.values[k] = narrow<T>(sums.values[k]);
    store_held(out + column, pack, args.v_size - column, wide);
  }
}

}  // namespace

#define RULEENGINE_ATTENTION(suffix, T, size)                         \
  RULEENGINE_KERNEL(flash_attention_##size##_##suffix, AttentionArgs, \
                    kAttentionThreads) {                              \
    attend<T, size>(args);                                            \
  }

RULEENGINE_FLOATS(RULEENGINE_ATTENTION, 64)
RULEENGINE_FLOATS(RULEENGINE_ATTENTION, 128)
RULEENGINE_FLOATS(RULEENGINE_ATTENTION, 256)
RULEENGINE_FLOATS(RULEENGINE_KERNEL_OF, join_attention, AttentionArgs,
                  kJoinThreads)

}  // namespace ruleengine::kernels::device
