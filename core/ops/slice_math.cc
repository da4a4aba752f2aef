#include "core/ops/slice_math.h"

#include <algorithm>
#include <limits>

namespace ruleengine::ops {

using ir::Dim;
using ir::DimTable;

namespace {

// Exporters write "to the end" as one of the largest integers.
constexpr std::int64_t kEnd = std::numeric_limits<std::int32_t>::max();

// A bound of a forward slice, as a place in [0, size].
Dim place(DimTable& dims, Dim size, Dim bound) {
  if (bound.known() && bound.size() >= kEnd) return size;
  if (bound.known() && bound.size() <= -kEnd) return Dim(0);
  if (bound.known() && bound.size() < 0) {
    return dims.max(dims.add(size, bound), Dim(0));
  }
  if (dims.nonnegative(bound)) return dims.min(bound, size);
  // Counted from the end where it is below 0 for all sizes: -S may be 0, which
  // is the front, and the end only of what has no elements then.
  if (dims.nonnegative(dims.sub(Dim(-1), bound)) ||
      (dims.nonnegative(dims.neg(bound)) && dims.exact_div(size, bound))) {
    return dims.max(dims.add(size, bound), Dim(0));
  }
  return kUnknown;
}

Dim forward_length(DimTable& dims, Dim size, Dim start, Dim end) {
  const bool to_end = end.known() && end.size() >= kEnd;
  const bool from_front =
      dims.nonnegative(start) && !(start.known() && start.size() >= kEnd);
  if (from_front && !to_end && dims.nonnegative(dims.sub(end, start))) {
    // Cut short by the size alone, so min(S, 64 - P) of [P : P + S].
    return dims.min(dims.sub(end, start),
                    dims.max(dims.sub(size, start), Dim(0)));
  }
  // A start beyond the size leaves nothing, clamped or not.
  const Dim from = from_front ? start : place(dims, size, start);
  const Dim to = place(dims, size, end);
  if (from == kUnknown || to == kUnknown) return kUnknown;
  return dims.max(dims.sub(to, from), Dim(0));
}

}  // namespace

std::optional<SliceRange> slice_range(std::int64_t size, std::int64_t start,
                                      std::int64_t end, std::int64_t step) {
  const bool largest =
      end == kEnd || end == std::numeric_limits<std::int64_t>::max();
  if (step == 0 || (step < 0 && largest)) return std::nullopt;
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto clamp = [&](std::int64_t bound) {
    // bound + size cannot overflow: bound < 0 <= size.
    if (bound < 0) bound += size;
    return std::clamp(bound, low, std::max(low, high));
  };
  SliceRange out;
  out.start = clamp(start);
  if (step < 0) out.start = std::max<std::int64_t>(out.start, 0);
  const std::int64_t stop = clamp(end);
  if (size == 0) return out;
  if (step > 0 && stop > out.start) {
    out.count = (stop - out.start - 1) / step + 1;
  } else if (step < 0 && stop < out.start) {
    // -(step) may overflow; divide with the signs as they are.
    out.count = (stop - out.start + 1) / step + 1;
  }
  return out;
}

Dim slice_length(DimTable& dims, Dim size, Dim start, Dim end,
                 std::int64_t step) {
  if (step == 0 || start == kUnknown || end == kUnknown) return kUnknown;
  if (size.known() && start.known() && end.known()) {
    const auto range = slice_range(size.size(), start.size(), end.size(), step);
    return range ? Dim(range->count) : kUnknown;
  }
  if (step < 0) {
    const bool whole =
        (start == Dim(-1) || (start.known() && start.size() >= kEnd)) &&
        end.known() && end.size() <= -kEnd;
    if (!whole) return kUnknown;
    return step == -1 ? size : dims.ceil_div(size, Dim(-step));
  }
  const Dim length = forward_length(dims, size, start, end);
  if (length == kUnknown) return length;
  return step == 1 ? length : dims.ceil_div(length, Dim(step));
}

}  // namespace ruleengine::ops
