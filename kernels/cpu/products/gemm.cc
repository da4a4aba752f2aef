// The loops around the tiles of tile.h. Both operands are packed, the second in
// panels of a tile's width, in blocks that fit the caches; the blocks of the
// sum are taken in order, so the result does not depend on the number of
// threads.
#include "kernels/cpu/products/gemm.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <type_traits>

#include "kernels/cpu/products/tile.h"
#include "kernels/dispatch.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

using runtime::Threads;

// Columns of a block of the second operand that is packed on the way.
constexpr std::int64_t kBlockColumns = 1024;
// Products with up to so many rows are computed without packing.
constexpr std::int64_t kFewRows = 4;
constexpr std::int64_t kFewTerms = 2048;
// Rows of the second operand that they take at once.
constexpr std::int64_t kStep = 8;
// Places of a line that are packed together.
constexpr std::int64_t kPlaces = 64;
// Multiplications that a piece has at least.
constexpr std::int64_t kPieceWork = 1 << 17;

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

// For the operand of this name.
template <typename T, char kOperand>
T* scratch_of(std::int64_t count) {
  static thread_local Scratch<T> scratch;
  return scratch.get(count);
}

// `lines` lines of `depth` elements, side by side: to[i * width + line], in
// `places` places. Missing elements are 0. `along`: elements from one place of
// a line to the next; `across`: from one line to the next.
template <typename T>
void pack_lines(const T* from, std::int64_t along, std::int64_t across,
                std::int64_t depth, std::int64_t lines, std::int64_t places,
                std::int64_t width, T* to) {
  std::fill(to + depth * width, to + places * width, T(0));
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

// The upper halves of floats; the lower ones are 0 where numbers were BFloat16
// before.
void cut(const float* from, std::int64_t count, BFloat16* to) {
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = BFloat16(std::bit_cast<std::uint32_t>(from[i]) >> 16);
    }
  });
}

// The same for terms of a panel, two of a column next to each other.
void cut_pairs(const float* from, std::int64_t terms, std::int64_t width,
               BFloat16* to) {
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    for (std::int64_t t = 0; t < terms; t += 2, from += 2 * width) {
      for (std::int64_t j = 0; j < width; ++j, to += 2) {
        to[0] = BFloat16(std::bit_cast<std::uint32_t>(from[j]) >> 16);
        to[1] = BFloat16(std::bit_cast<std::uint32_t>(from[width + j]) >> 16);
      }
    }
  });
}

// One product; what its blocks have in common.
template <typename T>
struct MatrixProduct : GemmArguments<T> {
  Threads& threads;
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

// Terms [p0, p0 + depth) of the second operand's columns from j0 on, in panels
// that have `before` terms in front of them.
template <typename T, typename Packed = T>
struct PackedBlock {
  const Packed* data;
  PanelLayout<T> layout;
  std::int64_t before, j0, p0, depth;
};

// c = alpha * tile + by * c, where c is not read if `by` is 0.
template <typename T>
[[gnu::always_inline]] inline void combine(const T* tile, std::int64_t n,
                                           T alpha, T by, T* c) {
  if (by == 0) {
    for (std::int64_t j = 0; j < n; ++j) c[j] = alpha * tile[j];
  } else {
    for (std::int64_t j = 0; j < n; ++j) c[j] = alpha * tile[j] + by * c[j];
  }
}

// Rows [i0, i0 + rows) of the result, no more than a tile has, times panels
// [begin, end) of the block.
template <typename T, typename Packed>
void multiply_rows(const MatrixProduct<T>& p, const PackedBlock<T, Packed>& b,
                   std::int64_t i0, std::int64_t rows, std::int64_t begin,
                   std::int64_t end) {
  const std::int64_t terms = tile_rounded(b.depth);
  T* a = scratch_of<T, 'a'>(kTileRows * (kTileTerms + kTileColumns<T>));
  T* tile = a + kTileRows * kTileTerms;
  pack_lines(p.a.at(i0, b.p0), p.a.row_step(), p.a.column_step(), rows, b.depth,
             rows, terms, a);
  const Packed* packed;
  if constexpr (std::is_same_v<T, Packed>) {
    packed = a;
  } else {
    Packed* halves = scratch_of<Packed, 'a'>(kTileRows * kTileTerms);
    cut(a, rows * terms, halves);
    packed = halves;
  }
  const T by = b.p0 == 0 ? p.beta : T(1);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t j = panel * kTileColumns<T>;
    const std::int64_t width = b.layout.width(j);
    multiply_tile({rows, width, terms}, packed,
                  b.data + b.layout.place(j) + b.before * width, tile);
    const std::int64_t n = std::min(width, b.layout.n - j);
    T* to = p.c + i0 * p.ldc + b.j0 + j;
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      for (std::int64_t r = 0; r < rows; ++r) {
        combine(tile + r * width, n, p.alpha, by, to + r * p.ldc);
      }
    });
  }
}

