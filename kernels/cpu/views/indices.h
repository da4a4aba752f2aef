// Where indices say that elements or slices of a tensor lie: what gathering and
// scattering share. All indices are checked before any element moves. Internal
// to kernels/cpu.
#pragma once

#include <algorithm>

#include "kernels/indexing.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {

// The indices of input 1, each in [-size, size), counted from 0.
Ints indices_up_to(const Call& c, std::int64_t size);

// GatherElements and ScatterElements: an index along one axis for each element
// of a tensor, whose other indices are its own.
class ElementPlaces {
 public:
  ElementPlaces(const Call& c, const Tensor& data, const Tensor& indices,
                std::int64_t axis);

  std::int64_t count() const { return along_.count(); }

  // f(place in the indices, place in the data), for [begin, end).
  template <typename F>
  void for_each(std::int64_t begin, std::int64_t end, F f) const {
    if (begin == end) return;
    dispatch(Indices(), along_.dtype(), [&]<typename T>() {
      const T* along = along_.data<T>();
      const StridedAxis& line = axes_.back();
      Walk walk({axes_.data(), axes_.size() - 1}, begin / line.size);
      for (std::int64_t i = begin; i < end; walk.next()) {
        const std::int64_t first = i % line.size;
        const std::int64_t last = std::min(end, i - first + line.size);
        std::int64_t from = walk.from() + first * line.from;
        for (; i < last; ++i, from += line.from) {
          const auto at = static_cast<std::int64_t>(along[i]);
          f(i, from + (at < 0 ? at + size_ : at) * step_);
        }
      }
    });
  }

 private:
  using Indices = Types<std::int64_t, std::int32_t>;

  Tensor along_;  // checked; negative ones count from the end
  std::int64_t size_ = 0, step_ = 1;
  std::vector<StridedAxis> axes_;
};

// GatherND and ScatterND: the last axis of the indices names a slice.
class SlicePlaces {
 public:
  SlicePlaces(const Call& c, const SliceShape& shape);

  std::int64_t count() const { return std::ssize(places_); }
  const Ints& all() const { return places_; }
  std::int64_t operator[](std::int64_t i) const { return places_[index_of(i)]; }
  // Elements of a slice.
  std::int64_t inner() const { return inner_; }

 private:
  Ints places_;
  std::int64_t inner_ = 1;
};

}  // namespace ruleengine::kernels
