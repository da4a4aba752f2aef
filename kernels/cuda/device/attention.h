// The arguments of attention.cu: attention of queries to keys and values, of
// f32, f16 and bf16, for what cuDNN does not take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ruleengine::kernels::device {

constexpr unsigned kAttentionThreads = 128;  // of each block, no fewer
constexpr int kAttentionRows = 64;           // of queries that a block has
constexpr int kMostHeadSize = 256;
constexpr unsigned kJoinThreads = 256;
constexpr unsigned kHiddenThreads = 256;

enum class BiasKind : std::int32_t { kNone, kF32, kF16, kBf16, kBool };

// Strides are in elements, of [batch, heads, length]; the elements of a row lie
// beside each other. `data` of keys and values may be in pages: then strides
// are of [page, heads, row of a page].
struct AttentionRows {
  void* data;
  std::int64_t strides[3];
};

// One number of each sequence, i32 or i64; nullptr: all have the most.
struct SequenceLengths {
  const void* data;
  bool is_wide;  // i64
};

// flash_attention_<size>_<type>, where `size` is attention_size(): scores go
// through scale, soft cap, bias, masks, softmax. The output of a row that sees
// nothing is zeros, also of one beyond its sequence. The rows that share keys
// are fewer than 2^31. The vector path needs sizes and strides that are
// multiples of 16 bytes, and such addresses.
struct AttentionArgs {
  AttentionRows q, k, v, out;
  std::int32_t batch, q_heads, kv_heads;  // q_heads: a multiple of kv_heads
  std::int32_t q_length, kv_length;       // the most of a sequence
  std::int32_t qk_size, v_size;           // of a head, up to kMostHeadSize
  float scale;
  float cap;  // 0: no soft cap

  // Query i sees the keys from i + diagonal - left to i + diagonal + right,
  // both included.
  bool has_left, has_right;
  // Adds keys - queries of the sequence to the diagonal: its last query meets
  // its last key.
  bool is_bottom_right;
  BiasKind bias_kind;  // kBool: what is 0 is not seen
  std::int64_t left, right, diagonal;
  const void* bias;
  std::int64_t bias_strides[4];  // of the scores; 0 where one stands for all
  std::int32_t seen_keys;        // later ones are hidden; kv_length: none

  SequenceLengths q_lengths, kv_lengths;
  // [q_heads]: a score without a value, or nullptr.
  const float* sinks;
  // [batch, q_heads, q_length]: the logarithm of the sum of exponents, -inf of
  // nothing; or nullptr.
  float* log_sums;
  bool is_guarded;  // a row whose weights are NaN is zeros

  // [batch, pages of a sequence]: which page of k and v; or nullptr.
  const std::int32_t* pages;
  std::int64_t pages_stride;
  std::int32_t page_size;

  // Into how many parts the keys are split. Above 1 `parts` is a workspace of
  // attention_workspace() bytes at a multiple of 16, and join_attention_<type>
  // has to follow with the same arguments.
  std::int32_t splits;
  float* parts;
};

// The size that a kernel is compiled for; it is part of its name.
inline int attention_size(const AttentionArgs& args) {
  const int most = args.qk_size > args.v_size ? args.qk_size : args.v_size;
  return most <= 64 ? 64 : most <= 128 ? 128 : kMostHeadSize;
}

// The keys of a step, so that 99 KiB of shared memory are enough.
constexpr int attention_keys(int size, int bytes) {
  if (bytes == 2) return size <= 64 ? 64 : 32;
  return size <= 128 ? 32 : 8;
}

// Of a row in shared memory; 16 bytes more spread rows over the banks.
constexpr int attention_pitch(int size, int bytes) { return size + 16 / bytes; }

// The shared memory of a launch; `bytes`: of an element. Keys and values have
// two buffers each.
constexpr std::size_t attention_shared(int size, int bytes) {
  const int rows = kAttentionRows + 4 * attention_keys(size, bytes);
  return static_cast<std::size_t>(rows) *
         static_cast<std::size_t>(attention_pitch(size, bytes) * bytes);
}

// The rows that share keys: all queries of the heads of a group.
constexpr std::int64_t rows_of_group(const AttentionArgs& args) {
  return std::int64_t{args.q_length} * (args.q_heads / args.kv_heads);
}

// The blocks of a launch are this times args.splits.
inline std::int64_t attention_blocks(const AttentionArgs& args) {
  return (rows_of_group(args) + kAttentionRows - 1) / kAttentionRows *
         args.batch * args.kv_heads;
}

// A good args.splits for a chip with so many processors.
inline std::int32_t attention_splits(const AttentionArgs& args,
                                     std::int64_t processors) {
  constexpr std::int64_t kLeastKeys = 256;
  constexpr std::int64_t kMost = 128;
  const std::int64_t blocks = attention_blocks(args);
  if (blocks == 0 || blocks >= processors) return 1;
  std::int64_t splits = (2 * processors + blocks - 1) / blocks;
  const std::int64_t useful = args.kv_length / kLeastKeys;
  if (splits > useful) splits = useful;
  if (splits > kMost) splits = kMost;
  return static_cast<std::int32_t>(splits < 1 ? 1 : splits);
}

// Of a row of a part, in elements; whole vectors.
constexpr std::int64_t part_pitch(const AttentionArgs& args) {
  return (std::int64_t{args.v_size} + 3) / 4 * 4;
}

constexpr std::int64_t rows_of_part(const AttentionArgs& args) {
  return rows_of_group(args) * args.batch * args.kv_heads;
}

// In bytes: outputs and the logarithms of sums.
inline std::int64_t attention_workspace(const AttentionArgs& args) {
  if (args.splits <= 1) return 0;
  return args.splits * rows_of_part(args) * (part_pitch(args) + 1) * 4;
}

// The blocks of join_attention_<type>: a warp for each row.
inline std::int64_t join_blocks(const AttentionArgs& args) {
  constexpr std::int64_t kWarps = kJoinThreads / 32;
  return (rows_of_part(args) + kWarps - 1) / kWarps;
}

// clear_hidden_<f16|bf16> (hidden.cu), with the same arguments, writes zeros
// for the queries that see no key, by a warp each, and for guarded ones whose
// log_sums are NaN.
constexpr std::int64_t hidden_rows(const AttentionArgs& args) {
  return std::int64_t{args.batch} * args.q_heads * args.q_length;
}
inline std::int64_t hidden_blocks(const AttentionArgs& args) {
  constexpr std::int64_t kWarps = kHiddenThreads / 32;
  return (hidden_rows(args) + kWarps - 1) / kWarps;
}

}  // namespace ruleengine::kernels::device
