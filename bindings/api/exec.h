// Running models: one, or the programs of several ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/api/execution.h"
#include "bindings/api/models.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "core/ranks/communication.h"
#include "runtime/communicator.h"

namespace ruleengine::api {

struct ExecOptions {
  ExecutionOptions how;
  // Rule files whose bodies of ops the models are run with.
  std::vector<std::string> rules;
  bool draws = false;  // random inputs instead of files
  // 0: a model each; a single one then runs alone.
  int ranks = 0;
  // Files of inputs, one for each rank; none: models without inputs.
  std::vector<std::string> inputs;
  bool traces = false;
  Warn warn;
};

// What one rank, or the only one, ran.
struct Executed {
  std::unique_ptr<ir::Model> model;  // the outputs may refer to its weights
  runtime::NamedData inputs, outputs;
  ranks::Traffic predicted;  // of several ranks
  runtime::Sent sent;
  std::string trace;  // JSON that chrome://tracing and Perfetto show
};

// Runs the models, one for each rank or one for all; kUsage for another number
// of them. Random inputs are drawn alike on all ranks.
Result<std::vector<Executed>> exec(const std::vector<std::string>& models,
                                   const ExecOptions& options);

// Of the elements of a tensor of numbers that has some.
struct Range {
  double low = 0, high = 0, mean = 0;
};
std::optional<Range> range_of(const runtime::Datum& value);

}  // namespace ruleengine::api
