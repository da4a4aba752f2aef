// The tiles of tile.h take uint8 times int8. Bytes of the other sign are moved
// by 128, and the zero points with them. What zero points contribute comes from
// the sums of rows and columns, which lie behind the packed bytes:
// sum of (a - x) * (b - y) = sum of a * b - x * sum of b - y * sum of (a - x).
#include "kernels/cpu/products/integer_gemm.h"

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/cpu/products/tile.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

using runtime::Threads;

constexpr std::int64_t kPanel = kTileColumns<std::int32_t>;
// Bytes that a piece packs at least.
constexpr std::int64_t kPackedBytes = 1 << 15;
// Multiplications that a piece has at least.
constexpr std::int64_t kIntegerWork = 1 << 19;

std::int32_t* sums_of(std::byte* packed, std::int64_t bytes) {
  return reinterpret_cast<std::int32_t*>(packed + bytes);
}
const std::int32_t* sums_of(const std::byte* packed, std::int64_t bytes) {
  return reinterpret_cast<const std::int32_t*>(packed + bytes);
}

// Whole rows of terms, and the sums behind them at an aligned address.
std::int64_t row_bytes(std::int64_t m, std::int64_t k) {
  return m * tile_rounded(k);
}
std::int64_t column_bytes(std::int64_t k, std::int64_t n) {
  return tile_rounded(n) * tile_rounded(k);
}

// A block of rows: terms in blocks of a tile.
[[gnu::always_inline]] inline void pack_row_block(
    std::int64_t rows, std::int64_t k, const std::uint8_t* from,
    std::int64_t stride, std::uint8_t flip, std::uint8_t* to,
    std::int32_t* sums) {
  std::uint32_t total[kTileRows] = {};
  for (std::int64_t p0 = 0; p0 < k; p0 += kTileTerms) {
    const std::int64_t depth = std::min(kTileTerms, k - p0);
    const std::int64_t terms = tile_rounded(depth);
    for (std::int64_t i = 0; i < rows; ++i, to += terms) {
      const std::uint8_t* row = from + i * stride + p0;
      std::uint32_t sum = 0;
#pragma GCC ivdep
      for (std::int64_t t = 0; t < depth; ++t) {
        const auto x = static_cast<std::uint8_t>(row[t] ^ flip);
        to[t] = x;
        sum += x;
      }
      std::fill(to + depth, to + terms, std::uint8_t{0});
      total[i] += sum;
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    sums[i] = static_cast<std::int32_t>(total[i]);
  }
}

// A panel: groups of terms, column after column.
[[gnu::always_inline]] inline void pack_panel(
    std::int64_t k, std::int64_t columns, const std::uint8_t* from,
    std::int64_t stride, std::uint8_t flip, std::int8_t* to,
    std::int32_t* sums) {
  const std::int64_t width = tile_rounded(columns);
  std::uint32_t total[kPanel] = {};
  // Missing ones become 0.
  std::uint8_t lines[kTileGroup][kPanel];
  std::fill_n(lines[0], kTileGroup * kPanel, flip);
  for (std::int64_t t = 0; t < tile_rounded(k); t += kTileGroup) {
    for (std::int64_t i = 0; i < kTileGroup; ++i) {
      if (t + i < k) {
        std::copy_n(from + (t + i) * stride, columns, lines[i]);
      } else {
        std::fill_n(lines[i], columns, flip);
      }
    }
    for (std::int64_t j = 0; j < width; ++j) {
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < kTileGroup; ++i) {
        const auto x = static_cast<std::int8_t>(lines[i][j] ^ flip);
        to[j * kTileGroup + i] = x;
        sum += x;
      }
      total[j] += static_cast<std::uint32_t>(sum);
    }
    to += width * kTileGroup;
  }
  for (std::int64_t j = 0; j < width; ++j) {
    sums[j] = static_cast<std::int32_t>(total[j]);
  }
}

// Zero points as those of the packed bytes.
struct PackedZero {
  PackedZero(const ZeroPoints& z, std::int32_t moved) : zero(z), by(moved) {}
  std::uint32_t at(std::int64_t i) const {
    return static_cast<std::uint32_t>(zero.data[i * zero.step] + by);
  }

  ZeroPoints zero;
  std::int32_t by;
};

struct IntegerTiles {
  explicit IntegerTiles(const IntegerArguments& all)
      : p(all),
        x(all.a_zero, all.a_is_signed ? 128 : 0),
        y(all.b_zero, all.b_is_signed ? 0 : -128) {}