// Rows are shared out, and columns as well where there are few rows.
template <typename T, typename Packed>
void multiply_block(const MatrixProduct<T>& p,
                    const PackedBlock<T, Packed>& b) {
  const std::int64_t row_blocks = ceil_div(p.m, kTileRows);
  const std::int64_t work =
      std::min(kTileRows, p.m) * b.depth * kTileColumns<T>;
  const std::int64_t cut =
      std::max<std::int64_t>(row_blocks >= 16 ? 32 : 4, kPieceWork * 4 / work);
  const std::int64_t panels = ceil_div(b.layout.n, kTileColumns<T>);
  const std::int64_t column_blocks = ceil_div(panels, cut);
  p.threads.for_each_index(row_blocks * column_blocks, 1, [&](std::int64_t at) {
    const std::int64_t i = at / column_blocks * kTileRows;
    const std::int64_t first = at % column_blocks * cut;
    multiply_rows(p, b, i, std::min(kTileRows, p.m - i), first,
                  std::min(first + cut, panels));
  });
}

// Terms and columns of `b` from its place (p0, j0) on, as many as panels have.
template <typename T, typename Packed>
void pack_panels(Threads& threads, const Matrix<T>& b, std::int64_t p0,
                 std::int64_t j0, const PanelLayout<T>& layout, Packed* to) {
  const std::int64_t each = layout.place(kTileColumns<T>);
  // Terms of a panel from `first` on.
  const auto pack = [&](std::int64_t j, std::int64_t first, std::int64_t terms,
                        T* panel) {
    pack_lines(b.at(p0 + first, j0 + j), b.row_step(), b.column_step(), terms,
               std::min(kTileColumns<T>, layout.n - j), tile_rounded(terms),
               layout.width(j), panel);
  };
  const auto one = [&](std::int64_t i) {
    const std::int64_t j = i * kTileColumns<T>;
    Packed* panel = to + layout.place(j);
    if constexpr (std::is_same_v<T, Packed>) {
      pack(j, 0, layout.k, panel);
    } else {
      const std::int64_t width = layout.width(j);
      T* whole = scratch_of<T, 'p'>(kTileTerms * width);
      for (std::int64_t first = 0; first < layout.k; first += kTileTerms) {
        const std::int64_t terms = std::min(kTileTerms, layout.k - first);
        pack(j, first, terms, whole);
        cut_pairs(whole, tile_rounded(terms), width, panel + first * width);
      }
    }
  };
  threads.for_each_index(ceil_div(layout.n, kTileColumns<T>),
                         ceil_div(kPieceWork, std::max<std::int64_t>(each, 1)),
                         one);
}

template <typename T>
void blocked(const MatrixProduct<T>& p) {
  for (std::int64_t j0 = 0; j0 < p.n; j0 += kBlockColumns) {
    const std::int64_t columns = std::min(kBlockColumns, p.n - j0);
    T* packed = scratch_of<T, 'b'>(
        PanelLayout<T>{std::min(p.k, kTileTerms), columns}.count());
    for (std::int64_t p0 = 0; p0 < p.k; p0 += kTileTerms) {
      const std::int64_t depth = std::min(kTileTerms, p.k - p0);
      const PanelLayout<T> layout{depth, columns};
      pack_panels(p.threads, p.b, p0, j0, layout, packed);
      multiply_block<T, T>(p, {packed, layout, 0, j0, p0, depth});
    }
  }
}

