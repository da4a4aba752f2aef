// Sizes: dimensions as values. A rule that builds a Reshape for a symbolic shape
// needs numbers at run time; this builds them from what everybody can see, the
// graph's inputs: a number becomes a constant, a symbol that is an axis of an
// input is gathered from its Shape; sums, products and quotients are computed
// from those.
#ifndef RULEENGINE_CORE_REWRITE_SIZES_H_
#define RULEENGINE_CORE_REWRITE_SIZES_H_

#include <span>
#include <vector>

#include "core/ir/dim.h"
#include "core/ir/type.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// One int64[n] value with the n `dims`, built through `edit`; a Rejection when
// some dimension cannot be computed from the inputs.
Result<Edit::Built> build_sizes(Edit& edit, std::span<const ir::Dim> dims);

// What a Reshape is told to give `dims`, each 0 that means the size at its place
// and -1 that means the rest as it is. An axis that stays where it is, is copied,
// and a single other one of unknown size is the rest: neither has to be computed,
// and a size that is 0 at run time means what it says. Where sizes must be
// computed, `allow_zero` is the Reshape's attribute, without which a computed 0
// would copy the size at its place.
struct ReshapeSizes {
  std::vector<ir::Dim> dims;
  bool allow_zero = false;
};
// `type` is that of what is reshaped; nullptr when it is not known.
ReshapeSizes reshape_sizes(ir::DimTable& table, const ir::Type* type,
                           std::span<const ir::Dim> dims);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_SIZES_H_
