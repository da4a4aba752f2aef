// The arguments of caches.cu: what attention over a past needs, whose lengths
// are known on the device only. Names end in the bytes of an element where
// elements are moved.
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

constexpr unsigned kCacheThreads = 256;  // of a block, at most

// key_lengths: i32 lengths of the queries and of the keys of each sequence.
struct KeyLengthsArgs {
  const void* in;     // [batch], i32 or i64; nullptr: `plus` is the length
  std::int64_t plus;  // what is added to it
  std::int64_t least, most;
  std::int32_t* beyond;   // becomes 1 where a length is not within them
  std::int64_t rows;      // a length above it counts as this
  std::int32_t* queries;  // [batch]: q_length; or nullptr
  std::int32_t* keys;     // [batch]
  std::int32_t batch, q_length;
  bool is_wide;  // `in` is i64
};

// token_positions: i64 positions of [batch, rows]; those of a sequence go on
// behind the rows that were there before. Where `in` is given, they begin at
// its first one.
struct PositionsArgs {
  const std::int64_t* in;    // [1], or nullptr
  const std::int32_t* keys;  // [batch]: with the new rows; nullptr: no past
  std::int64_t* out;
  std::int64_t batch, rows;
};

// ragged_offsets: where each sequence of several tensors begins, and where the
// last one ends: out[i * pitch + b] = b * strides[i] for b in [0, batch].
struct OffsetsArgs {
  std::int64_t* out;
  std::int64_t pitch;
  std::int64_t strides[4];
  std::int64_t batch;
};

// extend_cache_2 and _4: [batch, heads, rows, size] that has the rows of a
// past, from row 0 on, over them the new ones, and zeros behind both. Where the
// output is the past, only the new rows are written.
struct ExtendArgs {
  const void* past;  // [batch, heads, past_rows, size], or nullptr
  const void* added;
  void* out;
  std::int64_t added_strides[3];  // of batch, head and row, in elements
  std::int64_t batch, heads, past_rows, added_rows, rows;
  std::int64_t size;  // of a row; elements lie beside each other
  // Where the new ones begin: `first`, or keys[batch] - added_rows.
  const std::int32_t* keys;
  std::int64_t first;
  bool is_in_place;
  bool is_vector;  // size and strides are multiples of 16 bytes, as addresses
};

// The threads of extend_cache that have work.
inline std::int64_t extend_pieces(const ExtendArgs& args, int bytes) {
  const std::int64_t chunk = args.is_vector ? 16 / bytes : 1;
  const std::int64_t rows = args.is_in_place ? args.added_rows : args.rows;
  return args.batch * args.heads * rows * (args.size / chunk);
}

}  // namespace ruleengine::kernels::device
