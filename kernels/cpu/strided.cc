#include "kernels/strided.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

// Copies a line of at most 4 * kStep bytes, in two halves that may overlap.
template <typename T, std::size_t kStep = 32>
[[gnu::always_inline]] inline void copy_short(const T* from, T* to,
                                              std::int64_t count) {
  const std::size_t bytes = index_of(count) * sizeof(T);
  if constexpr (kStep > sizeof(T)) {
    if (bytes < kStep) return copy_short<T, kStep / 2>(from, to, count);
  }
  if (bytes < kStep) return;
  const auto* in = reinterpret_cast<const std::byte*>(from);
  auto* out = reinterpret_cast<std::byte*>(to);
  std::byte first[kStep], last[kStep];
  std::memcpy(first, in, kStep);
  std::memcpy(last, in + bytes - kStep, kStep);
  std::memcpy(out, first, kStep);
  std::memcpy(out + bytes - kStep, last, kStep);
}

template <typename T>
void copy_line(const T* from, std::int64_t from_step, T* to,
               std::int64_t to_step, std::int64_t count) {
  if (from_step == 1 && to_step == 1) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (index_of(count) * sizeof(T) <= 64) return copy_short(from, to, count);
    }
    std::copy_n(from, count, to);
  } else if (from_step == 0 && to_step == 1) {
    std::fill_n(to, count, *from);
  } else if (to_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * from_step];
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i * to_step] = from[i * from_step];
    }
  }
}

// Elements that a tile has at most, and short lines together.
constexpr std::int64_t kTile = 1024, kLines = 4096;

// A square of side kSide, transposed: interleaving the halves, which fits
// vectors, turns the bits of the places by one. It is in `x`; gives `x` or
// `other`, which has the result.
constexpr std::int64_t kSide = 32;
template <typename T>
const T* transpose_square(T* x, T* other) {
  constexpr std::int64_t kHalf = kSide * kSide / 2;
  for (std::int64_t side = kSide; side > 1; side /= 2) {
    for (std::int64_t i = 0; i < kHalf; ++i) {
      other[2 * i] = x[i];
      other[2 * i + 1] = x[kHalf + i];
    }
    std::swap(x, other);
  }
  return x;
}

// Rows of `to` that lie across the lines of `from`. What is read goes through a
// buffer, since lines far apart by a power of two drive each other out of the
// cache.
template <typename T>
void transpose_tile(const T* from, T* to, const StridedAxis& rows,
                    const StridedAxis& columns) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (rows.from == 1 && columns.to == 1 && rows.size >= 8 &&
        columns.size >= 8 && rows.size * columns.size <= kTile) {
      T buffer[kTile];
      for (std::int64_t k = 0; k < columns.size; ++k) {
        std::copy_n(from + k * columns.from, rows.size, buffer + k * rows.size);
      }
      if (sizeof(T) <= 8 && rows.size == kSide && columns.size == kSide) {
        T other[kTile];
        const T* read = buffer;
        runtime::for_vectors([&]() RULEENGINE_INLINE {
          read = transpose_square(buffer, other);
        });
        for (std::int64_t r = 0; r < kSide; ++r) {
          std::memcpy(to + r * rows.to, read + r * kSide, kSide * sizeof(T));
        }
        return;
      }
      for (std::int64_t r = 0; r < rows.size; ++r) {
        T* line = to + r * rows.to;
        const T* read = buffer + r;
        for (std::int64_t k = 0; k < columns.size; ++k) {
          line[k] = read[k * rows.size];
        }
      }
      return;
    }
  }
  for (std::int64_t r = 0; r < rows.size; ++r) {
    copy_line(from + r * rows.from, columns.from, to + r * rows.to, columns.to,
              columns.size);
  }
}

// How the last axis, and one along which `from` is read in order, are cut.
struct Cut {
  StridedAxis rows, columns;
  std::int64_t row_step = 1, column_step = 1;
};

Cut cut_for(StridedAxes& axes) {
  Cut out;
  out.columns = axes.back();
  axes.pop_back();
  const auto reads = [](const StridedAxis& a) {
    return a.from == 0 ? std::numeric_limits<std::int64_t>::max()
                       : std::abs(a.from);
  };
  const auto best = std::ranges::min_element(axes, {}, reads);
  if (out.columns.from != 0 && best != axes.end() &&
      reads(*best) < reads(out.columns)) {
    out.rows = *best;
    axes.erase(best);
    out.column_step =
        std::min(out.columns.size,
                 std::max(kSide, kTile / std::min(out.rows.size, kSide)));
    out.row_step = std::min(out.rows.size, kTile / out.column_step);
  } else {
    out.column_step = std::min(out.columns.size, kGrain);
    // Several short lines are one step of the walk.
    if (!axes.empty()) {
      out.rows = axes.back();
      axes.pop_back();
      out.row_step =
          std::clamp<std::int64_t>(kLines / out.column_step, 1, out.rows.size);
    }
  }
  return out;
}

