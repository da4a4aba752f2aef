// The loops around the innermost ones of gemm_loops.h: both operands are packed
// into panels of a tile's height and width, in blocks that fit the caches; the
// blocks of the sum are taken in order, so the result does not depend on the
// number of threads.
#include "kernels/cpu/products/gemm.h"

#include <algorithm>
#include <memory>
#include <new>

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/products/gemm_loops.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

using runtime::Threads;

// Terms, rows and columns of a block.
constexpr std::int64_t kTerms = 256;
constexpr std::int64_t kBlockRows = 96;
constexpr std::int64_t kBlockColumns = 2048;
// Products with up to so many rows are computed without packing.
constexpr std::int64_t kFewRows = 4;
constexpr std::int64_t kFewTerms = 2048;
// Places of a line that are packed together.
constexpr std::int64_t kPlaces = 64;
// Multiplications that a piece has at least.
constexpr std::int64_t kPieceWork = 1 << 17;

template <typename T>
struct MatrixOperand {
  bool transposed;
  const T* data;
  std::int64_t stride;
  const T* at(std::int64_t row, std::int64_t column) const {
    return transposed ? data + column * stride + row
                      : data + row * stride + column;
  }
};

// Memory of a thread that is kept for its next product.
template <typename T>
class Scratch {
 public:
  T* get(std::int64_t count) {
    if (count > size_) {
      data_.reset();
      const auto bytes = index_of(count) * sizeof(T);
      data_.reset(static_cast<T*>(::operator new(bytes, kAlign)));
      size_ = count;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlign); }
  };
  std::unique_ptr<T, Free> data_;
  std::int64_t size_ = 0;
};

template <typename T>
T* scratch_a(std::int64_t count) {
  static thread_local Scratch<T> scratch;
  return scratch.get(count);
}
template <typename T>
T* scratch_b(std::int64_t count) {
  static thread_local Scratch<T> scratch;
  return scratch.get(count);
}

// Those for the vectors of this call, which may be narrower than those of the
// machine (CommonVectors).
template <typename T>
const GemmLoops<T>& loops() {
#if defined(__x86_64__)
  static const GemmLoops<T> wide = gemm_loops_64<T>(),
                            middle = gemm_loops_32<T>();
  if (runtime::vector_bits() >= 512) return wide;
  if (runtime::vector_bits() >= 256) return middle;
#endif
  static const GemmLoops<T> narrow = gemm_loops_16<T>();
  return narrow;
}

// `lines` lines of `depth` elements, side by side: to[i * width + line].
// Missing lines are 0. `along`: elements from one place of a line to the next;
// `across`: from one line to the next.
template <typename T>
void pack(const T* from, std::int64_t along, std::int64_t across,
          std::int64_t depth, std::int64_t lines, std::int64_t width, T* to) {
  if (across == 1) {
    for (std::int64_t i = 0; i < depth; ++i, from += along, to += width) {
      std::copy(from, from + lines, to);
      std::fill(to + lines, to + width, T(0));
    }
    return;
  }
  // A few places of all lines at once: what is read and written stays near.
  for (std::int64_t first = 0; first < depth; first += kPlaces) {
    const std::int64_t last = std::min(depth, first + kPlaces);
    for (std::int64_t line = 0; line < lines; ++line) {
      const T* x = from + line * across;
      for (std::int64_t i = first; i < last; ++i)
        to[i * width + line] = x[i * along];
    }
    for (std::int64_t line = lines; line < width; ++line) {
      for (std::int64_t i = first; i < last; ++i) to[i * width + line] = T(0);
    }
  }
}

// One product; what its blocks have in common.
template <typename T>
struct MatrixProduct {
  Threads& threads;
  const GemmLoops<T>& loop;
  MatrixOperand<T> a, b;
  std::int64_t m, n, k;
  T alpha, beta;
  T* c;
  std::int64_t ldc;
};

