// What tests of the backend of CUDA share.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/parse.h"
#include "kernels/cpu.h"
#include "kernels/cuda.h"
#include "runtime/compare.h"
#include "runtime/executor.h"
#include "runtime/random_inputs.h"
#include "tests/cuda/standin/standin.h"

namespace ruleengine::kernels {

using runtime::Executor;
using Named = Executor::Named;

inline const runtime::Backend* gpu(const CudaOptions& options = {}) {
  // Plans of stand-ins are of no use to the user.
  ::setenv("RULEENGINE_PLANS", "", 1);
  const auto found = find_cuda(options);
  REQUIRE_MESSAGE(found.ok(), (found ? "" : found.error().text()));
  return *found;
}

inline std::shared_ptr<const ir::Model> model_of(std::string_view text) {
  auto parsed = text::parse_model(text);
  REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()));
  return *std::move(parsed);
}

inline std::unique_ptr<Executor> executor_of(const ir::Model& model,
                                             bool on_gpu,
                                             bool runs_often = false,
                                             const CudaOptions& cuda = {}) {
  runtime::ExecutorOptions options{.runs_often = runs_often, .threads = 1};
  if (on_gpu) options.backends.push_back(gpu(cuda));
  options.backends.push_back(&cpu());
  auto made = Executor::create(model, std::move(options));
  REQUIRE_MESSAGE(made.ok(), (made ? "" : made.error().text()));
  return *std::move(made);
}

inline Named results_of(Executor& executor, const Named& inputs) {
  auto out = executor.run(inputs);
  REQUIRE_MESSAGE(out.ok(), (out ? "" : out.error().text()));
  return *std::move(out);
}

template <typename T>
runtime::Datum tensor_of(ir::DataType type, runtime::Shape dims,
                         std::shared_ptr<std::vector<T>> values) {
  const auto* data = reinterpret_cast<const std::byte*>(values->data());
  return runtime::Tensor(
      type, dims, std::shared_ptr<const std::byte>(std::move(values), data));
}

inline runtime::Datum floats_of(runtime::Shape dims,
                                std::vector<float> values) {
  return tensor_of(ir::DataType::kFloat, dims,
                   std::make_shared<std::vector<float>>(std::move(values)));
}

// The stand-in for the driver, after all that used it is gone.
inline void check_nothing_left() {
  CHECK(standin::driver().live_bytes() == 0);
  CHECK(standin::driver().pinned_bytes() == 0);
  CHECK(standin::driver().objects() == 0);
}

// What the program did that it may not do, and forgets it.
inline std::string misuse() {
  std::string out;
  for (const std::string& each : standin::driver().misuse) out += each + "\n";
  standin::driver().misuse.clear();
  return out;
}

inline Named inputs_of(Executor& executor, const ir::Model& model,
                       std::uint64_t seed) {
  auto inputs = runtime::inputs_to_run(executor, model, {.seed = seed},
                                       runtime::HostMemory::create());
  REQUIRE_MESSAGE(inputs.ok(), (inputs ? "" : inputs.error().text()));
  return *std::move(inputs);
}

// Runs a model in both places and compares, on other numbers each time; gives
// what the last run on the GPU called.
inline standin::Counts check_runs(const ir::Model& model, int runs = 1) {
  const auto on_cpu = executor_of(model, false);
  auto on_gpu = executor_of(model, true, runs > 1);
  const auto sizes = [](const Named& values) {
    std::string out;
    for (const auto& [name, value] : values) out += value.text() + " ";
    return out;
  };
  const Named first = inputs_of(*on_cpu, model, 0);
  standin::Counts out;
  for (int i = 0; i < runs; ++i) {
    Named inputs = inputs_of(*on_cpu, model, static_cast<std::uint64_t>(i));
    if (sizes(inputs) != sizes(first)) inputs = first;
    const Named expected = results_of(*on_cpu, inputs);
    standin::driver().counts = {};
    const Named found = results_of(*on_gpu, inputs);
    out = standin::driver().counts;
    const auto compared = runtime::compare_by_type(expected, found);
    CHECK_MESSAGE(!compared.mismatch,
                  (compared.mismatch ? compared.mismatch->output + ": " +
                                           compared.mismatch->text
                                     : ""));
  }
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
  return out;
}

// What the driver is called for in a run that was recorded.
inline const std::map<std::string, std::size_t> kOneLaunch = {
    {"cuCtxPushCurrent", 1},
    {"cuGraphLaunch", 1},
    {"cuStreamSynchronize", 1},
    {"cuCtxPopCurrent", 1}};

}  // namespace ruleengine::kernels