  // Rows [i0, i0 + rows) of panels [begin, end).
  void multiply(std::int64_t i0, std::int64_t rows, std::int64_t begin,
                std::int64_t end) const {
    const std::int64_t depth = tile_rounded(p.k);
    const auto* a = reinterpret_cast<const std::uint8_t*>(p.a) + i0 * depth;
    alignas(64) std::int32_t sums[kTileRows * kPanel] = {};  // without terms
    alignas(64) std::int32_t more[kTileRows * kPanel];
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t j0 = panel * kPanel;
      const std::int64_t columns = std::min(kPanel, p.n - j0);
      const std::int64_t width = tile_rounded(columns);
      const auto* b = reinterpret_cast<const std::int8_t*>(p.b) + j0 * depth;
      for (std::int64_t p0 = 0; p0 < depth; p0 += kTileTerms) {
        const std::int64_t terms = std::min(kTileTerms, depth - p0);
        std::int32_t* to = p0 == 0 ? sums : more;
        multiply_tile({rows, width, terms}, a + rows * p0, b + width * p0, to);
        if (p0 > 0) add(rows * width, more, sums);
      }
      finish(i0, rows, j0, columns, width, sums);
    }
  }

  static void add(std::int64_t count, const std::int32_t* from,
                  std::int32_t* to) {
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      for (std::int64_t i = 0; i < count; ++i) to[i] = wrapped(to[i], from[i]);
    });
  }

  void finish(std::int64_t i0, std::int64_t rows, std::int64_t j0,
              std::int64_t columns, std::int64_t width,
              const std::int32_t* sums) const {
    const std::int32_t* a_sums = sums_of(p.a, row_bytes(p.m, p.k)) + i0;
    const std::int32_t* b_sums = sums_of(p.b, column_bytes(p.k, p.n)) + j0;
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      std::uint32_t zero[kPanel];
      for (std::int64_t j = 0; j < columns; ++j) zero[j] = y.at(j0 + j);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::uint32_t own = x.at(i0 + i);
        const std::uint32_t rest = static_cast<std::uint32_t>(a_sums[i]) -
                                   static_cast<std::uint32_t>(p.k) * own;
        std::int32_t* to = p.c + (i0 + i) * p.ldc + j0;
        for (std::int64_t j = 0; j < columns; ++j) {
          to[j] = static_cast<std::int32_t>(
              static_cast<std::uint32_t>(sums[i * width + j]) -
              own * static_cast<std::uint32_t>(b_sums[j]) - zero[j] * rest);
        }
      }
    });
  }

  static std::int32_t wrapped(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) +
                                     static_cast<std::uint32_t>(b));
  }

  const IntegerArguments& p;
  PackedZero x, y;
};

}  // namespace

std::int64_t packed_rows_size(std::int64_t m, std::int64_t k) {
  return row_bytes(m, k) + m * std::int64_t{sizeof(std::int32_t)};
}

void pack_rows(Threads& threads, std::int64_t m, std::int64_t k,
               const ByteMatrix& a, std::byte* packed) {
  const std::uint8_t flip = a.is_signed ? 0x80 : 0;
  const std::int64_t depth = tile_rounded(k);
  std::int32_t* sums = sums_of(packed, row_bytes(m, k));
  threads.for_each_index(
      ceil_div(m, kTileRows), kPackedBytes / (kTileRows * depth + 1),
      [=](std::int64_t block) {
        const std::int64_t i = block * kTileRows;
        runtime::for_vectors([&]() RULEENGINE_INLINE {
          pack_row_block(std::min(kTileRows, m - i), k, a.data + i * a.stride,
                         a.stride, flip,
                         reinterpret_cast<std::uint8_t*>(packed) + i * depth,
                         sums + i);
        });
      });
}

std::int64_t packed_columns_size(std::int64_t k, std::int64_t n) {
  return column_bytes(k, n) +
         tile_rounded(n) * std::int64_t{sizeof(std::int32_t)};
}

void pack_columns(Threads& threads, std::int64_t k, std::int64_t n,
                  const ByteMatrix& b, std::byte* packed) {
  const std::uint8_t flip = b.is_signed ? 0 : 0x80;
  const std::int64_t depth = tile_rounded(k);
  std::int32_t* sums = sums_of(packed, column_bytes(k, n));
  threads.for_each_index(
      ceil_div(n, kPanel), kPackedBytes / (kPanel * depth + 1),
      [=](std::int64_t panel) {
        const std::int64_t j = panel * kPanel;
        runtime::for_vectors([&]() RULEENGINE_INLINE {
          pack_panel(k, std::min(kPanel, n - j), b.data + j, b.stride, flip,
                     reinterpret_cast<std::int8_t*>(packed) + j * depth,
                     sums + j);
        });
      });
}

void integer_gemm(Threads& threads, const IntegerArguments& p) {
  if (p.m <= 0 || p.n <= 0) return;
  const IntegerTiles tiles(p);
  const std::int64_t panels = ceil_div(p.n, kPanel);
  const std::int64_t work = std::min(kTileRows, p.m) * kPanel * (p.k + 1);
  const std::int64_t cut = std::max<std::int64_t>(1, kIntegerWork / work);
  const std::int64_t pieces = ceil_div(panels, cut);
  threads.for_each_index(ceil_div(p.m, kTileRows) * pieces, 1,
                         [&](std::int64_t at) {
                           const std::int64_t i = at / pieces * kTileRows;
                           const std::int64_t first = at % pieces * cut;
                           tiles.multiply(i, std::min(kTileRows, p.m - i),
                                          first, std::min(first + cut, panels));
                         });
}

}  // namespace ruleengine::kernels