// Where the result has no terms, or is only scaled.
template <typename T>
void scale(const MatrixProduct<T>& p) {
  if (p.beta == 1) return;
  runtime::Ticker tick(p.threads);
  for (std::int64_t i = 0; i < p.m; ++i) {
    tick(p.n);
    T* row = p.c + i * p.ldc;
    for (std::int64_t j = 0; j < p.n; ++j) {
      row[j] = p.beta == 0 ? T(0) : row[j] * p.beta;
    }
  }
}

// A block of rows of the result, times the packed columns [j0, j0 + columns).
template <typename T>
void multiply_block(const MatrixProduct<T>& p, const T* packed_b,
                    std::int64_t i0, std::int64_t rows, std::int64_t j0,
                    std::int64_t columns, std::int64_t p0, std::int64_t depth) {
  const std::int64_t height = p.loop.rows, width = p.loop.columns;
  T* packed_a = scratch_a<T>((kBlockRows + height) * kTerms);
  const std::int64_t along = p.a.transposed ? p.a.stride : 1;
  const std::int64_t across = p.a.transposed ? 1 : p.a.stride;
  for (std::int64_t i = 0; i < rows; i += height) {
    pack(p.a.at(i0 + i, p0), along, across, depth, std::min(height, rows - i),
         height, packed_a + i * depth);
  }
  const T beta = p0 == 0 ? p.beta : T(1);
  for (std::int64_t j = 0; j < columns; j += width) {
    for (std::int64_t i = 0; i < rows; i += height) {
      const GemmTile<T> tile{std::min(height, rows - i),
                             std::min(width, columns - j), p.alpha, beta};
      p.loop.tile(depth, packed_a + i * depth, packed_b + j * depth, tile,
                  p.c + (i0 + i) * p.ldc + j0 + j, p.ldc);
    }
  }
}

template <typename T>
void blocked(const MatrixProduct<T>& p) {
  const std::int64_t width = p.loop.columns;
  const std::int64_t along = p.b.transposed ? 1 : p.b.stride;
  const std::int64_t across = p.b.transposed ? p.b.stride : 1;
  // Rows of a block: a multiple of a tile's.
  const std::int64_t height = kBlockRows / p.loop.rows * p.loop.rows;
  const std::int64_t row_blocks = (p.m + height - 1) / height;
  for (std::int64_t j0 = 0; j0 < p.n; j0 += kBlockColumns) {
    const std::int64_t columns = std::min(kBlockColumns, p.n - j0);
    const std::int64_t panels = (columns + width - 1) / width;
    T* packed = scratch_b<T>(std::min(p.k, kTerms) * panels * width);
    for (std::int64_t p0 = 0; p0 < p.k; p0 += kTerms) {
      const std::int64_t depth = std::min(kTerms, p.k - p0);
      p.threads.for_each_index(
          panels, kPieceWork / (width * depth), [&](std::int64_t i) {
            const std::int64_t j = i * width;
            pack(p.b.at(p0, j0 + j), along, across, depth,
                 std::min(width, columns - j), width, packed + j * depth);
          });
      // Columns are cut as well where there are few rows.
      const std::int64_t work =
          std::max<std::int64_t>(1, std::min(height, p.m) * depth * width);
      const std::int64_t cut = std::max<std::int64_t>(
          (row_blocks >= 16 ? 32 : 4), (kPieceWork * 4) / work);
      const std::int64_t column_blocks = (panels + cut - 1) / cut;
      p.threads.for_each_index(
          row_blocks * column_blocks, 1, [&](std::int64_t at) {
            const std::int64_t i = at / column_blocks * height;
            const std::int64_t j = at % column_blocks * cut * width;
            multiply_block(p, packed + j * depth, i, std::min(height, p.m - i),
                           j0 + j, std::min(cut * width, columns - j), p0,
                           depth);
          });
    }
  }
}

