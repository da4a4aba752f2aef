// How long a slice is, with symbolic sizes and bounds.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ops/node_view.h"

namespace ruleengine::ops {

// Elements of [start:end:step] of an axis of size `size`, by ONNX's clamping;
// kUnknown when it cannot be said.
ir::Dim slice_length(ir::DimTable& dims, ir::Dim size, ir::Dim start,
                     ir::Dim end, std::int64_t step);

// All numbers known: where the slice starts and how many elements it has. None
// for a step of 0, and for a backward slice to the largest integer: nothing is
// left by the standard's clamping, but ONNX Runtime takes it for "to the end".
struct SliceRange {
  std::int64_t start = 0;
  std::int64_t count = 0;
};
std::optional<SliceRange> slice_range(std::int64_t size, std::int64_t start,
                                      std::int64_t end, std::int64_t step);

}  // namespace ruleengine::ops
