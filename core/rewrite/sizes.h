// Sizes: computes dimensions as values at run time, for a Reshape to a symbolic
// shape. A number becomes a constant; a symbol that is an axis of a graph input
// is read from its Shape; sums, products and quotients are computed from
// those.
#pragma once

#include <span>
#include <vector>

#include "core/ir/dim.h"
#include "core/ir/type.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// One int64[n] value with the n `dims`, built through `edit`; a Rejection if a
// dimension cannot be computed from the inputs.
Result<Edit::Built> build_sizes(Edit& edit, std::span<const ir::Dim> dims);

// The shape input for a Reshape, where 0 copies the size of the same axis and
// -1 is the rest. Without `allow_zero` a size that is computed as 0 copies too.
struct ReshapeSizes {
  std::vector<ir::Dim> dims;
  bool allow_zero = false;
};
// The sizes for a Reshape to `dims`, in which 0 and -1 mean the same. `type` is
// that of its input; nullptr if unknown. The first of these that is right:
// 1. Each axis whose size does not change is copied. All other sizes are known,
//    or a single one is the rest and no axis is copied.
// 2. Each axis whose size does not change is copied. The sizes that are
//    computed are 0 only where the size that they would copy is 0 too.
// 3. No axis is copied, and `allow_zero` is set.
// If `dims` has a -1, or copies an unknown size, `allow_zero` cannot be set:
// the result is then wrong where a computed size is 0.
ReshapeSizes reshape_sizes(ir::DimTable& table, const ir::Type* type,
                           std::span<const ir::Dim> dims);

}  // namespace ruleengine::rewrite
