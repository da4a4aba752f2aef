#include "kernels/shapes.h"

#include <algorithm>
#include <numeric>

namespace ruleengine::kernels {
namespace {

// `place` counted from 0; nullopt outside [-count, count).
std::optional<std::size_t> from_start(std::int64_t place, std::size_t count) {
  const auto n = static_cast<std::int64_t>(count);
  if (place < -n || place >= n) return std::nullopt;
  return index_of(place < 0 ? place + n : place);
}

std::string places_text(std::size_t count) {
  if (count == 0) return "none, since there is nothing to choose from";
  return std::to_string(-static_cast<std::int64_t>(count)) + " to " +
         std::to_string(count - 1);
}

}  // namespace

void not_computed(DataType dtype, std::initializer_list<DataType> known) {
  std::string all;
  for (const DataType each : known) {
    all += (all.empty() ? "" : ", ") + std::string(ir::data_type_name(each));
  }
  fail("the kernel does not compute in this type", all,
       std::string(ir::data_type_name(dtype)));
}

Dims broadcast(Shape a, Shape b) {
  if (runtime::is_same_shape(a, b)) return Dims(a);
  const Shape both[] = {a, b};
  return broadcast(both);
}

Dims broadcast(std::span<const Shape> shapes) {
  std::size_t rank = 0;
  for (const Shape s : shapes) rank = std::max(rank, s.size());
  Dims out(rank, 1);
  for (const Shape s : shapes) {
    const std::size_t skip = rank - s.size();
    for (std::size_t i = 0; i < s.size(); ++i) {
      std::int64_t& size = out[skip + i];
      if (s[i] == 1 || s[i] == size) continue;
      if (size != 1) {
        fail("shapes do not broadcast to each other",
             "sizes that are equal or 1",
             std::to_string(size) + " and " + std::to_string(s[i]));
      }
      size = s[i];
    }
  }
  return out;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  if (const auto found = from_start(axis, rank)) return *found;
  fail("an axis is out of range", places_text(rank), std::to_string(axis));
}

std::size_t AttributeAxis::of(const Call& c, std::size_t rank) const {
  if (const auto found = from_start(axis_, rank)) return *found;
  c.wrong_attribute(name_, places_text(rank));
}

std::size_t input_place(const Call& c, std::size_t i, std::size_t count) {
  const std::int64_t place = c.scalar_int(i);
  if (const auto found = from_start(place, count)) return *found;
  c.wrong_value(i, places_text(count), std::to_string(place));
}

std::vector<std::size_t> input_axes(const Call& c, std::size_t i,
                                    std::size_t count, std::size_t rank) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has_input(i)) axes = c.ints(i);
  std::vector<std::size_t> out;
  std::vector<bool> named(rank);
  for (const std::int64_t each : axes) {
    const std::size_t axis = axis_of(each, rank);
    if (named[axis]) c.wrong_value(i, "each axis once", std::to_string(axis));
    named[axis] = true;
    out.push_back(axis);
  }
  return out;
}

std::vector<std::size_t> axes_of(const Ints& axes, std::size_t rank) {
  std::vector<std::size_t> out;
  for (const std::int64_t axis : axes) out.push_back(axis_of(axis, rank));
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Ints ints_up_to(const Call& c, std::size_t i, std::int64_t most) {
  Ints all = c.ints(i);
  for (const std::int64_t each : all) {
    if (each < 0 || each > most) {
      c.wrong_value(i, "0 to " + std::to_string(most), std::to_string(each));
    }
  }
  return all;
}

void expect_broadcast(const Call& c, std::size_t i, const Tensor& t,
                      Shape target) {
  if (std::ranges::equal(broadcast(t.dims(), target), target)) return;
  c.wrong_shape(i, "one that broadcasts to " + runtime::shape_text(target));
}

Dims strides_of(Shape dims) {
  Dims out(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) out[i - 1] = out[i] * dims[i];
  return out;
}

Dims broadcast_strides(Shape dims, Shape target) {
  const Dims own = strides_of(dims);
  const std::size_t skip = target.size() - dims.size();
  Dims out(target.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    out[skip + i] = dims[i] == 1 ? 0 : own[i];
  }
  return out;
}

bool is_broadcast(Shape dims, Shape target) {
  if (dims.size() > target.size()) return false;
  return std::ranges::equal(
      dims, target.last(dims.size()),
      [](std::int64_t own, std::int64_t to) { return own == 1 || own == to; });
}

std::int64_t product(Shape dims, std::size_t begin, std::size_t end) {
  std::int64_t out = 1;
  for (std::size_t i = begin; i < end; ++i) out *= dims[i];
  return out;
}

}  // namespace ruleengine::kernels
