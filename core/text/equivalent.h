// Whether two models mean the same. Ignored are names of values and nodes, the
// order of nodes and of the inputs of commutative ops, whether a default or a
// constant is written as attribute, initializer or Constant node, absent inputs
// at the end, unread optional outputs, unused constants and functions, and
// versions of opsets. Compared are graph inputs and outputs by position, name
// and declared type, constants by bits, and the number of equal nodes. For rule
// examples and tests. Reads only; linear but for sorting.
#pragma once

#include <optional>
#include <string>

#include "core/ir/model.h"

namespace ruleengine::text {

// The first difference, in one line; none when the models are equivalent.
std::optional<std::string> difference(const ir::Model& expected,
                                      const ir::Model& found);

}  // namespace ruleengine::text
