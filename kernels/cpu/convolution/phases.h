// An image laid out so that a tap of all windows is one line without borders:
// with its padding, and what a stride skips apart. So narrow images fill
// vectors, too. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/cpu/convolution/windows.h"

namespace ruleengine::kernels {

// Elements of a layout, about: it and the sums stay in the cache.
inline constexpr std::int64_t kBand = 1 << 13;
// Sums are of whole vectors, so of a multiple of it.
inline constexpr std::int64_t kSumStep = 16;

// An axis of the layout. What lies a stride apart in the image is a line of
// its own, a phase; only those that taps read are there.
struct PhaseAxis {
  explicit PhaseAxis(const Window& window)
      : w(window),
        out(w.out),
        rows(w.out),
        halo((w.kernel - 1) * w.dilation / w.stride),
        phases(std::min(w.kernel, w.stride / std::gcd(w.stride, w.dilation))) {}

  std::int64_t size() const { return w.out + halo; }  // of a phase
  std::int64_t place(std::int64_t phase, std::int64_t i) const {
    return phase * phase_step + i * step;
  }
  std::int64_t place_of_tap(std::int64_t k) const {
    return place(k % phases, k * w.dilation / w.stride);
  }
  // Where in the image a phase begins, if it has padding in front.
  std::int64_t start(std::int64_t phase) const {
    return phase * w.dilation % w.stride - w.before;
  }
  // The elements of a phase that lie in the image.
  Range inside(std::int64_t phase) const {
    return windows_with({.in = w.in,
                         .out = size(),
                         .stride = w.stride,
                         .before = -start(phase)},
                        0);
  }

  Window w;                    // of a band
  std::int64_t out;            // windows of all bands
  std::int64_t rows;           // of the output
  std::int64_t each = 1;       // rows of a window
  std::int64_t next_sums = 0;  // from a row of a window to the next
  std::int64_t first = 0;      // the band's first window
  std::int64_t halo, phases;
  std::int64_t step = 1, phase_step = 1;
};

struct LinePiece {
  std::int64_t from, to, size;
};

// A band of windows.
class PhaseBand {
 public:
  explicit PhaseBand(std::vector<PhaseAxis> axes) : axes_(std::move(axes)) {
    for (const PhaseAxis& axis : axes_) {
      windows += (axis.w.out - 1) * axis.step;
      const bool is_last = &axis == &axes_.back();
      add_image(axis, is_last);
      add_sums(axis, is_last);
    }
  }

  // From the image to the layout, and from the sums to the output.
  std::vector<LinePiece> image{{0, 0, 1}}, sums{{0, 0, 1}};
  // Sums, with those between the lines.
  std::int64_t windows = 1;

 private:
  void add_image(const PhaseAxis& axis, bool is_last) {
    std::vector<LinePiece> all;
    for (const LinePiece& outer : image) {
      for (std::int64_t phase = 0; phase < axis.phases; ++phase) {
        const Range range = axis.inside(phase);
        const std::int64_t size = is_last ? range.size() : 1;
        for (std::int64_t i = range.begin; i < range.end; i += size) {
          all.push_back(
              {outer.from * axis.w.in + axis.start(phase) + i * axis.w.stride,
               outer.to + axis.place(phase, i), size});
        }
      }
    }
    image.swap(all);
  }
  void add_sums(const PhaseAxis& axis, bool is_last) {
    std::vector<LinePiece> all;
    const std::int64_t size = is_last ? axis.w.out : 1;
    const std::int64_t end =
        std::min((axis.first + axis.w.out) * axis.each, axis.rows);
    for (const LinePiece& outer : sums) {
      for (std::int64_t i = axis.first * axis.each; i < end; i += size) {
        all.push_back({outer.from + (i / axis.each - axis.first) * axis.step +
                           i % axis.each * axis.next_sums,
                       outer.to * axis.rows + i, size});
      }
    }
    sums.swap(all);
  }

