// The inputs of a run against what the model declares.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/ir/model.h"
#include "runtime/tensor.h"

namespace ruleengine::runtime {

// The values of the graph inputs, in their order; absent where the default of
// the model is to be used. Throws Failure: a name that no input has, an input
// that is missing, another element type, rank or size than declared, or two
// sizes for one named dimension.
std::vector<Datum> bind_inputs(
    const ir::Model& model,
    const std::vector<std::pair<std::string, Datum>>& given);

}  // namespace ruleengine::runtime
