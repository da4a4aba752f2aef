#include "kernels/cpu/products/integer_gemm.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

using runtime::Threads;

std::size_t many(std::int64_t n) { return static_cast<std::size_t>(n); }

struct ByteProduct {
  std::int64_t m, n, k;
  bool a_signed, b_signed;
  bool many_zeros = true, extreme = false;
  static constexpr std::int64_t kMore = 3;  // behind each row

  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" +
           std::to_string(k) + (a_signed ? " int8" : " uint8") +
           (b_signed ? " int8" : " uint8");
  }
};

struct Bytes {
  Bytes(const ByteProduct& p, std::int64_t rows, std::int64_t columns,
        bool is_signed, unsigned seed)
      : stride(columns + p.kMore), sign(is_signed), data(many(rows * stride)) {
    std::mt19937 random(seed);
    for (auto& x : data) {
      const auto least = static_cast<std::uint8_t>(is_signed ? 0x80 : 0xff);
      x = p.extreme ? least : static_cast<std::uint8_t>(random());
    }
  }
  std::int32_t at(std::int64_t i, std::int64_t j) const {
    const std::uint8_t x = data[many(i * stride + j)];
    return sign ? static_cast<std::int8_t>(x) : x;
  }
  ByteMatrix matrix() const { return {data.data(), sign, stride}; }

  std::int64_t stride;
  bool sign;
  std::vector<std::uint8_t> data;
};

std::vector<std::int32_t> zero_points(const ByteProduct& p, std::int64_t count,
                                      bool is_signed) {
  std::vector<std::int32_t> out(p.many_zeros ? many(count) : 1);
  std::int32_t next = is_signed ? -128 : 0;
  for (auto& each : out) each = next++ % 128;
  return out;
}

void check_bytes(const ByteProduct& p, int threads) {
  CAPTURE(p.text());
  Threads pool(threads);
  const Bytes a(p, p.m, p.k, p.a_signed, 1), b(p, p.k, p.n, p.b_signed, 2);
  const auto x = zero_points(p, p.m, p.a_signed);
  const auto y = zero_points(p, p.n, p.b_signed);
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const auto lines = [](std::int64_t size) {
    return std::vector<Line>(many(size / 64 + 1));
  };
  auto rows = lines(packed_rows_size(p.m, p.k));
  auto columns = lines(packed_columns_size(p.k, p.n));
  pack_rows(pool, p.m, p.k, a.matrix(), rows[0].bytes);
  pack_columns(pool, p.k, p.n, b.matrix(), columns[0].bytes);
  const std::int64_t ldc = p.n + p.kMore;
  std::vector<std::int32_t> c(many(p.m * ldc), 77);
  integer_gemm(pool, {.m = p.m,
                      .n = p.n,
                      .k = p.k,
                      .a = rows[0].bytes,
                      .a_is_signed = p.a_signed,
                      .a_zero = {x.data(), p.many_zeros ? 1 : 0},
                      .b = columns[0].bytes,
                      .b_is_signed = p.b_signed,
                      .b_zero = {y.data(), p.many_zeros ? 1 : 0},
                      .c = c.data(),
                      .ldc = ldc});
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < ldc; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t t = 0; j < p.n && t < p.k; ++t) {
        sum += std::int64_t{a.at(i, t) - x[p.many_zeros ? many(i) : 0]} *
               (b.at(t, j) - y[p.many_zeros ? many(j) : 0]);
      }
      if (j >= p.n) sum = 77;
      wrong += c[many(i * ldc + j)] != static_cast<std::int32_t>(sum);
    }
  }
  CHECK(wrong == 0);
}

void check_all_bytes() {
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      for (const std::int64_t m : {1, 5, 31, 33}) {
        for (const std::int64_t n : {1, 15, 17, 64, 130}) {
          for (const std::int64_t k : {0, 1, 16, 31, 513}) {
            check_bytes({m, n, k, a_signed, b_signed, (m + n) % 2 == 0}, 1);
          }
        }
      }
      check_bytes({70, 200, 1100, a_signed, b_signed}, 3);
      check_bytes({3, 20, 1024, a_signed, b_signed, true, true}, 1);
    }
  }
}

TEST_CASE("products of bytes are exact, with one zero point or with many") {
  check_all_bytes();
}

TEST_CASE("products of bytes are exact with the vectors of all machines") {
  const runtime::CommonVectors common;
  check_all_bytes();
}

TEST_CASE("sums of products of bytes wrap around") {
  // 140,000 * (-128 - 127) * (-128 - 127) > 2^32.
  check_bytes({2, 3, 140000, true, true, false, true}, 1);
}

}  // namespace
}  // namespace ruleengine::kernels
