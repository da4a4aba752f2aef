// What `tune`, `run --if-faster` and `run --bench` share: the runtime of
// --runtime, and what is said of measurements.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/cli/command_runtime.h"
#include "bindings/cli/line.h"
#include "bindings/cli/options.h"
#include "bindings/cli/scratch.h"
#include "core/base/result.h"
#include "core/engine/measure.h"
#include "core/engine/tune.h"
#include "core/ir/model.h"

namespace ruleengine::cli {

// The runtime of --runtime, with inputs for one model.
class Bench {
 public:
  // Draws inputs for the model. The options must outlive it.
  static Result<std::unique_ptr<Bench>> create(const ir::Model& model,
                                               const Options& options);
  engine::MeasuredRuntime& runtime() { return *runtime_; }

 private:
  std::unique_ptr<Scratch> scratch_;
  ScratchFile inputs_;
  std::unique_ptr<engine::MeasuredRuntime> runtime_;
};

// The best variant by --runtime, or by the measurements of --replay. Writes
// them to --record.
Result<engine::Tuned> tune_model(engine::Variants& variants,
                                 const ir::Model& model,
                                 const Options& options);

// Measures the model and its result, for --bench. Fills the report.
Status measure(engine::Variants& variants, const ir::Model& model,
               const Options& options, engine::FileReport& report);

// Tables of targets and effects, without a newline at the end.
std::string text_of(const engine::Tuned& tuned, bool verbose);
// "onnxruntime 1.32.0: 12.300 -> 10.800 ms, 1.139 (1.120 to 1.150) times as
// fast, noise 0.8 %".
std::string text_of(const engine::Comparison& measured, double noise,
                    const std::string& runtime);

// --runtime, --time, --record and --replay.
void add_tuning(VerbLine& verb, Options& options);

}  // namespace ruleengine::cli
