// Plan: how one graph runs. For each of its blocks the nodes in order, which of
// them call functions, and after which node a value has no more readers. Made
// once for the main graph and for each function; constant afterwards but for
// what its constants hold. The graph must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/base/small_vector.h"
#include "core/ir/model.h"
#include "core/ops/node_view.h"
#include "runtime/op_choice.h"

namespace ruleengine::runtime {

struct Plan;

struct Step {
  ir::NodeId node;
  ops::NodeView view;
  const Plan* function = nullptr;  // else a kernel runs it
  std::size_t id = 0;              // among all steps of the model
  // Values of the same block that have no reader after it, and whether each
  // input is one.
  std::vector<ir::ValueId> dead;
  SmallVector<bool, 8> dying;
};

// An initializer, the tensor of a Constant node, or a result that is the same
// in each run (it has no literal), and how many steps and graphs read it.
struct Constant {
  const ir::Literal* literal = nullptr;
  Datum value;  // absent until it is needed
  std::size_t readers = 0;
};

struct Plan {
  const ir::Graph* graph = nullptr;
  std::vector<std::vector<Step>> blocks;  // by BlockId
  // `constant_of` has a place among them, or -1.
  std::vector<Constant> constants;
  std::vector<std::int32_t> constant_of;  // by ValueId
  std::size_t height = 0;                 // of the calls below

  // Of all blocks.
  auto steps() const { return blocks | std::views::join; }
};

// How deep functions may call each other. A run recurses, with less than 4 KiB
// of stack for each call.
inline constexpr std::size_t kMostCalls = 500;

// The plans of a model: of its main graph and of the functions that are called.
class Plans {
 public:
  // An error names the nodes that have neither a kernel nor a body, and the
  // `reasons` for it, by op.
  static Result<std::unique_ptr<Plans>> make(
      const ir::Model& model, const OpChoice& choice,
      const std::map<std::string, std::string>& reasons);

  const Plan& main() const { return *main_; }
  // In the order they were made in.
  std::span<Plan* const> all() const { return all_; }
  std::size_t step_count() const { return step_count_; }

 private:
  Plans(const ir::Model& model, const OpChoice& choice)
      : model_(model), choice_(choice) {}
  Result<const Plan*> plan(const ir::Graph& graph);
  Status add_steps(Plan& plan);
  void read_constants(Plan& plan);
  Status add_step(Plan& plan, ir::NodeId node);
  Status missing(const std::map<std::string, std::string>& reasons) const;

  const ir::Model& model_;
  OpChoice choice_;
  std::map<std::string, std::size_t> missing_;  // op: how often
  // Never iterated: the order of pointers must not show.
  std::unordered_map<const ir::Graph*, std::unique_ptr<Plan>> plans_;
  std::size_t depth_ = 0;  // of the graph that is being planned
  const Plan* main_ = nullptr;
  std::vector<Plan*> all_;
  std::size_t step_count_ = 0;
};

}  // namespace ruleengine::runtime
