// Executor: runs a model. Making one plans it: the order of the nodes, a
// backend for each, and after which node a value is no longer needed. All nodes
// that nothing can run are named at once. A plan belongs to the model as it is;
// the model must outlive it and not change.
//
// Nodes of model-local functions run the function's body, except those of the
// engine's own ops that have a kernel. Not thread-safe; several executors may
// share a model that nobody changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/backend.h"
#include "runtime/widening.h"

namespace ruleengine::runtime {

// Called after each node of any graph: its times in seconds since the run
// began.
using Trace =
    std::function<void(const ir::Graph&, ir::NodeId, double begin, double end)>;

struct ExecutorOptions {
  // They must outlive the executor.
  Backends backends;
  // Whether the engine's own ops run as the functions that the model has for
  // them, as in other runtimes, also where they have kernels.
  bool prefers_functions = false;
  // Whether Gelu runs as its formula, whose steps round: for negative numbers
  // by far more than the result does.
  bool spells_gelu = false;
  // Whether all floats are doubles: inputs and weights become doubles, kernels
  // that have none compute in float, outputs are doubles. Weights are widened
  // for each node anew and take no memory in between. Backends that have memory
  // of their own are not asked.
  bool wide = false;
  // Whether weights are arranged (Preparation::arranges_weights) and tensors
  // laid out (runtime/tensor_arena.h), which pays from the third run on.
  bool runs_often = false;
  int threads = 0;  // 0: one for each core
  // Of tensors; for several executors that share one limit. nullptr: memory of
  // its own without a limit.
  std::shared_ptr<HostMemory> memory;
  std::uint64_t seed = 0;  // of ops that draw random numbers
  Deadline deadline;
  // Of this rank, where the model runs on several. May be nullptr.
  Communicator* communicator = nullptr;
  // Asked between nodes and within long ones; true ends the run (kLimit). May
  // be empty.
  std::function<bool()> is_cancelled;
  // After each node of the main graph: how many are done, of how many.
  std::function<void(std::size_t done, std::size_t all)> progress;
  // Executor::trace(), from the first run on.
  Trace trace;
};

class Executor {
 public:
  // By name. Initializers that are inputs too may be given or left out.
  using Named = std::vector<std::pair<std::string, Datum>>;

  static Result<std::unique_ptr<Executor>> create(const ir::Model& model,
                                                  ExecutorOptions options);
  ~Executor();

  // The outputs of the model, in its order; they may refer to its weights, so
  // the model must outlive them. An error names the node that could not be
  // computed, or the input that is missing or does not fit.
  // With `noise` numbers move, in a wide executor; with `alike` nodes whose
  // value's name it lacks draw other numbers.
  Result<Named> run(const Named& inputs, const Noise* noise = nullptr,
                    const DrawnCounts* alike = nullptr);

  // Runs until a run on inputs of these shapes is as fast as it gets, and waits
  // for what is made aside: then plans are built, tensors are laid out, and a
  // device has a recording. Only for a model that runs often.
  Status warm_up(const Named& inputs);

  // Of the runs to come; empty: none is traced. A traced run is neither
  // recorded nor done by a recording, and waits for the device after each node.
  void trace(Trace hears);

  // The model as it runs.
  const ir::Model& model() const;
  // The names of backends, in their order, and how many nodes of which ops each
  // runs. The nodes of a body or a function count once.
  using Placing =
      std::vector<std::pair<std::string, std::map<std::string, std::size_t>>>;
  Placing placing() const;
  // Whether there is a recording, so that runs like earlier ones are one call.
  bool is_recorded() const;
  // Why no run of the model can be, or why the last one that was to be was not;
  // empty where it can be.
  const std::string& why_not_recorded() const;
  // What drew random numbers in the last run: names of values, and how often.
  const DrawnCounts& drawn() const;

  // Bytes of tensors that were in use at once in the last run, without weights
  // and inputs; and bytes that the run took from the system.
  std::size_t peak_bytes() const;
  std::size_t held_bytes() const;

 private:
  struct Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ruleengine::runtime
