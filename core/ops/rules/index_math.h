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

// The product of `dims`, if none is negative and it fits into 64 bits.
std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims);

Ints strides_of(std::span<const std::int64_t> dims);

// Places in a tensor of the shape `dims` for every element of its broadcast to
// `target`.
Ints broadcast_places(std::span<const std::int64_t> dims,
                      std::span<const std::int64_t> target);

// Places of the box of size `dims` that starts at `starts` and walks by
// `steps`, in row-major order.
Ints box_places(std::span<const std::int64_t> shape, const Ints& starts,
                const Ints& steps, const Ints& dims);

// Places of the elements in the order of the transpose by a permutation.
Ints transposed_places(std::span<const std::int64_t> shape, const Ints& perm);

// `axes` as flags of `rank` places; none when there is no such axis.
std::optional<std::vector<bool>> flags(const Ints& axes, std::size_t rank);

// Whether `perm` has each of `rank` axes once.
bool is_permutation(const Ints& perm, std::size_t rank);

// Places that Gather along `axis` picks; none when an index is out of range.
std::optional<Ints> gathered_places(std::span<const std::int64_t> shape,
                                    std::size_t axis, const Ints& indices);

}  // namespace ruleengine::ops
