// Rows of windows along the last axis, and the rows of the image that they
// read. Internal to kernels/cpu.
#pragma once

#include <vector>

#include "kernels/cpu/convolution/windows.h"
#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {

// One channel of an image, and the windows over it row by row.
struct Plane {
  explicit Plane(Windows all);
  const Window& last() const { return windows.back(); }

  Windows windows;  // at least one axis
  std::int64_t in = 1, out = 1, rows = 1;
  // By tap of the last axis: windows of a row with that tap inside. Only where
  // there are few taps for a row of windows.
  std::vector<Range> inside;
};

// What one row of windows reads.
struct RowTaps {
  // Where rows of the image begin, and which tap of the outer axes reads each.
  std::vector<std::int64_t> places, taps;
  double with_padding = 1;  // taps within image and padding

  void find(const Plane& plane, std::int64_t row);

 private:
  std::vector<std::int64_t> at_, next_places_, next_taps_;
};

// Calls f(plane, row, taps, line, tick) for each row of windows of so many
// planes, with memory of so many bytes.
template <typename F>
void for_rows(Call& c, const Plane& plane, std::int64_t planes,
              std::int64_t bytes, F f) {
  if (plane.out == 0 || planes == 0) return;
  std::int64_t work = plane.last().out;
  for (const Window& w : plane.windows) {
    work = std::min(work, kGrain) * std::min(w.kernel, w.in + 1);
  }
  const std::int64_t grain =
      std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work));
  // The same row of some planes one after the other: its taps are found once.
  const std::int64_t together = std::min<std::int64_t>(planes, 8);
  c.threads().for_each(
      ceil_div(planes, together) * plane.rows, ceil_div(grain, together),
      [&](std::int64_t begin, std::int64_t end) {
        Tensor line = c.allocate(DataType::kUint8, Dims{bytes});
        Ticker tick(c.threads());
        RowTaps taps;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t row = i % plane.rows;
          const std::int64_t first = i / plane.rows * together;
          taps.find(plane, row);
          for (std::int64_t p = first; p < std::min(first + together, planes);
               ++p) {
            f(p, row, taps, line.mutable_data<std::byte>(), tick);
          }
        }
      });
}

// Calls f(o, place) for o in [begin, end), places `step` apart: the usual steps
// as constants, so that the loops become vector code.
template <typename F>
[[gnu::always_inline]] inline void for_steps(std::int64_t begin,
                                             std::int64_t end,
                                             std::int64_t place,
                                             std::int64_t step, const F& f) {
  if (step == 1) {
#pragma GCC ivdep
    for (std::int64_t o = begin; o < end; ++o) f(o, place + (o - begin));
  } else if (step == 2) {
#pragma GCC ivdep
    for (std::int64_t o = begin; o < end; ++o) f(o, place + 2 * (o - begin));
  } else {
#pragma GCC ivdep
    for (std::int64_t o = begin; o < end; ++o) f(o, place + step * (o - begin));
  }
}

}  // namespace ruleengine::kernels
