// Sizes: dimensions as values. A rule that builds a Reshape for a symbolic shape
// needs numbers at run time; this builds them from what everybody can see, the
// graph's inputs: a number becomes a constant, a symbol that is an axis of an
// input is gathered from its Shape; sums, products and quotients are computed
// from those.
#ifndef RULEENGINE_CORE_REWRITE_SIZES_H_
#define RULEENGINE_CORE_REWRITE_SIZES_H_

#include <span>

#include "core/ir/dim.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// One int64[n] value with the n `dims`, built through `edit`; a Rejection when
// some dimension cannot be computed from the inputs.
Result<Edit::Built> build_sizes(Edit& edit, std::span<const ir::Dim> dims);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_SIZES_H_
