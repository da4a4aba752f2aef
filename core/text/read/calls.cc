#include "core/text/read/calls.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ir/call.h"

namespace ruleengine::text {
namespace {

constexpr std::uint64_t kMaxExpandedNodes = 1'000'000'000;

class Walk {
 public:
  explicit Walk(const ir::Model& model) : model_(model) {
    for (std::size_t i = 0; i < model.functions.size(); ++i) {
      const ir::Function& f = *model.functions[i];
      const ir::OpId op = model.ops.find(f.domain, f.name, f.overload);
      if (op) ids_.emplace(op.index(), i);
    }
    sizes_.resize(model.functions.size());
    state_.resize(model.functions.size());
  }

  Status run() {
    if (auto fits = check_counts(model_.graph); !fits) return fits;
    for (const auto& f : model_.functions) {
      if (auto fits = check_counts(f->body); !fits) return fits;
    }
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (state_[i] == State::kNew && !visit(i)) return cycle();
    }
    std::uint64_t whole = 0;
    for (std::size_t i = 0; i < model_.graph.node_count(); ++i) {
      add(model_.graph, i, whole);
    }
    for (std::uint64_t size : sizes_) whole = std::max(whole, size);
    if (whole <= kMaxExpandedNodes) return {};
    Diagnostic d;
    d.kind = ErrorKind::kModel;
    d.what = "the calls of functions expand to too many nodes";
    d.expected = "at most " + std::to_string(kMaxExpandedNodes);
    d.found = "more";
    return d;
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Frame {
    std::size_t function;
    std::size_t node = 0;
  };

  // The function that node `i` calls; no function if `i` is past the end.
  std::size_t callee(const ir::Graph& graph, std::size_t i) const {
    const auto at = ids_.find(graph.node(ir::NodeId(i)).op.index());
    return at == ids_.end() ? model_.functions.size() : at->second;
  }

  void add(const ir::Graph& graph, std::size_t i, std::uint64_t& size) const {
    const std::size_t f = callee(graph, i);
    size += f < sizes_.size() ? sizes_[f] : 1;
    size = std::min(size, kMaxExpandedNodes + 1);
  }

  Status check_counts(const ir::Graph& graph) const {
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const std::size_t at = callee(graph, i);
      if (at == model_.functions.size()) continue;
      const ir::Function& f = *model_.functions[at];
      if (ir::takes(f, graph, ir::NodeId(i))) continue;
      const ir::Node& node = graph.node(ir::NodeId(i));
      Diagnostic d;
      d.what = "a call has more inputs or outputs than its function: " +
               printable(graph.describe(ir::NodeId(i)));
      if (graph.function() != nullptr) d.where = op_text(*graph.function());
      d.expected = counts(f.inputs.size(), f.outputs.size());
      d.found = counts(node.operand_count, node.output_count);
      return d;
    }
    return {};
  }

  static std::string op_text(const ir::Function& f) {
    return ir::Op{f.domain, f.name, f.overload}.text();
  }

  static std::string counts(std::size_t inputs, std::size_t outputs) {
    return std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
           " outputs";
  }

  bool visit(std::size_t start) {
    stack_.push_back({start});
    state_[start] = State::kOpen;
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      const ir::Graph& graph = model_.functions[top.function]->body;
      if (top.node == graph.node_count()) {
        state_[top.function] = State::kDone;
        stack_.pop_back();
        continue;
      }
      const std::size_t f = callee(graph, top.node);
      if (f < state_.size() && state_[f] == State::kOpen) return false;
      if (f < state_.size() && state_[f] == State::kNew) {
        state_[f] = State::kOpen;
        stack_.push_back({f});
        continue;
      }
      add(graph, top.node++, sizes_[top.function]);
    }
    return true;
  }

  Diagnostic cycle() const {
    const Frame& top = stack_.back();
    const ir::Function& f = *model_.functions[top.function];
    Diagnostic d;
    d.what = "a function calls itself";
    d.expected = "functions without recursion";
    d.where = op_text(f);
    d.found =
        f.body.op(ir::NodeId(top.node)).text() + " in the body of " + d.where;
    return d;
  }

  const ir::Model& model_;
  std::unordered_map<std::uint32_t, std::size_t> ids_;  // by OpId
  std::vector<std::uint64_t> sizes_;                    // nodes when expanded
  std::vector<State> state_;
  std::vector<Frame> stack_;
};

}  // namespace

Status check_calls(const ir::Model& model) {
  if (model.functions.empty()) return {};
  return Walk(model).run();
}

}  // namespace ruleengine::text
