// Sizes that a user gives to the named dimensions of a model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::engine {

// By the name of a dimension: its size, or the name of the dimension that it is
// equal to.
using FixedSizes =
    std::map<std::string, std::variant<std::int64_t, std::string>>;

// Writes the sizes into the declared types of the model; "past + 1" is
// computed. Types of sequences and optionals stay as they are, and so do
// functions: their names are their own. kUsage for a name that the model does
// not have, for names that are equal to each other in a circle, for a size
// below 0, and for sizes that contradict an op or an initializer.
Status fix_sizes(ir::Model& model, const FixedSizes& sizes);

}  // namespace ruleengine::engine
