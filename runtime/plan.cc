#include "runtime/plan.h"

#include <algorithm>

#include "core/ir/order.h"

namespace ruleengine::runtime {
namespace {

using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

// The node of block `home` that is `node`, or that has it in its subgraphs.
NodeId ancestor(const ir::Graph& graph, NodeId node, BlockId home) {
  while (graph.node(node).block != home) {
    node = graph.block(graph.node(node).block).owner;
  }
  return node;
}

// What the value is in each run: of an initializer, which may be an input too,
// or of a Constant node, which is no step then.
const ir::Literal* literal_of(const ir::Graph& graph, ValueId v) {
  const ir::Literal* own = graph.value(v).tensor;
  return own != nullptr ? own : graph.direct_constant(v);
}

bool is_step(const ir::Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return !graph.op(node).standard("Constant") || outputs.empty() ||
         graph.direct_constant(outputs[0]) == nullptr;
}

// By value: the step after which it is dead; invalid: it lives as long as its
// block.
std::vector<NodeId> last_steps(const ir::Graph& graph,
                               std::span<const NodeId> order) {
  std::vector<NodeId> out(graph.value_count());
  std::vector<std::size_t> at(graph.node_count());
  for (std::size_t i = 0; i < order.size(); ++i) at[order[i].index()] = i;
  const auto read = [&](ValueId v, NodeId reader) {
    if (!v || literal_of(graph, v) != nullptr) return;
    const NodeId step = ancestor(graph, reader, graph.value(v).block);
    if (!is_step(graph, step)) return;
    NodeId& last = out[v.index()];
    if (!last || at[step.index()] > at[last.index()]) last = step;
  };
  for (const NodeId node : order) {
    for (const ValueId v : graph.outputs(node)) read(v, node);
    for (const ir::Operand& o : graph.inputs(node)) read(o.value, node);
  }
  std::vector<ValueId> kept;
  for (std::size_t b = 0; b < graph.block_count(); ++b) {
    const ir::Block& block = graph.block(BlockId(b));
    if (block.owner && graph.node(block.owner).removed) continue;
    for (const ValueId v : block.outputs) {
      if (graph.value(v).block == BlockId(b)) {
        kept.push_back(v);
      } else {
        read(v, block.owner);
      }
    }
  }
  for (const ValueId v : kept) out[v.index()] = NodeId();
  return out;
}

Diagnostic too_deep() {
  return {.kind = ErrorKind::kModel,
          .what = "functions of the model call each other too deep",
          .expected = std::to_string(kMostCalls) + " calls at most",
          .hint = "a function must not call itself"};
}

// "com.example::Swish" as people write it.
std::string dotted(std::string op) {
  if (const auto at = op.find("::"); at != std::string::npos) {
    op.replace(at, 2, ".");
  }
  return op;
}

}  // namespace

Result<std::unique_ptr<Plans>> Plans::make(
    const ir::Model& model, const OpChoice& choice,
    const std::map<std::string, std::string>& reasons) {
  std::unique_ptr<Plans> out(new Plans(model, choice));
  try {
    const auto main = out->plan(model.graph);
    if (!main) return main.error();
    out->main_ = *main;
  } catch (const Failure& failure) {
    return failure.error;
  }
  if (auto status = out->missing(reasons); !status) return status.error();
  return out;
}

Result<const Plan*> Plans::plan(const ir::Graph& graph) {
  const auto known = plans_.find(&graph);
  if (known != plans_.end()) return known->second.get();
  // Planning goes as deep as the calls do.
  if (depth_ > kMostCalls) return too_deep();
  auto made = std::make_unique<Plan>();
  made->graph = &graph;
  ++depth_;
  const Status status = add_steps(*made);
  --depth_;
  if (!status) return status.error();
  read_constants(*made);
  all_.push_back(made.get());
  return plans_.emplace(&graph, std::move(made)).first->second.get();
}

Status Plans::add_steps(Plan& plan) {
  const ir::Graph& graph = *plan.graph;
  const auto order = ir::topological_order(graph);
  if (!order) return order.error();
  plan.blocks.resize(graph.block_count());
  std::vector<std::pair<std::size_t, std::size_t>> place(graph.node_count());
  for (const NodeId node : *order) {
    if (!is_step(graph, node)) continue;
    if (auto status = add_step(plan, node); !status) return status;
    const std::size_t block = graph.node(node).block.index();
    place[node.index()] = {block, plan.blocks[block].size() - 1};
  }
  const std::vector<NodeId> lasts = last_steps(graph, *order);
  for (std::size_t i = 0; i < lasts.size(); ++i) {
    if (!lasts[i]) continue;
    const auto [block, step] = place[lasts[i].index()];
    plan.blocks[block][step].dead.emplace_back(i);
  }
  for (Step& step : plan.blocks | std::views::join) {
    for (const ir::Operand& o : graph.inputs(step.node)) {
      step.dying.push_back(std::ranges::find(step.dead, o.value) !=
                           step.dead.end());
    }
  }
  return {};
}

Status Plans::add_step(Plan& plan, NodeId node) {
  const ir::Graph& graph = *plan.graph;
  const ir::Op& op = graph.op(node);
  // Nodes of the standard are in their newest form.
  const std::int64_t opset =
      op.domain.empty() ? ops::newest_opset("") : graph.opset(op.domain);
  Step step{.node = node, .view = {graph, node, opset}, .id = step_count_++};
  if (const ir::Function* function = choice_.function(model_, op)) {
    const auto body = this->plan(function->body);
    if (!body) return body.error();
    step.function = *body;
    plan.height = std::max(plan.height, (*body)->height + 1);
    if (plan.height > kMostCalls) return too_deep();
  } else if (!choice_.has_kernel(op)) {
    ++missing_[op.text()];
  }
  plan.blocks[graph.node(node).block.index()].push_back(std::move(step));
  return {};
}

void Plans::read_constants(Plan& plan) {
  const ir::Graph& graph = *plan.graph;
  plan.constant_of.assign(graph.value_count(), -1);
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    if (graph.value(ValueId(i)).removed) continue;
    const ir::Literal* literal = literal_of(graph, ValueId(i));
    if (literal == nullptr) continue;
    plan.constant_of[i] = static_cast<std::int32_t>(plan.constants.size());
    plan.constants.push_back({.literal = literal});
  }
  const auto read = [&](ValueId v) {
    const std::int32_t at = v ? plan.constant_of[v.index()] : -1;
    if (at >= 0) ++plan.constants[static_cast<std::size_t>(at)].readers;
  };
  for (const Step& step : plan.steps()) {
    for (const ir::Operand& o : graph.inputs(step.node)) read(o.value);
  }
  for (std::size_t b = 0; b < graph.block_count(); ++b) {
    for (const ValueId v : graph.block(BlockId(b)).outputs) read(v);
  }
}

Status Plans::missing(const std::map<std::string, std::string>& reasons) const {
  if (missing_.empty()) return {};
  std::string all;
  for (const auto& [op, count] : missing_) {
    all += (all.empty() ? "" : ", ") + dotted(op);
    if (count > 1) all += " (" + std::to_string(count) + " nodes)";
    const auto reason = reasons.find(op);
    if (reason != reasons.end()) all += ": " + reason->second;
  }
  return Diagnostic{.kind = ErrorKind::kModel,
                    .what = "no kernel for " + shortened(all),
                    .expected =
                        "ops of the standard, of this engine, or "
                        "with a function body in the model"};
}

}  // namespace ruleengine::runtime
