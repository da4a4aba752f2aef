#include "core/io/read/check_functions.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/ir/call.h"

namespace ruleengine::io {
namespace {

using ir::Graph;
using ir::NodeId;

struct Call {
  std::uint32_t callee;
  std::uint64_t times;
};

class FunctionChecker {
 public:
  explicit FunctionChecker(Context& context)
      : context_(context), model_(context.model) {}

  bool run() {
    if (!index() || model_.functions.empty()) return !context_.error;
    const std::size_t n = model_.functions.size();
    sizes_.assign(n, 0);
    state_.assign(n, State::kNew);
    calls_.resize(n);
    if (!fit(model_.graph)) return false;
    for (std::size_t f = 0; f < n; ++f) {
      if (!fit(model_.functions[f]->body)) return false;
      calls_[f] = calls_of(model_.functions[f]->body);
    }
    for (std::uint32_t f = 0; f < n; ++f) {
      if (state_[f] == State::kNew && !visit(f)) return false;
    }
    const std::uint64_t total = expanded(model_.graph, calls_of(model_.graph));
    return total <= kMaxExpandedNodes || too_large({});
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };

  bool index() {
    for (std::uint32_t f = 0; f < model_.functions.size(); ++f) {
      const ir::Function& function = *model_.functions[f];
      const ir::OpId op =
          model_.ops.intern(function.domain, function.name, function.overload);
      if (!by_op_.emplace(op.index(), f).second) {
        return context_.fail({nullptr, "function", function.name},
                             "a function is defined twice",
                             "one function for each domain, name and overload",
                             printable(model_.ops[op].text()));
      }
    }
    return true;
  }

  bool fit(const Graph& graph) {
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const ir::Node& node = graph.node(NodeId(i));
      const auto it = by_op_.find(node.op.index());
      if (it == by_op_.end()) continue;
      const ir::Function& f = *model_.functions[it->second];
      if (ir::takes(f, graph, NodeId(i))) continue;
      return context_.fail(
          {nullptr, "node", node.name},
          "a call has more inputs or outputs than its function",
          counts(f.inputs.size(), f.outputs.size()),
          counts(node.operand_count, node.output_count));
    }
    return true;
  }

  static std::string counts(std::size_t inputs, std::size_t outputs) {
    return std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
           " outputs";
  }

  // The calls in a body, including its subgraphs, by callee.
  std::vector<Call> calls_of(const Graph& graph) const {
    std::vector<Call> calls;
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const auto it = by_op_.find(graph.node(NodeId(i)).op.index());
      if (it != by_op_.end()) calls.push_back({it->second, 1});
    }
    std::sort(calls.begin(), calls.end(),
              [](const Call& a, const Call& b) { return a.callee < b.callee; });
    std::size_t out = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (out > 0 && calls[out - 1].callee == calls[i].callee) {
        ++calls[out - 1].times;
      } else {
        calls[out++] = calls[i];
      }
    }
    calls.resize(out);
    return calls;
  }

  std::uint64_t expanded(const Graph& graph,
                         const std::vector<Call>& calls) const {
    std::uint64_t total = graph.node_count();
    for (const Call& call : calls) {
      std::uint64_t inner;
      if (__builtin_mul_overflow(sizes_[call.callee], call.times, &inner) ||
          __builtin_add_overflow(total, inner, &total)) {
        return UINT64_MAX;
      }
    }
    return total;
  }

  bool too_large(const Place& place) {
    return context_.fail(place,
                         "the calls of functions expand to too many nodes",
                         "at most " + std::to_string(kMaxExpandedNodes) +
                             " nodes after expansion",
                         "more");
  }

  bool recursion(const std::vector<std::uint32_t>& path, std::uint32_t again) {
    std::string text;
    auto from = std::find(path.begin(), path.end(), again);
    for (; from != path.end() && text.size() < 1000; ++from) {
      text += std::string(model_.functions[*from]->name) + " -> ";
    }
    text += std::string(model_.functions[again]->name);
    return context_.fail({nullptr, "function", model_.functions[again]->name},
                         "a function calls itself",
                         "functions without "
                         "recursion",
                         printable(text, 2000));
  }

  // Depth first, callees before callers.
  bool visit(std::uint32_t start) {
    std::vector<std::uint32_t> path{start};
    std::vector<std::size_t> next{0};
    state_[start] = State::kOpen;
    while (!path.empty()) {
      const std::uint32_t f = path.back();
      if (next.back() == calls_[f].size()) {
        sizes_[f] = expanded(model_.functions[f]->body, calls_[f]);
        if (sizes_[f] > kMaxExpandedNodes) {
          return too_large({nullptr, "function", model_.functions[f]->name});
        }
        state_[f] = State::kDone;
        path.pop_back();
        next.pop_back();
        continue;
      }
      const std::uint32_t callee = calls_[f][next.back()++].callee;
      if (state_[callee] == State::kOpen) return recursion(path, callee);
      if (state_[callee] == State::kDone) continue;
      state_[callee] = State::kOpen;
      path.push_back(callee);
      next.push_back(0);
    }
    return true;
  }

  Context& context_;
  ir::Model& model_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_op_;
  std::vector<std::vector<Call>> calls_;
  std::vector<std::uint64_t> sizes_;
  std::vector<State> state_;
};

}  // namespace

bool check_functions(Context& context) {
  return FunctionChecker(context).run();
}

}  // namespace ruleengine::io
