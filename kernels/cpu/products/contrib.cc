// Kernels of ONNX Runtime's domain: products by weights of few bits, which they
// decode as they go.
#include <algorithm>

#include "core/ops/dialect.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/products/gemm.h"

namespace ruleengine::kernels {
namespace {

// Weights of [N, blocks of K, bytes of a block], with a scale for each block.
struct Quantized {
  // The sizes; the rest is of a call.
  explicit Quantized(const Preparation& p);
  void read(const Call& c);

  std::int64_t n = 0, k = 0, block = 0, bits = 0, blocks = 0;
  const std::uint8_t* weights = nullptr;
  const float* scales = nullptr;
  const std::uint8_t* zeros = nullptr;  // packed like weights, rows of blocks
  const float* float_zeros = nullptr;
  Ints groups;  // of each place in a row, where it is not that of its block

  std::int64_t value(const std::uint8_t* row, std::int64_t i) const {
    const std::int64_t per_byte = 8 / bits;
    const unsigned byte = row[i / per_byte];
    return static_cast<std::int64_t>(byte >> (i % per_byte * bits)) &
           ((1 << bits) - 1);
  }

  float zero_of(std::int64_t row, std::int64_t group) const {
    if (float_zeros != nullptr) return float_zeros[row * blocks + group];
    if (zeros == nullptr) {
      return static_cast<float>(std::int64_t{1} << (bits - 1));
    }
    const std::int64_t bytes = (blocks * bits + 7) / 8;
    return static_cast<float>(value(zeros + row * bytes, group));
  }

  // Row `row` of the weights as floats.
  void decode(std::int64_t row, float* to) const {
    const std::int64_t bytes = block * bits / 8;
    const std::uint8_t* from = weights + row * blocks * bytes;
    const float* scale = scales + row * blocks;
    for (std::int64_t i = 0; i < std::ssize(groups); ++i) {
      const std::int64_t g = groups[index_of(i)];
      to[i] = (static_cast<float>(value(from, i)) - zero_of(row, g)) * scale[g];
    }
    if (!groups.empty()) return;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const float zero = zero_of(row, b);
      const std::int64_t end = std::min(block, k - b * block);
      for (std::int64_t i = 0; i < end; ++i) {
        to[b * block + i] =
            (static_cast<float>(value(from + b * bytes, i)) - zero) * scale[b];
      }
    }
  }
};

Quantized::Quantized(const Preparation& p)
    : n(p.attribute_int("N")),
      k(p.attribute_int("K")),
      block(p.attribute_int("block_size")),
      bits(p.attribute_int("bits", 4)) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (bits != 2 && bits != 4 && bits != 8) {
    p.wrong_attribute("bits", "2, 4 or 8");
  }
  if (n < 0 || n > kMost || k < 0 || k > kMost || block < 16 || block > kMost ||
      (block & (block - 1)) != 0) {
    fail("attribute 'N', 'K' or 'block_size' is out of range",
         "'N' and 'K' up to 2^31, 'block_size' a power of 2 from 16 to 2^31",
         std::to_string(n) + ", " + std::to_string(k) + ", " +
             std::to_string(block));
  }
  blocks = (k + block - 1) / block;
}

void Quantized::read(const Call& c) {
  const std::int64_t count = n * blocks;
  weights = c.expect_count(1, count * (block * bits / 8), DataType::kUint8)
                .data<std::uint8_t>();
  scales = c.expect_count(2, count, DataType::kFloat).data<float>();
  if (!c.has_input(3)) return;
  const Tensor& z = c.input(3);
  const std::int64_t bytes = n * ((blocks * bits + 7) / 8);
  if (z.dtype() == DataType::kFloat && z.count() == count) {
    float_zeros = z.data<float>();
  } else if (z.dtype() == DataType::kUint8 && z.count() == bytes) {
    zeros = z.data<std::uint8_t>();
  } else {
    c.wrong_shape(3, std::to_string(count) + " elements of float or " +
                         std::to_string(bytes) + " of uint8");
  }
}

void matmul_nbits(Call& c, Quantized q) {
  const Tensor x = c.expect_type(0, DataType::kFloat);
  c.expect_min_rank(0, 1);
  q.read(c);
  if (c.has_input(4)) {
    c.expect_count(4, q.k);
    q.groups = c.ints(4);
    for (const std::int64_t g : q.groups) {
      if (g < 0 || g >= q.blocks) {
        c.wrong_value(4, "0 to " + std::to_string(q.blocks - 1),
                      std::to_string(g));
      }
    }
  }
  if (x.dim(x.rank() - 1) != q.k) {
    c.wrong_shape(0, "a last axis of " + std::to_string(q.k));
  }
  const float* bias = nullptr;
  if (c.has_input(5)) {
    bias = c.expect_count(5, q.n, DataType::kFloat).data<float>();
  }
  Dims dims(x.dims());
  dims.back() = q.n;
  Tensor& y = c.output(0, DataType::kFloat, dims);
  if (y.count() == 0) return;
  const std::int64_t rows = y.count() / q.n;
  // Some rows of the weights at a time, so that they stay in the cache.
  constexpr std::int64_t kTile = 64;
  float* to = y.mutable_data<float>();
  c.threads().for_each(q.n, kTile, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t space[] = {end - begin, q.k};
    Tensor tile = c.allocate(DataType::kFloat, space);
    float* w = tile.mutable_data<float>();
    for (std::int64_t n = begin; n < end; ++n) {
      q.decode(n, w + (n - begin) * q.k);
    }
    gemm<float>(c.threads(), {.m = rows,
                              .n = end - begin,
                              .k = q.k,
                              .a = {x.data<float>(), q.k},
                              .b = {w, q.k, true},
                              .c = to + begin,
                              .ldc = q.n});
    for (std::int64_t r = 0; bias != nullptr && r < rows; ++r) {
      for (std::int64_t n = begin; n < end; ++n) to[r * q.n + n] += bias[n];
    }
  });
}

}  // namespace

const KernelRows kContribRows = {
    {ops::dialect::kMicrosoft, "GroupQueryAttention", group_query_attention,
     Adapt::kWiden},
    {ops::dialect::kMicrosoft, "MatMulNBits",
     keeping<matmul_nbits, kept<Quantized>>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
