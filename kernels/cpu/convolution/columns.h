// Images as matrices: a column holds what one window reads, so that a
// convolution is a product of matrices. Rows are taps of channels, channels
// first. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/convolution/rows.h"

namespace ruleengine::kernels {

// to[i] = from[i * step] for i below n. Most lines are short: no function is
// called for them, and the last vector overlaps the one before.
template <typename T>
[[gnu::always_inline]] inline void copy_line(const T* from, std::int64_t step,
                                             std::int64_t n, T* to) {
  constexpr std::int64_t kWide = 64 / sizeof(T);
  const auto ends = [=](auto size) RULEENGINE_INLINE {
    std::copy_n(from, size(), to);
    std::copy_n(from + n - size, size(), to + n - size);
  };
  if (step != 1 || n < kWide / 4) {
    for_steps(0, n, 0, step,
              [=](std::int64_t i, std::int64_t place)
                  RULEENGINE_INLINE { to[i] = from[place]; });
  } else if (n < kWide / 2) {
    ends(std::integral_constant<std::int64_t, kWide / 4>());
  } else if (n < kWide) {
    ends(std::integral_constant<std::int64_t, kWide / 2>());
  } else {
    for (std::int64_t i = 0; i < n; i += kWide) {
      const std::int64_t at = std::min<std::int64_t>(i, n - kWide);
      std::copy_n(from + at, kWide, to + at);
    }
  }
}

// Elements that lie a stride apart, side by side: each phase of the stride is a
// line, one behind the other.
struct StrideSplit {
  StrideSplit(std::int64_t step, std::int64_t elements)
      : stride(step), count(elements), line(ceil_div(elements, step)) {}

  std::int64_t size() const { return stride * line; }
  std::int64_t place(std::int64_t i) const {
    return i % stride * line + i / stride;
  }
  // Places [begin, end) of all lines.
  template <typename T>
  void copy(const T* from, std::int64_t begin, std::int64_t end, T* to) const {
    runtime::for_vectors(
        [=, step = stride, n = count, next = line]() RULEENGINE_INLINE {
          // Two lines at once are vector code, without gaps in what is read.
          const std::int64_t both = step == 2 ? std::min(end, n / 2) : begin;
          T* second = to + next;
#pragma GCC ivdep
          for (std::int64_t i = begin; i < both; ++i) {
            to[i] = from[2 * i];
            second[i] = from[2 * i + 1];
          }
          for (std::int64_t phase = 0; phase < step; ++phase) {
            const std::int64_t last = std::min(end, ceil_div(n - phase, step));
            for (std::int64_t i = std::max(begin, both); i < last; ++i) {
              to[phase * next + i] = from[i * step + phase];
            }
          }
        });
  }

  std::int64_t stride, count;  // of the elements
  std::int64_t line;           // the size of each
};

// Columns side by side in rows.
struct RowMajor {
  std::int64_t n;
  std::int64_t columns() const { return n; }
  std::int64_t width(std::int64_t) const { return n; }
  std::int64_t place(std::int64_t column) const { return column; }
};

class Columns {
 public:
  // The sizes of the image and the number of windows must be those of tensors,
  // and the taps those of weights, so that their products fit.
  Columns(Windows windows, runtime::Threads& threads);

  std::int64_t taps() const { return taps_; }    // of a window
  std::int64_t count() const { return count_; }  // windows
  std::int64_t image() const { return image_; }  // elements of a channel
  // For images whose windows read elements more than once.
  StrideSplit split() const { return {windows_.back().stride, image_}; }

  // How many columns of `rows` elements make a matrix that stays in the cache.
  std::int64_t tile(std::int64_t rows) const;
  // Calls f(image, begin, end) for the tiles of so many images.
  template <typename F>
  void for_tiles(std::int64_t images, std::int64_t rows, F f) const {
    const std::int64_t wide = tile(rows), tiles = ceil_div(count_, wide);
    threads_.for_each(images * tiles, 1, [&](std::int64_t i, std::int64_t) {
      const std::int64_t begin = i % tiles * wide;
      f(i / tiles, begin, std::min(begin + wide, count_));
    });
  }

