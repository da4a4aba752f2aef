// How long models run, in which ops, and with how much memory. Two models run
// in turn on the same inputs, so that whatever slows the machine slows both.
// The ops are of rounds apart, in which each node is waited for: on a GPU that
// takes longer than a run.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/api/execution.h"
#include "core/base/result.h"
#include "core/base/sample.h"
#include "core/engine/json.h"
#include "core/ir/model.h"

namespace ruleengine::api {

struct BenchOptions {
  ExecutionOptions how;
  std::size_t rounds = 0;  // 0: as many as 5 seconds allow
  bool compares = false;   // the results with those of the CPU
  bool traces = false;
  Warn warn;
};

// The calls of an op in all traced rounds, and its seconds in each.
struct OpCost {
  std::string op;
  std::size_t calls = 0;
  std::vector<double> seconds;

  double median() const { return quartiles(seconds).median; }
};

struct Measured {
  std::string model;
  std::vector<double> seconds;  // of each round
  std::vector<double> traced;   // of each traced round
  std::vector<OpCost> ops;      // of all traced rounds, the slowest first
  runtime::Executor::Placing nodes;
  bool is_recorded = false;  // whether a round is one call of the device
  std::string why_not_recorded;
  // With the CPU, on the same inputs: by ExecutionOptions::tolerance, or by the
  // rounding of the types.
  std::optional<runtime::Comparison> compared;
  // Bytes of tensors at once, and those that were taken for them.
  std::size_t peak_bytes = 0, held_bytes = 0;
};

struct BenchResult {
  std::vector<Measured> models;
  std::optional<Spread> ratio;  // of two models, with 95 % confidence
  std::string trace;            // of the last traced run of the first model
};

struct BenchedModel {
  std::string name;
  std::shared_ptr<const ir::Model> model;  // which nobody changes meanwhile
};

// Measures one model, or two in turn.
Result<BenchResult> bench(const std::vector<BenchedModel>& models,
                          const BenchOptions& options);
// The same for the models of files.
Result<BenchResult> bench(const std::vector<std::string>& models,
                          const BenchOptions& options);

Json to_json(const BenchResult& found);

}  // namespace ruleengine::api
