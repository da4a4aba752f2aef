#include "core/ops/rules/index_math.h"

#include <algorithm>

#include "core/ir/shapes.h"

namespace ruleengine::ops {

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims) {
  std::int64_t out = 1;
  bool empty = false;
  for (std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty = empty || d == 0;
    if (d != 0 && __builtin_mul_overflow(out, d, &out)) return std::nullopt;
  }
  return empty ? 0 : out;
}

Ints strides_of(std::span<const std::int64_t> dims) {
  Ints out(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) {
    // Wraps only where a size of 0 leaves nothing to walk.
    (void)__builtin_mul_overflow(out[i], dims[i], &out[i - 1]);
  }
  return out;
}

namespace {

// The places of the elements of `dims` in row-major order, where the first one
// is at `place` and the next one along an axis is a step of that axis away.
Ints walk(std::span<const std::int64_t> dims, const Ints& steps,
          std::int64_t place) {
  const auto total = count_of(dims).value_or(0);
  Ints out, at(dims.size(), 0);
  out.reserve(static_cast<std::size_t>(total));
  for (std::int64_t n = 0; n < total; ++n) {
    out.push_back(place);
    for (std::size_t i = dims.size(); i-- > 0;) {
      place += steps[i];
      if (++at[i] < dims[i]) break;
      place -= steps[i] * dims[i];
      at[i] = 0;
    }
  }
  return out;
}

}  // namespace

Ints broadcast_places(std::span<const std::int64_t> dims,
                      std::span<const std::int64_t> target) {
  const Ints own = strides_of(dims);
  const std::size_t skip = target.size() - dims.size();
  Ints steps(target.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) steps[skip + i] = own[i];
  }
  return walk(target, steps, 0);
}

Ints box_places(std::span<const std::int64_t> shape, const Ints& starts,
                const Ints& steps, const Ints& dims) {
  if (count_of(dims).value_or(0) == 0) return {};
  Ints strides = strides_of(shape);
  std::int64_t place = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    place += starts[i] * strides[i];
    strides[i] *= steps[i];
  }
  return walk(dims, strides, place);
}

Ints transposed_places(std::span<const std::int64_t> shape, const Ints& perm) {
  const Ints strides = strides_of(shape);
  Ints dims, steps;
  for (std::int64_t axis : perm) {
    const std::size_t place = *ir::place_of_axis(axis, shape.size());
    dims.push_back(shape[place]);
    steps.push_back(strides[place]);
  }
  return walk(dims, steps, 0);
}

std::optional<std::vector<bool>> flags(const Ints& axes, std::size_t rank) {
  std::vector<bool> out(rank);
  for (std::int64_t axis : axes) {
    const auto place = ir::place_of_axis(axis, rank);
    if (!place) return std::nullopt;
    out[*place] = true;
  }
  return out;
}

bool is_permutation(const Ints& perm, std::size_t rank) {
  const auto seen = flags(perm, rank);
  return seen && perm.size() == rank && std::ranges::count(*seen, false) == 0;
}

std::optional<Ints> gathered_places(std::span<const std::int64_t> shape,
                                    std::size_t axis, const Ints& indices) {
  const std::int64_t size = shape[axis];
  const std::int64_t outer = count_of(shape.first(axis)).value_or(0);
  const std::int64_t inner = count_of(shape.subspan(axis + 1)).value_or(0);
  Ints out;
  if (inner == 0 || indices.empty()) return out;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t index : indices) {
      if (index < -size || index >= size) return std::nullopt;
      const std::int64_t at = o * size + (index < 0 ? index + size : index);
      for (std::int64_t i = 0; i < inner; ++i) out.push_back(at * inner + i);
    }
  }
  return out;
}

}  // namespace ruleengine::ops