  // Columns of windows [begin, end) of channels that lie one after the other,
  // with `outside` where a window reads padding. The layout says where a column
  // begins and how far its rows are apart; columns() of them lie side by side.
  // `is_split`: each channel has gone through split().
  template <typename T, typename Layout>
  void gather(const T* image, std::int64_t channels, std::int64_t begin,
              std::int64_t end, T outside, const Layout& layout, T* columns,
              bool is_split = false) const {
    const StrideSplit by_stride = split();
    const std::int64_t next_from = is_split ? by_stride.size() : image_;
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      visit(begin, end, layout.columns(),
            [&](const Run& run) RULEENGINE_INLINE {
              const Run r = run;  // held in registers
              const std::int64_t step = layout.width(r.column);
              const std::int64_t next = taps_ * step, size = r.last - r.first;
              const T* from =
                  image + (is_split ? by_stride.place(r.place) : r.place);
              T* to = columns + layout.place(r.column) + r.tap * step;
              for (std::int64_t c = channels; c > 0; --c) {
                for (std::int64_t i = 0; i < r.first; ++i) to[i] = outside;
                copy_line(from, is_split ? 1 : r.step, size, to + r.first);
                for (std::int64_t i = r.last; i < r.size; ++i) to[i] = outside;
                to += next;
                from += next_from;
              }
            });
    });
  }

  // The inverse: adds columns of windows [begin, end) to the image, by
  // add(element of the image, element of the columns).
  template <typename T, typename Add>
  void scatter(const T* columns, std::int64_t channels, std::int64_t begin,
               std::int64_t end, T* image, Add add) const {
    const std::int64_t width = end - begin;
    visit(begin, end, width, [&](const Run& run) {
      const Run r = run;  // held in registers
      const T* from = columns + r.tap * width + r.column;
      T* to = image + r.place;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = r.first; i < r.last; ++i) {
          T& sum = to[(i - r.first) * r.step];
          sum = add(sum, from[i]);
        }
        from += taps_ * width;
        to += image_;
      }
    });
  }

 private:
  // A tap of windows that follow each other along the last axis. Those in
  // [first, last) lie in the image, the first of them at `place`.
  struct Run {
    std::int64_t tap, column, size, first, last, place, step;
  };
  // Windows that follow each other along the last axis.
  struct Segment {
    std::int64_t row, begin, end, column;
  };

  // So that none crosses a multiple of `cut` columns.
  std::vector<Segment> segments(std::int64_t begin, std::int64_t end,
                                std::int64_t cut) const;
  // Where the row of the image begins that a tap of the outer axes reads; -1
  // outside.
  std::int64_t row_place(std::int64_t row, std::int64_t outer_tap) const;

  template <typename F>
  [[gnu::always_inline]] void visit(std::int64_t begin, std::int64_t end,
                                    std::int64_t cut, F f) const {
    const Window& w = windows_.back();
    Ticker tick(threads_);
    const auto all = segments(begin, end, cut);
    std::vector<std::int64_t> places(all.size());
    for (std::int64_t outer = 0; outer < taps_ / w.kernel; ++outer) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        places[i] = row_place(all[i].row, outer);
      }
      for (std::int64_t k = 0; k < w.kernel; ++k) {
        const Range inside = windows_with(w, k);
        for (std::size_t i = 0; i < all.size(); ++i) {
          const Segment& s = all[i];
          Run run{.tap = outer * w.kernel + k,
                  .column = s.column,
                  .size = s.end - s.begin,
                  .first = 0,
                  .last = 0,
                  .place = 0,
                  .step = w.stride};
          const std::int64_t first = std::max(inside.begin, s.begin);
          const std::int64_t last = std::min(inside.end, s.end);
          if (places[i] >= 0 && first < last) {
            run.first = first - s.begin;
            run.last = last - s.begin;
            run.place = places[i] + w.start(first) + k * w.dilation;
          }
          tick(run.size);
          f(run);
        }
      }
    }
  }

  Windows windows_;
  runtime::Threads& threads_;
  std::int64_t taps_ = 1, count_ = 1, image_ = 1;
};

}  // namespace ruleengine::kernels
