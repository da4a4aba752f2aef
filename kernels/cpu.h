// The kernels that run on the CPU. Constant data; any thread may ask.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/ir/evaluator.h"
#include "runtime/kernel.h"

namespace ruleengine::kernels {

// nullptr where the op has none.
const runtime::Kernel* find_cpu_kernel(std::string_view domain,
                                       std::string_view type);
// What folds nodes by them: Model::evaluator.
const ir::Evaluator* cpu_evaluator();
// Sorted by domain and type.
std::vector<const runtime::Kernel*> all_cpu_kernels();

}  // namespace ruleengine::kernels
