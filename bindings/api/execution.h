// What runs models: the kernels of the CPU or of a GPU, on inputs of a file or
// random ones.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bindings/api/limits.h"
#include "core/base/result.h"
#include "core/engine/verify.h"
#include "core/ir/model.h"
#include "runtime/compare.h"
#include "runtime/executor.h"
#include "runtime/npz.h"
#include "runtime/random_inputs.h"

namespace ruleengine::api {

struct ExecutionOptions {
  std::string inputs;                        // an .npz file; "": random ones
  std::map<std::string, std::int64_t> dims;  // sizes of random inputs
  std::uint64_t seed = 0;                    // of random inputs and random ops
  int threads = 0;                           // 0: one for each core
  // What computes: "cuda" is the first GPU, with the CPU for what it cannot; ""
  // and "cpu" are the CPU alone; "auto" is "cuda", and "cpu" where that fails.
  std::string device;
  // Whether a GPU rounds the factors of float32 products to tf32.
  bool tf32 = false;
  Warn warn;  // hears why the CPU computes what was for the GPU
  // Of comparisons, instead of the rounding of the types and of what rules
  // declare.
  std::optional<runtime::Tolerance> tolerance;
  // For drawing the inputs of a comparison: see runtime::InputOptions.
  std::size_t most_input_bytes = std::numeric_limits<std::size_t>::max();
  double most_seconds = 10;
  Limits limits;
};

// kUsage for a number of threads or a tolerance that is out of range.
Status check(const ExecutionOptions& options);

// Whether work that failed is to be done anew on the CPU: the device is "auto",
// and the GPU is what failed. Then `how` names the CPU, and its `warn` is told.
bool falls_back(ExecutionOptions& how, const Diagnostic& error);

// What `work` returns: a Result or a Status. Where it falls back, it is called
// once more.
template <typename Work>
auto on_device(ExecutionOptions& how, const Work& work) {
  auto out = work();
  if (out || !falls_back(how, out.error())) return out;
  return work();
}

// Bytes.
std::size_t tensor_limit(const Limits& limits);

// The arrays of an .npz file, as the types that the model declares; none where
// `path` is empty.
Result<runtime::NamedData> read_inputs(const ir::Model& model,
                                       const std::string& path,
                                       const Limits& limits);

runtime::InputOptions input_options(const ExecutionOptions& options);
// An error (kUsage) where there is no such device.
Result<runtime::ExecutorOptions> executor_options(
    const ExecutionOptions& options);

// Inputs of the file, or random ones with which the model runs.
Result<runtime::NamedData> inputs_for(runtime::Executor& executor,
                                      const ir::Model& model,
                                      const ExecutionOptions& options);

// What replaces the rounding of the types: what the caller says, else what the
// rules declare.
std::optional<runtime::Tolerance> tolerance_of(
    const ExecutionOptions& options, const engine::Comparing& comparing);

// Runs two models on inputs of the file, or on random ones of several kinds.
// The inputs of the last difference go to `shown_by`, unless it is nullptr;
// once there are some, models are compared on those alone.
engine::CompareModels compare_by_kernels(
    ExecutionOptions options,
    std::shared_ptr<runtime::NamedData> shown_by = nullptr);

}  // namespace ruleengine::api
