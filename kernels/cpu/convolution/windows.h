// Windows that slide over the spatial axes of a tensor, as convolution and
// pooling have them: kernel_shape, strides, pads, dilations, auto_pad and
// ceil_mode. Throws Failure where they do not fit. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

// The windows along one axis: window i begins at i * stride - before, its taps
// are `dilation` apart.
struct Window {
  std::int64_t in = 0, out = 0;
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  // the padding

  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
  // From the first element that windows read to the last, and how far the last
  // window may begin behind the first.
  std::int64_t span() const { return (out - 1) * stride + extent(); }
  std::int64_t room() const { return in + before + after - extent(); }
  std::int64_t start(std::int64_t i) const { return i * stride - before; }
};
using Windows = std::vector<Window>;

// A half open range.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

// Taps of window `i` that lie in [0, end) of the axis.
inline Range taps_within(const Window& w, std::int64_t i, std::int64_t end) {
  const std::int64_t start = w.start(i);
  return {
      std::min(w.kernel,
               ceil_div(std::max<std::int64_t>(0, -start), w.dilation)),
      std::clamp<std::int64_t>(ceil_div(end - start, w.dilation), 0, w.kernel)};
}
inline Range taps_inside(const Window& w, std::int64_t i) {
  return taps_within(w, i, w.in);
}
// How many lie in the axis or the padding at its ends.
inline double padded_taps(const Window& w, std::int64_t i) {
  return static_cast<double>(taps_within(w, i, w.in + w.after).end);
}

// Windows whose tap `tap` lies inside the axis.
inline Range windows_with(const Window& w, std::int64_t tap) {
  const std::int64_t shift = w.before - tap * w.dilation;
  const std::int64_t begin =
      std::clamp<std::int64_t>(ceil_div(shift, w.stride), 0, w.out);
  return {begin, std::clamp<std::int64_t>(ceil_div(w.in + shift, w.stride),
                                          begin, w.out)};
}

// An attribute of one number for each of some places, in [least, 2^30].
class WindowInts {
 public:
  WindowInts(const Preparation& p, std::string_view name, std::int64_t least);
  // As if it were not written.
  explicit WindowInts(std::int64_t least) : least_(least) {}

  // The numbers of `count` places: `least` each where none are written.
  Ints of(const runtime::NodeContext& node, std::size_t count) const;

 private:
  std::string_view name_;
  std::int64_t least_;
  Ints written_;
};

enum class AutoPad : std::uint8_t { kNone, kSameUpper, kSameLower, kValid };

// The attributes of windows.
struct WindowRule {
  explicit WindowRule(const Preparation& p);
  bool is_same() const {
    return auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  }

  Ints kernel;  // empty where kernel_shape is not written
  AutoPad auto_pad;
  bool rounds_up;
  WindowInts strides, dilations;
  WindowInts pads;  // 0 where auto_pad is not kNone
};

// Windows without sizes of the output.
Windows plain_windows(Call& c, const WindowRule& rule, Shape spatial,
                      const Ints& kernel);

// The padding total where auto_pad is SAME_*, or the output's shape is given.
void split_padding(Window& w, std::int64_t total, bool more_at_end);

// The windows over axes 2 and up of `dims`.
Windows windows_of(Call& c, const WindowRule& rule, Shape dims,
                   const Ints& kernel);

// [batch, channels, sizes...]: the numbers of windows, or another size of them.
Dims dims_of(std::int64_t batch, std::int64_t channels, const Windows& windows,
             std::int64_t Window::*size = &Window::out);

// The sizes of the weights from axis 2, which they have, as kernel_shape must
// be where it is written.
Ints kernel_of_weights(Call& c, const WindowRule& rule, Shape weights);

}  // namespace ruleengine::kernels
