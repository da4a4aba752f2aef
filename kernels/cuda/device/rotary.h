// The arguments of rotary.cu: rotary (f32 f16 bf16), ONNX's RotaryEmbedding.
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

constexpr unsigned kRotaryThreads = 256;  // of a block, at most

// The first `rotated` elements of each head are turned in pairs, the others are
// copied. rotary_chunks() says how many threads are best.
struct RotaryArgs {
  const void* in;
  void* out;  // may be `in`, with the same strides
  // Of batch, head and sequence, in elements; the head's elements lie beside
  // each other.
  std::int64_t in_strides[3];
  std::int64_t out_strides[3];
  const void* cosines;  // rows of rotated / 2
  const void* sines;
  // The row of each of [batch, seq], a negative one from the end; or, where it
  // counts on, the row of the first of each of the batch.
  const std::int64_t* positions;
  bool counts_on;
  // Where there are no positions: from one row to the next along batch and seq.
  std::int64_t row_strides[2];
  // Positions that are beyond the caches give zeros and set *beyond to 1.
  std::int64_t position_count;
  std::int32_t* beyond;  // of the device, 0 before; read with positions only
  std::int64_t batch, heads, seq;
  std::int32_t head_size;  // even
  std::int32_t rotated;    // even, at most head_size
  bool is_interleaved;     // pairs are neighbours, not in different halves
};

inline std::int64_t rotary_chunks(const RotaryArgs& args, int bytes) {
  const std::int64_t size = 16 / bytes;
  const std::int64_t of_head =
      (args.rotated / 2 + size - 1) / size +
      (args.head_size - args.rotated + size - 1) / size;
  return args.batch * args.heads * args.seq * of_head;
}

}  // namespace ruleengine::kernels::device
