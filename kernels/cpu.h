// The CPU as a backend. Constant data; any thread may ask.
#pragma once

#include <string>
#include <vector>

#include "core/ir/evaluator.h"
#include "runtime/backend.h"

namespace ruleengine::kernels {

const runtime::Backend& cpu();
// What folds nodes by its kernels: Model::evaluator.
const ir::Evaluator* cpu_evaluator();
// The ops that it has kernels for, sorted by domain and type. With "Scan-8"
// and the like.
std::vector<ir::Op> cpu_ops();

}  // namespace ruleengine::kernels
