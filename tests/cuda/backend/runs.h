// Models in both places: on the CPU, and on the stand-ins for a GPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/ir/model.h"
#include "runtime/executor.h"
#include "tests/cuda/standin/standin.h"

namespace ruleengine::kernels {

std::shared_ptr<const ir::Model> model_of(std::string_view text);
std::unique_ptr<runtime::Executor> executor_of(const ir::Model& model,
                                               bool on_gpu,
                                               bool runs_often = false);
// What programs may not do and did, since the last call.
std::string misuse();

// Runs a model in both places and compares, on other numbers each time; gives
// what the last run on the GPU called.
standin::Counts check_runs(const ir::Model& model, int runs = 1);

}  // namespace ruleengine::kernels
