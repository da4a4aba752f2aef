// The arguments of indexed.cu, which moves slices between a tensor and the
// places in it that indices name.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/strided.h"

namespace ruleengine::kernels::device {

constexpr unsigned kIndexedThreads = 256;  // of a block, at most

// Each item names a slice of a tensor: by where the item is among the others,
// and by indices. A negative index counts from the end. An index beyond its
// axis sets *beyond to 1, and the item has no slice. Places are counted in
// slices.
struct PlacesArgs {
  const void* indices;   // [count, depth], i32 or i64
  std::int32_t* beyond;  // of the device, 0 before; never nullptr
  std::int64_t count;    // of items
  // The axes of the items, and from one slice to the next along them.
  std::int64_t sizes[kMaxRank], steps[kMaxRank];
  // The same of the axes that indices are of.
  std::int64_t index_sizes[kMaxRank], index_steps[kMaxRank];
  std::int32_t rank, depth;
  bool is_wide;  // whether indices are i64
};

// gather_at_1 gather_at_2 gather_at_4 gather_at_8 gather_at_16, by the bytes of
// a unit: the output is [count, inner] and has the slices that items name, or
// zeros. Up to kIndexedThreads threads, as many as the output has units.
struct GatherAtArgs {
  PlacesArgs places;
  const void* in;  // of slices of `inner` units
  void* out;
  std::int64_t inner;
};

// mark_last: the mark of each slice becomes the number of the last item that
// names it, counted from 1. Marks are 0 before. As many threads as items.
struct MarkArgs {
  PlacesArgs places;
  std::uint32_t* marks;
};

// scatter_at_1 to scatter_at_16: the slices that items name become those of
// `updates`, [count, inner]; where several items name one, that of the last.
struct ScatterAtArgs {
  PlacesArgs places;
  const void* updates;
  void* out;
  const std::uint32_t* marks;  // nullptr: no two items name the same slice
  std::int64_t inner;
};

}  // namespace ruleengine::kernels::device