template <typename T>
void copy_axes(const Call& c, StridedAxes axes, const T* from, T* to) {
  const Cut cut = cut_for(axes);
  const auto pieces = [](const StridedAxis& axis, std::int64_t step) {
    return StridedAxis{(axis.size + step - 1) / step, axis.from * step,
                       axis.to * step};
  };
  axes.push_back(pieces(cut.rows, cut.row_step));
  axes.push_back(pieces(cut.columns, cut.column_step));
  std::int64_t count = 1;
  for (const StridedAxis& axis : axes) count *= axis.size;
  const std::size_t rank = axes.size();
  const std::int64_t grain = kGrain / (cut.row_step * cut.column_step);
  c.threads().for_each(
      count, std::max<std::int64_t>(grain, 1),
      [&](std::int64_t begin, std::int64_t end) {
        Walk walk(axes, begin);
        StridedAxis rows = cut.rows, columns = cut.columns;
        for (std::int64_t i = begin; i < end; ++i, walk.next()) {
          rows.size =
              std::min(cut.row_step,
                       cut.rows.size - walk.index(rank - 2) * cut.row_step);
          columns.size = std::min(
              cut.column_step,
              cut.columns.size - walk.index(rank - 1) * cut.column_step);
          // The longer lines are the inner loop.
          const bool is_copy = columns.from == 1 && columns.to == 1;
          if (!is_copy && columns.size < 8 && rows.size > columns.size) {
            transpose_tile(from + walk.from(), to + walk.to(), columns, rows);
          } else {
            transpose_tile(from + walk.from(), to + walk.to(), rows, columns);
          }
        }
      });
}

template <typename T>
Ints whole_of(const Tensor& t) {
  Ints out;
  out.reserve(t.values<T>().size());
  for (const T v : t.values<T>()) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(std::abs(v) < T(9e18))) {
        fail("a number cannot be an index", "absolutely less than 9e18",
             std::to_string(v));
      }
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (v > std::uint64_t{1} << 62) {
        fail("a number is too large for an index", "2^62 at most",
             std::to_string(v));
      }
    }
    out.push_back(static_cast<std::int64_t>(v));
  }
  return out;
}

}  // namespace

void copy_on_host(const Call& c, StridedAxes axes, const Tensor& from,
                  std::int64_t from_at, Tensor& to, std::int64_t to_at) {
  dispatch_width(from.dtype(), [&]<typename T>() {
    copy_axes(c, axes, elements<T>(from) + from_at,
              mutable_elements<T>(to) + to_at);
  });
}

void take(const Call& c, const Tensor& x, std::size_t axis, const Ints& at,
          Tensor& out) {
  if (out.count() == 0) return;
  const std::int64_t inner = product(x.dims(), axis + 1, x.rank());
  const std::int64_t size = x.dim(axis), many = std::ssize(at);
  dispatch_width(x.dtype(), [&]<typename T>() {
    const T* from = elements<T>(x);
    T* to = mutable_elements<T>(out);
    c.threads().for_each(out.count() / inner, kGrain / inner,
                         [&](std::int64_t begin, std::int64_t end) {
                           const T* base = from + begin / many * size * inner;
                           std::int64_t turn = begin % many;
                           for (std::int64_t i = begin; i < end; ++i) {
                             const T* source =
                                 base + at[index_of(turn)] * inner;
                             if (inner == 1) {
                               to[i] = *source;
                             } else {
                               std::copy_n(source, inner, to + i * inner);
                             }
                             if (++turn < many) continue;
                             turn = 0;
                             base += size * inner;
                           }
                         });
  });
}

Tensor& output_copy(Call& c) {
  const Tensor& x = c.input(0);
  if (x.is_string()) {
    Tensor& out = c.output(0, x.dtype(), x.dims());
    std::ranges::copy(x.strings(), out.mutable_strings().begin());
    return out;
  }
  const std::byte* before = x.data<std::byte>();
  // Another input may be the same tensor, and is still to be read.
  bool is_free = true;
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    is_free = is_free && !(c.has_input(i) && c.value(i).is_tensor() &&
                           c.input(i).data<std::byte>() == before);
  }
  Tensor& out = is_free ? c.output_in_place(0, 0, x.dtype(), x.dims())
                        : c.output(0, x.dtype(), x.dims());
  if (out.data<std::byte>() != before && out.place() != nullptr) {
    copy_block(c, out.dims(), c.input(0), dense(out.dims()), out,
               dense(out.dims()));
  } else if (out.data<std::byte>() != before) {
    std::byte* to = out.mutable_data<std::byte>();
    constexpr std::int64_t kBytes = 1 << 18;  // of one piece
    c.threads().for_each(static_cast<std::int64_t>(out.byte_size()), kBytes,
                         [&](std::int64_t begin, std::int64_t end) {
                           std::copy(before + begin, before + end, to + begin);
                         });
  }
  return out;
}

Ints whole_numbers(const Call& c, const Tensor& t) {
  if (ir::is_narrow_float(t.dtype())) {
    return whole_of<float>(runtime::widened(t, c.run()));
  }
  Ints out;
  dispatch(NumbersAndBool(), t.dtype(),
           [&]<typename T>() { out = whole_of<T>(t); });
  return out;
}

}  // namespace ruleengine::kernels
