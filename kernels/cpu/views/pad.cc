// Ops that add elements around a tensor, or take them away.
#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/pads.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

// Which element of the axis comes to each place; -1: the constant.
Ints sources_of(const Call& c, std::int64_t size, const AxisPads& pads,
                PadMode mode) {
  const AxisSource source = source_of(c, size, pads, mode);
  Ints out(index_of(padded_size(size, pads)));
  Ticker tick(c.threads());
  for (std::int64_t i = 0; i < std::ssize(out); ++i) {
    tick();
    out[index_of(i)] = source.of(i, mode);
  }
  return out;
}

// Axes that are padded, in between joined to one each where they are not; the
// last one moves blocks of `inner` elements.
struct Padding {
  std::vector<Ints> sources;  // empty for an axis that stays as it is
  std::vector<Tensor> rooms;  // what they take, so that it is counted
  Dims sizes, steps;          // of the axes of the input
  std::int64_t inner = 1;
};

Padding padding_of(const Call& c, Shape dims, const Pads& pads, PadMode mode) {
  Padding out;
  std::size_t rank = dims.size();
  while (rank > 0 && pads[rank - 1].is_none()) {
    out.inner *= dims[--rank];
  }
  std::int64_t joined = 1;
  Dims sizes;
  const auto add = [&](std::int64_t size, const AxisPads& each) {
    const bool stays = each.is_none();
    if (!stays) {
      out.rooms.push_back(
          c.allocate(DataType::kInt64, Dims{padded_size(size, each)}));
    }
    out.sources.push_back(stays ? Ints() : sources_of(c, size, each, mode));
    sizes.push_back(size);
  };
  for (std::size_t i = 0; i < rank; ++i) {
    if (pads[i].is_none()) {
      joined *= dims[i];
      continue;
    }
    if (joined != 1) add(joined, {});
    joined = 1;
    add(dims[i], pads[i]);
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    out.sources.push_back({0});
  }
  out.sizes = sizes;
  out.steps = strides_of(sizes);
  return out;
}

// Neighbors that come from elements `step` apart; the constant where `from` is
// -1.
struct Stretch {
  std::int64_t at, from, step, size;
};

std::vector<Stretch> stretches_of(const Ints& sources) {
  std::vector<Stretch> out;
  for (std::int64_t i = 0; i < std::ssize(sources); ++i) {
    const std::int64_t source = sources[index_of(i)];
    if (!out.empty()) {
      Stretch& last = out.back();
      const std::int64_t step = last.size == 1 ? source - last.from : last.step;
      const bool is_near = last.from < 0 || source < 0 ? last.from == source
                                                       : std::abs(step) <= 1;
      if (is_near && source == last.from + step * last.size) {
        last.step = step;
        ++last.size;
        continue;
      }
    }
    out.push_back({i, source, 0, 1});
  }
  return out;
}

// One row along the last padded axis; all of it the constant if `from` is
// nullptr.
template <typename T>
void fill_row(std::span<const Stretch> stretches, std::int64_t inner,
              const T* from, T* to, const T& constant, Ticker& tick) {
  // Blocks of one turn, so that long ones end in time.
  const std::int64_t most = kGrain / std::min(inner, kGrain);
  for (const Stretch& s : stretches) {
    const bool is_constant = from == nullptr || s.from < 0;
    for (std::int64_t i = 0; i < s.size; i += most) {
      const std::int64_t count = std::min(most, s.size - i);
      tick(count * inner);
      T* at = to + (s.at + i) * inner;
      if (is_constant) {
        std::fill_n(at, count * inner, constant);
        continue;
      }
      const T* source = from + (s.from + i * s.step) * inner;
      if (s.step == 1) {
        std::copy_n(source, count * inner, at);
      } else {
        for (std::int64_t k = 0; k < count; ++k) {
          std::copy_n(source + k * s.step * inner, inner, at + k * inner);
        }
      }
    }
  }
}

template <typename T>
void fill_all(const Call& c, const Padding& padding, const T* from, T* to,
              const T& constant) {
  const std::size_t last = padding.sources.size() - 1;
  std::vector<StridedAxis> axes;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < last; ++i) {
    const auto size = std::ssize(padding.sources[i]);
    axes.push_back({size == 0 ? padding.sizes[i] : size, 0, 0});
    rows *= axes.back().size;
  }
  const std::int64_t row = std::ssize(padding.sources[last]) * padding.inner;
  const auto stretches = stretches_of(padding.sources[last]);
  // What they take is counted.
  const Tensor room =
      c.allocate(DataType::kInt64, Dims{std::ssize(stretches) * 4});
  c.threads().for_each(
      rows, kGrain / row, [&](std::int64_t begin, std::int64_t end) {
        Walk walk(axes, begin);
        Ticker tick(c.threads());
        for (std::int64_t i = begin; i < end; ++i, walk.next()) {
          std::int64_t place = 0;
          bool inside = true;
          for (std::size_t k = 0; k < last; ++k) {
            const Ints& sources = padding.sources[k];
            const std::int64_t at = walk.index(k);
            const std::int64_t source =
                sources.empty() ? at : sources[index_of(at)];
            inside = inside && source >= 0;
            place += source * padding.steps[k];
          }
          fill_row<T>(stretches, padding.inner,
                      inside ? from + place * padding.inner : nullptr,
                      to + i * row, constant, tick);
        }
      });
}

// Output 0: input 0 with pads. `constant`: one element of its type, or
// nullptr.
void pad_with(Call& c, const Pads& pads, PadMode mode, const Tensor* constant) {
  const Tensor& x = c.input(0);
  Tensor& out = c.output(0, x.dtype(), padded_shape(x.dims(), pads));
  if (out.count() == 0) return;
  dispatch_width(x.dtype(), [&]<typename T>() {
    const T value = constant == nullptr ? T() : *elements<T>(*constant);
    T* to = mutable_elements<T>(out);
    if (x.count() == 0 && mode == PadMode::kConstant) {
      fill(c, to, out.count(), value);
      return;
    }
    fill_all(c, padding_of(c, x.dims(), pads, mode), elements<T>(x), to, value);
  });
}

Op pad(const Preparation& p) {
  return [mode = pad_mode_of(p)](Call& c) {
    const Pads pads = pads_of(c);
    pad_with(
        c, pads, mode,
        c.has_input(2) ? &c.expect_count(2, 1, c.input(0).dtype()) : nullptr);
  };
}

}  // namespace

const KernelRows kPadRows = {
    {"", "Pad", pad, Adapt::kUnpack},
};

}  // namespace ruleengine::kernels
