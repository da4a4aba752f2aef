// What verbs need to run models and to compare them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "bindings/cli/line.h"
#include "bindings/cli/options.h"
#include "core/base/result.h"
#include "core/engine/verify.h"
#include "core/ir/model.h"
#include "runtime/executor.h"
#include "runtime/npz.h"
#include "runtime/random_inputs.h"

namespace ruleengine::cli {

// The arrays of --inputs, as the types that the model declares; none without
// the option.
Result<runtime::NamedData> read_inputs(const ir::Model& model,
                                       const Options& options);

// Bytes of --limit-tensors.
std::size_t tensor_limit(const Options& options);

// What --dims says: NAME=SIZE, and NAME=NAME if dimensions may be tied.
Result<engine::FixedSizes> parse_dims(const Options& options, bool may_tie);

// --seed and --dims.
Result<runtime::InputOptions> input_options(const Options& options);

// Random inputs with which the model runs, by --seed and --dims.
Result<runtime::NamedData> draw_inputs(runtime::Executor& executor,
                                       const ir::Model& model,
                                       const Options& options);

// The kernels of the CPU, and --threads, --limit-tensors, --limit-time and
// --seed.
runtime::ExecutorOptions executor_options(const Options& options);

// --inputs, --dims, --seed and --threads of verbs that run models.
void add_inputs(VerbLine& verb, Options& options,
                const char* dims = "sizes of inputs: batch=2,seq=7");

// Runs models with the kernels of the CPU: on --inputs, or on random ones. The
// options must outlive it. threads: 0 is one for each core.
engine::CompareModels compare_by_kernels(const Options& options, int threads);

}  // namespace ruleengine::cli
