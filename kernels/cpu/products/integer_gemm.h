// Products of matrices of bytes with sums of 32 bits, which wrap around. Exact,
// so the same on all machines. Internal to kernels/cpu.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/threads.h"

namespace ruleengine::kernels {

// Row-major uint8, or int8 if the flag says so.
struct ByteMatrix {
  const std::uint8_t* data;
  bool is_signed;
  std::int64_t stride;  // from one row to the next
};

// Both operands are packed: the first, m x k, by rows as uint8, the second,
// k x n, by columns as int8, in so many bytes at an address of whole cache
// lines.
std::int64_t packed_rows_size(std::int64_t m, std::int64_t k);
void pack_rows(runtime::Threads& threads, std::int64_t m, std::int64_t k,
               const ByteMatrix& a, std::byte* packed);
std::int64_t packed_columns_size(std::int64_t k, std::int64_t n);
void pack_columns(runtime::Threads& threads, std::int64_t k, std::int64_t n,
                  const ByteMatrix& b, std::byte* packed);

// One number for all rows or columns, or one for each.
struct ZeroPoints {
  const std::int32_t* data;
  std::int64_t step;  // 0 or 1
};

// c = (a - its zero points) * (b - its zero points).
struct IntegerArguments {
  std::int64_t m, n, k;
  const std::byte* a;  // packed
  bool a_is_signed;
  ZeroPoints a_zero;
  const std::byte* b;
  bool b_is_signed;
  ZeroPoints b_zero;
  std::int32_t* c;
  std::int64_t ldc;
};
void integer_gemm(runtime::Threads& threads, const IntegerArguments& product);

}  // namespace ruleengine::kernels
