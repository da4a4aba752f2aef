#include "core/ir/call.h"

#include <algorithm>

namespace ruleengine::ir {
namespace {

class Calls {
 public:
  Calls(const Model& model, std::uint64_t own)
      : model_(model), own_(own), functions_(functions_by_op(model)) {}

  std::optional<CallFault> fault() {
    if (auto wrong = misfit(model_.graph)) return wrong;
    for (const auto& f : model_.functions) {
      if (auto wrong = misfit(f->body)) return wrong;
    }
    for (const auto& f : model_.functions) {
      if (auto wrong = expand(f->body, f.get())) return wrong;
    }
    return expand(model_.graph, nullptr);
  }

 private:
  struct Frame {
    const Graph* graph;
    const Function* function;
    std::size_t node = 0;
    std::uint64_t size = 0;
  };

  const Function* callee(const Graph& graph, NodeId node) const {
    const auto at = functions_.find(graph.node(node).op.index());
    return at == functions_.end() ? nullptr : at->second;
  }

  std::optional<CallFault> misfit(const Graph& graph) const {
    for (const NodeId node : graph.live_nodes()) {
      const Function* const f = callee(graph, node);
      if (f == nullptr || takes(*f, graph, node)) continue;
      return CallFault{.graph = &graph, .call = node, .function = f};
    }
    return std::nullopt;
  }

  // Depth first, callees before callers.
  std::optional<CallFault> expand(const Graph& body, const Function* function) {
    if (!sizes_.try_emplace(function).second) return std::nullopt;
    std::vector<Frame> stack{{&body, function}};
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.node == top.graph->node_count()) {
        if (top.size > kMaxExpandedNodes) {
          return CallFault{.function = top.function};
        }
        sizes_[top.function] = top.size;
        stack.pop_back();
        continue;
      }
      std::uint64_t size = 1;
      if (const Function* const f = callee(*top.graph, NodeId(top.node))) {
        const auto [known, is_new] = sizes_.try_emplace(f);
        if (is_new) {
          stack.push_back({&f->body, f});
          continue;
        }
        if (!known->second) return recursion(stack, f);
        size = own_ + *known->second;
      }
      top.size = std::min(top.size + size, kMaxExpandedNodes + 1);
      ++top.node;
    }
    return std::nullopt;
  }

  static CallFault recursion(const std::vector<Frame>& stack,
                             const Function* again) {
    CallFault out;
    auto at = std::ranges::find(stack, again, &Frame::function);
    for (; at != stack.end(); ++at) out.cycle.push_back(at->function);
    return out;
  }

  const Model& model_;
  const std::uint64_t own_;
  FunctionsByOp functions_;
  // Of each function that was entered, nodes when expanded; none: still open.
  std::unordered_map<const Function*, std::optional<std::uint64_t>> sizes_;
};

}  // namespace

FunctionsByOp functions_by_op(const Model& model) {
  FunctionsByOp out;
  for (const auto& f : model.functions) {
    const OpId op = model.ops.find(f->domain, f->name, f->overload);
    if (!f->removed && op) out.emplace(op.index(), f.get());
  }
  return out;
}

bool takes(const Function& function, const Graph& graph, NodeId call) {
  const auto inputs = graph.inputs(call);
  const auto outputs = graph.outputs(call);
  const std::size_t in = std::min(inputs.size(), function.inputs.size());
  const std::size_t out = std::min(outputs.size(), function.outputs.size());
  return std::ranges::none_of(inputs.subspan(in), &ValueId::valid,
                              &Operand::value) &&
         std::ranges::none_of(outputs.subspan(out), &ValueId::valid);
}

std::optional<CallFault> call_fault(const Model& model, std::uint64_t own) {
  if (model.functions.empty()) return std::nullopt;
  return Calls(model, own).fault();
}

}  // namespace ruleengine::ir
