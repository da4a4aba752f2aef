// Measuring variants of a result in the user's own runtime.
#pragma once

#include <string>
#include <vector>

#include "bindings/api/execution.h"
#include "core/base/result.h"
#include "core/engine/measure.h"
#include "core/engine/tune.h"
#include "core/ir/model.h"

namespace ruleengine::api {

struct MeasureOptions {
  // "ours" or "", "onnxruntime", "openvino", or a command (docs/tune.md).
  std::string runtime;
  double seconds = 60;  // to measure in, about
  ExecutionOptions how;
};

struct TuneOptions {
  MeasureOptions measure;
  // To try; ties go to the first. None: all, first those that most runtimes
  // read.
  std::vector<std::string> targets;
  // Files: for the measurements, and with such to use instead of new ones.
  std::string record, replay;
  Progress progress;
};

// The best variant of the model. What was measured before an error is recorded.
Result<engine::Tuned> tune(engine::Variants& variants, const ir::Model& model,
                           const TuneOptions& options);

// The model beside its result for the target.
struct MeasuredPair {
  engine::Comparison comparison;
  double noise = 0;     // of the machine
  std::string runtime;  // its name
};
Result<MeasuredPair> measure(engine::Variants& variants, const ir::Model& model,
                             const std::string& target,
                             const MeasureOptions& options);

}  // namespace ruleengine::api
