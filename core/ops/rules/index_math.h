// Row-major index arithmetic on known shapes, shared by the folds and by the
// rules for elements. Shapes come from models: whoever multiplies sizes checks
// them with count_of first. Internal to core/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ruleengine::ops {

using Ints = std::vector<std::int64_t>;

// The product of `dims`, if none is negative and it is at most `limit`.
std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims,
                                     std::int64_t limit);
// The same without a limit but that of 64 bits.
std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims);

Ints strides_of(std::span<const std::int64_t> dims);
std::optional<Ints> broadcast_dims(std::span<const std::int64_t> a,
                                   std::span<const std::int64_t> b);
// Calls f(place in `target`, place in `dims`) for all elements of `target`, to
// which `dims` broadcasts.
template <typename F>
void for_each_broadcast(std::span<const std::int64_t> dims,
                        std::span<const std::int64_t> target, F f);

// Places of the box of size `dims` that starts at `starts` and walks by
// `steps`, in row-major order.
Ints box_places(std::span<const std::int64_t> shape, const Ints& starts,
                const Ints& steps, const Ints& dims);

// Places of the elements in the order of the transpose; none when `perm` is no
// permutation of the axes.
std::optional<Ints> transposed_places(std::span<const std::int64_t> shape,
                                      const Ints& perm);

// `axes` as flags of `rank` places; none when there is no such axis.
std::optional<std::vector<bool>> flags(const Ints& axes, std::size_t rank);

// Places that Gather along `axis` picks; none when an index is out of range.
std::optional<Ints> gathered_places(std::span<const std::int64_t> shape,
                                    std::size_t axis, const Ints& indices);

// --- implementation of the template -----------------------------------------

template <typename F>
void for_each_broadcast(std::span<const std::int64_t> dims,
                        std::span<const std::int64_t> target, F f) {
  const std::size_t rank = target.size();
  const std::size_t skip = rank - dims.size();
  Ints step(rank, 0);
  const Ints own = strides_of(dims);
  for (std::size_t i = skip; i < rank; ++i) {
    step[i] = dims[i - skip] == 1 ? 0 : own[i - skip];
  }
  Ints at(rank, 0);
  std::int64_t total = 1;
  for (std::int64_t d : target) total *= d;
  std::int64_t from = 0;
  for (std::int64_t to = 0; to < total; ++to) {
    f(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
    for (std::size_t i = rank; i-- > 0;) {
      from += step[i];
      if (++at[i] < target[i]) break;
      from -= step[i] * target[i];
      at[i] = 0;
    }
  }
}

}  // namespace ruleengine::ops
