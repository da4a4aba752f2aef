#include "kernels/cpu/convolution/rows.h"

namespace ruleengine::kernels {

Plane::Plane(Windows all) : windows(std::move(all)) {
  if (windows.empty()) windows.push_back({.in = 1, .out = 1});
  for (const Window& w : windows) {
    in *= w.in;
    out *= w.out;
  }
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) rows *= windows[i].out;
  if (last().kernel > 2 * last().out) return;
  for (std::int64_t k = 0; k < last().kernel; ++k) {
    inside.push_back(windows_with(last(), k));
  }
}

void RowTaps::find(const Plane& plane, std::int64_t row) {
  const std::size_t outer = plane.windows.size() - 1;
  places.assign(1, 0);
  taps.assign(1, 0);
  with_padding = 1;
  at_.resize(outer);
  for (std::size_t i = outer; i-- > 0;) {
    at_[i] = row % plane.windows[i].out;
    row /= plane.windows[i].out;
  }
  for (std::size_t i = 0; i < outer; ++i) {
    const Window& w = plane.windows[i];
    const Range range = taps_inside(w, at_[i]);
    const std::int64_t start = w.start(at_[i]);
    next_places_.clear();
    next_taps_.clear();
    for (std::size_t j = 0; j < places.size(); ++j) {
      for (std::int64_t k = range.begin; k < range.end; ++k) {
        next_places_.push_back(places[j] * w.in + start + k * w.dilation);
        next_taps_.push_back(taps[j] * w.kernel + k);
      }
    }
    places.swap(next_places_);
    taps.swap(next_taps_);
    with_padding *= padded_taps(w, at_[i]);
  }
  for (std::int64_t& place : places) place *= plane.last().in;
}

}  // namespace ruleengine::kernels