// Columns [begin, end) of a product with few rows over `depth` terms; `rows`
// has these terms of the first operand, scaled by alpha, `b` those of the
// second.
template <typename T>
void add_few_rows(const MatrixProduct<T>& p, const T* rows, std::int64_t p0,
                  std::int64_t depth, std::int64_t begin, std::int64_t end) {
  if (p.b.transposed) {
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        p.c[i * p.ldc + j] +=
            p.loop.dot(depth, rows + i * depth, p.b.at(p0, j));
      }
    }
    return;
  }
  std::int64_t t = 0;
  for (; t + kGemmStep <= depth; t += kGemmStep) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      p.loop.add_rows(end - begin, rows + i * depth + t, p.b.at(p0 + t, begin),
                      p.b.stride, p.c + i * p.ldc + begin);
    }
  }
  for (; t < depth; ++t) {
    const T* b = p.b.at(p0 + t, 0);
    for (std::int64_t i = 0; i < p.m; ++i) {
      const T x = rows[i * depth + t];
      T* to = p.c + i * p.ldc;
      for (std::int64_t j = begin; j < end; ++j) to[j] += x * b[j];
    }
  }
}

template <typename T>
void few_rows_piece(const MatrixProduct<T>& p, std::int64_t begin,
                    std::int64_t end) {
  T* rows = scratch_a<T>(kFewRows * kFewTerms);
  runtime::Ticker tick(p.threads);
  for (std::int64_t p0 = 0; p0 < p.k; p0 += kFewTerms) {
    const std::int64_t depth = std::min(kFewTerms, p.k - p0);
    tick(depth * (end - begin));
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t t = 0; t < depth; ++t) {
        rows[i * depth + t] = p.alpha * *p.a.at(i, p0 + t);
      }
    }
    add_few_rows(p, rows, p0, depth, begin, end);
  }
}

template <typename T>
void few_rows(const MatrixProduct<T>& p) {
  scale(p);
  // A multiple of a cache line.
  const std::int64_t grain =
      std::max<std::int64_t>(1, kPieceWork / (64 * p.k)) * 64;
  p.threads.for_each(p.n, grain, [&](std::int64_t begin, std::int64_t end) {
    // So few columns at a time that the sums stay in the first cache.
    for (std::int64_t j = begin; j < end; j += 1024) {
      few_rows_piece(p, j, std::min(j + 1024, end));
    }
  });
}

template <typename T>
void multiply_blocks(MatrixProduct<T> p) {
  if (p.m <= 0 || p.n <= 0) return;
  if (p.k <= 0 || p.alpha == 0) return scale(p);
  // A column is a row of the transposed product.
  if (p.n == 1 && p.ldc == 1 && p.m > 1) {
    std::swap(p.a, p.b);
    std::swap(p.m, p.n);
    p.a.transposed = !p.a.transposed;
    p.b.transposed = !p.b.transposed;
    p.ldc = p.n;
  }
  if (p.m <= kFewRows) return few_rows(p);
  blocked(p);
}

}  // namespace

template <typename T>
void gemm(Threads& threads, bool transpose_a, bool transpose_b, std::int64_t m,
          std::int64_t n, std::int64_t k, T alpha, const T* a, std::int64_t lda,
          const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  const MatrixOperand<T> left{transpose_a, a, lda}, right{transpose_b, b, ldb};
  multiply_blocks<T>(
      {threads, loops<T>(), left, right, m, n, k, alpha, beta, c, ldc});
}

template void gemm(Threads&, bool, bool, std::int64_t, std::int64_t,
                   std::int64_t, float, const float*, std::int64_t,
                   const float*, std::int64_t, float, float*, std::int64_t);
template void gemm(Threads&, bool, bool, std::int64_t, std::int64_t,
                   std::int64_t, double, const double*, std::int64_t,
                   const double*, std::int64_t, double, double*, std::int64_t);

}  // namespace ruleengine::kernels
