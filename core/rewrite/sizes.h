// Sizes: computes dimensions as values at run time, for a Reshape to a symbolic
// shape. A number becomes a constant; a symbol that is an axis of a graph input
// is read from its Shape; sums, products and quotients are computed from
// those.
#ifndef RULEENGINE_CORE_REWRITE_SIZES_H_
#define RULEENGINE_CORE_REWRITE_SIZES_H_

#include <span>
#include <vector>

#include "core/ir/dim.h"
#include "core/ir/type.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// One int64[n] value with the n `dims`, built through `edit`; a Rejection if a
// dimension cannot be computed from the inputs.
Result<Edit::Built> build_sizes(Edit& edit, std::span<const ir::Dim> dims);

// The shape input for a Reshape to `dims`. In `dims`, 0 copies the size of the
// same axis and -1 is the rest, as in Reshape. To compute as little as
// possible, an axis with an unchanged size becomes 0, and a single other axis
// of unknown size becomes -1. `allow_zero` is set if a size is computed that
// may be 0 while the old size of the same axis is not: without that attribute
// Reshape would copy the old one.
struct ReshapeSizes {
  std::vector<ir::Dim> dims;
  bool allow_zero = false;
};
// `type` is that of the input of the Reshape; nullptr if unknown.
ReshapeSizes reshape_sizes(ir::DimTable& table, const ir::Type* type,
                           std::span<const ir::Dim> dims);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_SIZES_H_