  std::vector<PhaseAxis> axes_;
};

class PhaseLayout {
 public:
  // Where windows have more taps than `few`, those of two rows of the output
  // are one, if they read the same rows of the image: each is read once.
  PhaseLayout(Windows windows, std::int64_t few) {
    // Axes that hold nothing would make the lines short.
    std::erase_if(windows, [](const Window& w) {
      return w.in == 1 && w.out == 1 && w.kernel == 1 && w.before == 0;
    });
    if (windows.empty()) windows.push_back({.in = 1, .out = 1});
    for (const Window& w : windows) axes_.emplace_back(w);
    pair_rows(few);
    while (cut_ + 1 < axes_.size() && axes_[cut_].out == 1) ++cut_;
    double lines = 1, all = 1, flat = 1, image = 1, taps = 1, out = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const PhaseAxis& axis = axes_[i];
      const auto size = static_cast<double>(axis.size());
      all *= static_cast<double>(axis.phases) * size;
      lines *= static_cast<double>(axis.phases) * (i == cut_ ? 1 : size);
      flat *= i <= cut_ ? static_cast<double>(axis.out) : size;
      image *= static_cast<double>(axis.w.in);
      taps *= static_cast<double>(axis.w.kernel);
      out *= static_cast<double>(axis.out);
    }
    pays_ = all <= std::min(out * taps, 4 * (image + out) + kBand) &&
            flat <= 8 * out + kBand;
    if (!pays_) return;
    // Not so few windows that most of what a band reads is the next one's, too.
    PhaseAxis& cut = axes_[cut_];
    cut.w.out = std::min(
        cut.out, std::max(static_cast<std::int64_t>(kBand / lines) - cut.halo,
                          cut.halo + 1));
    std::int64_t count = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      axes_[i].step = count;
      count *= axes_[i].size();
    }
    for (PhaseAxis& axis : axes_) {
      axis.phase_step = count;
      count *= axis.phases;
      std::vector<std::int64_t> places;
      for (const std::int64_t place : taps_) {
        for (std::int64_t k = 0; k < axis.w.kernel; ++k) {
          places.push_back(place + axis.place_of_tap(k));
        }
      }
      taps_.swap(places);
    }
    size_ = (count / kSumStep + 2) * kSumStep;
    for (PhaseAxis& axis : axes_) axis.next_sums = size_;
  }

  // Not where padding or dilation are far larger than the image, so that most
  // of the layout would be nothing.
  bool pays() const { return pays_; }
  // Elements of the image, and of the sums of each row of a window, with what
  // lies behind them.
  std::int64_t size() const { return size_; }
  std::int64_t stride() const { return axes_.back().w.stride; }  // of lines
  // The taps of the first window, in blocks: those that only its first row
  // has, those of both, and as many that only the second one has.
  const std::vector<std::int64_t>& taps() const { return taps_; }
  std::int64_t block() const { return block_; }
  std::int64_t own() const { return own_; }
  std::int64_t rows() const { return own_ > 0 ? 2 : 1; }  // of a window

  std::int64_t bands() const {
    return ceil_div(axes_[cut_].out, axes_[cut_].w.out);
  }
  PhaseBand band(std::int64_t i) const {
    std::vector<PhaseAxis> axes = axes_;
    PhaseAxis& cut = axes[cut_];
    cut.first = i * cut.w.out;
    cut.w.before -= cut.first * cut.w.stride;
    cut.w.out = std::min(cut.w.out, cut.out - cut.first);
    return PhaseBand(std::move(axes));
  }

 private:
  void pair_rows(std::int64_t few) {
    double taps = 1;
    for (const PhaseAxis& axis : axes_) {
      taps *= static_cast<double>(axis.w.kernel);
    }
    if (axes_.size() < 2 || taps <= static_cast<double>(few)) return;
    PhaseAxis& axis = axes_[axes_.size() - 2];
    Window w = axis.w;
    if (w.stride != w.dilation || w.kernel == 1 || w.out == 1) return;
    const std::int64_t rows = w.out;
    w.out = ceil_div(rows, 2);
    w.stride *= 2;
    ++w.kernel;
    axis = PhaseAxis(w);
    axis.rows = rows;
    axis.each = 2;
    own_ = axes_.back().w.kernel;
    block_ = own_ * w.kernel;
  }

  std::vector<PhaseAxis> axes_;
  std::size_t cut_ = 0;  // the axis that is cut into bands
  bool pays_ = true;
  std::int64_t size_ = 0, own_ = 0, block_ = 0;
  std::vector<std::int64_t> taps_ = {0};
};

}  // namespace ruleengine::kernels
