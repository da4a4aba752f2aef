#include "kernels/cpu/convolution/columns.h"

namespace ruleengine::kernels {

Columns::Columns(Windows windows, runtime::Threads& threads)
    : windows_(std::move(windows)), threads_(threads) {
  if (windows_.empty()) windows_.push_back({.in = 1, .out = 1});
  for (const Window& w : windows_) {
    taps_ *= w.kernel;
    count_ *= w.out;
    image_ *= w.in;
  }
}

std::int64_t Columns::tile(std::int64_t rows) const {
  const std::int64_t elements = 1 << 17;
  const std::int64_t wide = std::clamp<std::int64_t>(
      elements / std::max<std::int64_t>(rows, 1) / 16 * 16, 64, 4096);
  return std::max<std::int64_t>(1, std::min(wide, count_));
}

std::vector<Columns::Segment> Columns::segments(std::int64_t begin,
                                                std::int64_t end,
                                                std::int64_t cut) const {
  const std::int64_t length = windows_.back().out;
  std::vector<Segment> all;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t row = at / length, from = at % length;
    const std::int64_t size =
        std::min({length - from, end - at, cut - (at - begin) % cut});
    all.push_back({row, from, from + size, at - begin});
    at += size;
  }
  return all;
}

std::int64_t Columns::row_place(std::int64_t row,
                                std::int64_t outer_tap) const {
  std::int64_t place = 0, stride = windows_.back().in;
  for (std::size_t i = windows_.size() - 1; i-- > 0;) {
    const Window& w = windows_[i];
    const std::int64_t at =
        w.start(row % w.out) + outer_tap % w.kernel * w.dilation;
    if (at < 0 || at >= w.in) return -1;
    place += at * stride;
    stride *= w.in;
    row /= w.out;
    outer_tap /= w.kernel;
  }
  return place;
}

}  // namespace ruleengine::kernels
