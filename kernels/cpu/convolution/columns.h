// Images as matrices: a column holds what one window reads, so that a
// convolution is a product of matrices. Rows are taps of channels, channels
// first. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/convolution/windows.h"

namespace ruleengine::kernels {

class Columns {
 public:
  // The sizes of the image and the number of windows must be those of tensors,
  // and the taps those of weights, so that their products fit.
  Columns(Windows windows, const runtime::Threads& threads);

  std::int64_t taps() const { return taps_; }    // of a window
  std::int64_t count() const { return count_; }  // windows
  std::int64_t image() const { return image_; }  // elements of a channel

  // How many columns of `rows` elements make a matrix that stays in the cache.
  std::int64_t tile(std::int64_t rows) const;

  // Columns of windows [begin, end) of channels that lie one after the other.
  template <typename T>
  void gather(const T* image, std::int64_t channels, std::int64_t begin,
              std::int64_t end, T* columns) const {
    const std::int64_t width = end - begin;
    visit(begin, end, [&](const Run& run) {
      for (std::int64_t c = 0; c < channels; ++c) {
        T* to = columns + (c * taps_ + run.tap) * width + run.column;
        const T* from = image + c * image_ + run.place;
        std::fill_n(to, run.first, T());
        if (run.step == 1) {
          std::copy_n(from, run.last - run.first, to + run.first);
        } else {
          for (std::int64_t i = run.first; i < run.last; ++i) {
            to[i] = from[(i - run.first) * run.step];
          }
        }
        std::fill(to + run.last, to + run.size, T());
      }
    });
  }

  // The inverse: adds columns of windows [begin, end) to the image.
  // add(element of the image, element of the columns).
  template <typename T, typename Add>
  void scatter(const T* columns, std::int64_t channels, std::int64_t begin,
               std::int64_t end, T* image, Add add) const {
    const std::int64_t width = end - begin;
    visit(begin, end, [&](const Run& run) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const T* from = columns + (c * taps_ + run.tap) * width + run.column;
        T* to = image + c * image_ + run.place;
        for (std::int64_t i = run.first; i < run.last; ++i) {
          add(to[(i - run.first) * run.step], from[i]);
        }
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

  std::vector<Segment> segments(std::int64_t begin, std::int64_t end) const;
  // Where the row of the image begins that a tap of the outer axes reads; -1
  // outside.
  std::int64_t row_place(std::int64_t row, std::int64_t outer_tap) const;

  template <typename F>
  void visit(std::int64_t begin, std::int64_t end, F f) const {
    const Window& w = windows_.back();
    Ticker tick(threads_);
    const auto all = segments(begin, end);
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
  const runtime::Threads& threads_;
  std::int64_t taps_ = 1, count_ = 1, image_ = 1;
};

}  // namespace ruleengine::kernels