// c[j] += a[i] * b[i][j] over j < n and i < kStep.
template <typename T>
void add_rows(std::int64_t n, const T* a, const T* b, std::int64_t ldb, T* c) {
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = c[j];
      for (std::int64_t i = 0; i < kStep; ++i) sum += a[i] * b[i * ldb + j];
      c[j] = sum;
    }
  });
}

template <typename T>
T dot(std::int64_t n, const T* a, const T* b) {
  constexpr std::int64_t kLanes = kTileColumns<T>;
  T total = 0;
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    T sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) sums[j] += a[i + j] * b[i + j];
    }
    for (std::int64_t j = 0; i < n; ++i, ++j) sums[j] += a[i] * b[i];
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    }
    total = sums[0];
  });
  return total;
}

// Columns [begin, end) of a product with few rows over `depth` terms; `rows`
// has these terms of the first operand, `b` those of the
// second.
template <typename T>
void add_few_rows(const MatrixProduct<T>& p, const T* rows, std::int64_t p0,
                  std::int64_t depth, std::int64_t begin, std::int64_t end) {
  if (p.b.transposed) {
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        p.c[i * p.ldc + j] += dot(depth, rows + i * depth, p.b.at(p0, j));
      }
    }
    return;
  }
  std::int64_t t = 0;
  for (; t + kStep <= depth; t += kStep) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      add_rows(end - begin, rows + i * depth + t, p.b.at(p0 + t, begin),
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
  T* rows = scratch_of<T, 'a'>(kFewRows * kFewTerms);
  runtime::Ticker tick(p.threads);
  for (std::int64_t p0 = 0; p0 < p.k; p0 += kFewTerms) {
    const std::int64_t depth = std::min(kFewTerms, p.k - p0);
    tick(depth * (end - begin));
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t t = 0; t < depth; ++t) {
        rows[i * depth + t] = *p.a.at(i, p0 + t);
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

}  // namespace

template <typename T>
void gemm(Threads& threads, const GemmArguments<T>& product) {
  MatrixProduct<T> p{product, threads};
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
  // They add to the result, so they know no factor of the sum.
  if (p.m <= kFewRows && p.alpha == 1) return few_rows(p);
  blocked(p);
}

template <typename T, typename Packed>
void pack_matrix(Threads& threads, const PanelLayout<T>& layout,
                 const Matrix<T>& b, Packed* packed) {
  pack_panels(threads, b, 0, 0, layout, packed);
}

template <typename T, typename Packed>
void gemm_packed(Threads& threads, const GemmArguments<T>& product,
                 const Packed* packed) {
  const MatrixProduct<T> p{product, threads};
  if (p.m <= 0 || p.n <= 0) return;
  if (p.k <= 0 || p.alpha == 0) return scale(p);
  for (std::int64_t p0 = 0; p0 < p.k; p0 += kTileTerms) {
    const std::int64_t depth = std::min(kTileTerms, p.k - p0);
    multiply_block<T, Packed>(p, {packed, {p.k, p.n}, p0, 0, p0, depth});
  }
}

template void gemm(Threads&, const GemmArguments<float>&);
template void gemm(Threads&, const GemmArguments<double>&);

#define RULEENGINE_PACKED(T, Packed)                                           \
  template void pack_matrix(Threads&, const PanelLayout<T>&, const Matrix<T>&, \
                            Packed*);                                          \
  template void gemm_packed(Threads&, const GemmArguments<T>&, const Packed*);
RULEENGINE_PACKED(float, float)
RULEENGINE_PACKED(float, BFloat16)
RULEENGINE_PACKED(double, double)
#undef RULEENGINE_PACKED

}  // namespace ruleengine::kernels
