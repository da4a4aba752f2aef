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

// The shape input for a Reshape, where 0 copies the size of the same axis and
// -1 is the rest. Without `allow_zero` a size that is computed as 0 copies too.
struct ReshapeSizes {
  std::vector<ir::Dim> dims;
  bool allow_zero = false;
};
// The sizes for a Reshape to `dims`, in which 0 and -1 mean the same. `type` is
// that of its input; nullptr if unknown. What computes least is taken:
// 1. Axes whose size is unchanged are copied, and nothing is computed, or a
//    single size as -1 if no axis is copied.
// 2. The same, with sizes computed that are 0 only where what they would copy
//    is 0 too.
// 3. No axis is copied, and `allow_zero` is set. Where `dims` asks for the
// rest,
//    or for a copy of an unknown size, it is not: then no size may be 0.
ReshapeSizes reshape_sizes(ir::DimTable& table, const ir::Type* type,
                           std::span<const ir::Dim> dims);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_SIZES_H_
