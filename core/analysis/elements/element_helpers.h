// What the rules for elements share. Internal to core/analysis.
#ifndef RULEENGINE_CORE_ANALYSIS_ELEMENTS_ELEMENT_HELPERS_H_
#define RULEENGINE_CORE_ANALYSIS_ELEMENTS_ELEMENT_HELPERS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "core/analysis/kernels/index_math.h"
#include "core/analysis/types/rules.h"

namespace ruleengine::analysis {

using Elements = std::vector<ir::Dim>;

MaybeElements copied(const NodeView& v, std::size_t i);

// The shape of an input whose elements are known.
Ints shape_of(const NodeView& v, std::size_t i);

Elements picked(std::span<const ir::Dim> from, const Ints& places);

// Places in input `i` for every element of the broadcast to `dims`.
std::vector<std::size_t> spread(const NodeView& v, std::size_t i,
                                const Ints& dims);

// The broadcast of the first `n` inputs' shapes; none when one is not followed.
std::optional<Ints> common_shape(const NodeView& v, std::size_t n);

// The number of elements that the output's type says.
std::optional<std::size_t> wanted(const NodeView& v);

// The rules that compute, in element_math.cc, by name.
std::span<const ElementRule> element_math_rules();

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_ELEMENTS_ELEMENT_HELPERS_H_
