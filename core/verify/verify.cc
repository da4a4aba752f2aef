#include "core/verify/verify.h"

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/call.h"
#include "core/ir/order.h"

namespace ruleengine::verify {
namespace {

using ir::BlockId;
using ir::Graph;
using ir::NodeId;
using ir::OperandId;
using ir::ValueId;

Diagnostic broken(std::string what, std::string where) {
  return {ErrorKind::kInternal,
          "internal error: " + std::move(what),
          std::move(where),
          "",
          "",
          "this is a bug of ruleengine; please report it"};
}

std::string value_text(const Graph& graph, ValueId id) {
  return "value '" + std::string(graph.name(id)) + "'";
}

// Is `value` defined, in `block` or a block around it?
bool visible(const Graph& graph, ValueId value, BlockId block) {
  const BlockId home = graph.value(value).block;
  while (block && block != home) block = graph.block(block).parent;
  return block == home;
}

bool defined(const Graph& graph, ValueId id) {
  const ir::Value& v = graph.value(id);
  if (v.removed || v.kind == ir::ValueKind::kUndefined) return false;
  return v.kind != ir::ValueKind::kNodeOutput ||
         (v.producer && !graph.node(v.producer).removed);
}

Status check_inputs(const Graph& graph, NodeId id) {
  for (const ir::Operand& use : graph.inputs(id)) {
    if (use.user != id) {
      return broken("an input slot belongs to another node",
                    graph.describe(id));
    }
    if (!use.value) continue;
    if (!defined(graph, use.value)) {
      return broken("an input is a value that nothing defines: " +
                        value_text(graph, use.value),
                    graph.describe(id));
    }
    if (!visible(graph, use.value, graph.node(id).block)) {
      return broken("an input is not visible from the node's block: " +
                        value_text(graph, use.value),
                    graph.describe(id));
    }
  }
  return {};
}

// The rank does not fall along any edge.
Status check_rank(const Graph& graph, NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.removed) return {};
  for (const ir::Operand& use : graph.inputs(id)) {
    const NodeId producer = graph.producer(use.value);
    if (producer && graph.node(producer).rank > node.rank) {
      return broken("a node has a lower rank than a node that it reads: " +
                        graph.describe(producer),
                    graph.describe(id));
    }
  }
  const NodeId owner = graph.block(node.block).owner;
  if (owner && node.rank > graph.node(owner).rank) {
    return broken("a node of a body has a higher rank than the body's owner",
                  graph.describe(id));
  }
  return {};
}

Status check_outputs(const Graph& graph, NodeId id) {
  std::uint32_t index = 0;
  for (ValueId output : graph.outputs(id)) {
    const std::uint32_t at = index++;
    if (!output) continue;
    const ir::Value& v = graph.value(output);
    if (v.producer != id || v.output_index != at ||
        v.kind != ir::ValueKind::kNodeOutput) {
      return broken(
          "an output has a wrong producer: " + value_text(graph, output),
          graph.describe(id));
    }
    if (v.block != graph.node(id).block) {
      return broken(
          "an output is in another block: " + value_text(graph, output),
          graph.describe(id));
    }
  }
  return {};
}

Status check_uses(const Graph& graph, ValueId id) {
  std::uint32_t count = 0;
  OperandId previous;
  for (OperandId use = graph.first_use(id); use; use = graph.next_use(use)) {
    const ir::Operand& slot = graph.operand(use);
    if (slot.value != id || slot.previous != previous ||
        graph.node(slot.user).removed) {
      return broken("a use list is broken", value_text(graph, id));
    }
    previous = use;
    ++count;
  }
  const ir::Value& v = graph.value(id);
  if (count != v.use_count || previous != v.last_use) {
    return broken("a use list is broken", value_text(graph, id));
  }
  return {};
}

Status check_block(const Graph& graph, BlockId id) {
  const ir::Block& block = graph.block(id);
  if (block.owner && graph.node(block.owner).removed) return {};
  for (ValueId output : block.outputs) {
    if (!output || !defined(graph, output)) {
      return broken("a block output is a value that nothing defines",
                    output ? value_text(graph, output) : "");
    }
    if (!visible(graph, output, id)) {
      return broken("a block output is not visible from the block",
                    value_text(graph, output));
    }
  }
  for (ValueId initializer : block.initializers) {
    if (graph.value(initializer).tensor == nullptr) {
      return broken("an initializer has no data",
                    value_text(graph, initializer));
    }
  }
  return {};
}

Status check_listed_once(const Graph& graph) {
  std::vector<bool> listed(graph.value_count());
  for (std::size_t b = 0; b < graph.block_count(); ++b) {
    for (ValueId v : graph.block(BlockId(b)).initializers) {
      if (listed[v.index()]) {
        return broken("an initializer is listed twice", value_text(graph, v));
      }
      listed[v.index()] = true;
    }
  }
  return {};
}

// Each value has the right count of its uses as an output of blocks.
Status check_output_counts(const Graph& graph) {
  std::vector<std::uint32_t> counts(graph.value_count());
  for (std::size_t b = 0; b < graph.block_count(); ++b) {
    for (ValueId output : graph.block(BlockId(b)).outputs) {
      if (output) ++counts[output.index()];
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == graph.value(ValueId(i)).block_output_count) continue;
    return broken("a value has a wrong count of its uses as an output",
                  value_text(graph, ValueId(i)));
  }
  return {};
}

// Each name is defined once in a block. Removed values keep their names.
Status check_names(const Graph& graph) {
  // The first value of each name; for names in several blocks, by block. A map,
  // unless the graph has many of the model's names: a model may have many
  // graphs.
  const bool many = graph.value_count() >= graph.model().names.size() / 8;
  std::vector<ValueId> first(many ? graph.model().names.size() : 0);
  std::unordered_map<std::uint32_t, ValueId> first_of_few;
  std::set<std::pair<Name, BlockId>> others;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id(i);
    const ir::Value& v = graph.value(id);
    const bool used = graph.reader_count(id) > 0;
    if (!v.name || !used || !defined(graph, id)) continue;
    ValueId& before =
        many ? first[v.name.index()] : first_of_few[v.name.index()];
    if (!before) {
      before = id;
    } else if (graph.value(before).block == v.block ||
               !others.emplace(v.name, v.block).second) {
      return broken("two values have one name", value_text(graph, id));
    }
  }
  return {};
}

template <typename Id>
Status check_each(std::size_t count, const Graph& graph,
                  Status (*check)(const Graph&, Id)) {
  for (std::size_t i = 0; i < count; ++i) {
    if (auto status = check(graph, Id(i)); !status) return status;
  }
  return {};
}

Status check_node(const Graph& graph, NodeId id) {
  if (graph.node(id).removed) return {};
  if (auto status = check_inputs(graph, id); !status) return status;
  return check_outputs(graph, id);
}

// Checks domains and calls of one body.
Status check_ops(const Graph& graph, const ir::OpsetImports& imports,
                 const ir::FunctionsByOp& functions) {
  for (const NodeId id : graph.live_nodes()) {
    const ir::Op& op = graph.op(id);
    const auto function = functions.find(graph.node(id).op.index());
    if (function == functions.end()) {
      if (imports.version(op.domain) != 0) continue;
      return broken(
          "the domain '" + std::string(op.domain) + "' is not imported",
          graph.describe(id));
    }
    if (!ir::takes(*function->second, graph, id)) {
      return broken("a call has more inputs or outputs than its function",
                    graph.describe(id));
    }
  }
  return {};
}

}  // namespace

Status check_graph(const Graph& graph) {
  auto status = check_each(graph.node_count(), graph, check_node);
  if (!status) return status;
  status = check_each(graph.value_count(), graph, check_uses);
  if (!status) return status;
  status = check_each(graph.block_count(), graph, check_block);
  if (!status) return status;
  if (status = check_listed_once(graph); !status) return status;
  if (status = check_output_counts(graph); !status) return status;
  if (status = check_names(graph); !status) return status;
  const auto order = ir::topological_order(graph);
  if (!order) return order.error();
  return check_each(graph.node_count(), graph, check_rank);
}

Status check_model(const ir::Model& model) {
  const ir::FunctionsByOp functions = ir::functions_by_op(model);
  const auto check = [&](const Graph& graph, const ir::OpsetImports& imports) {
    auto status = check_graph(graph);
    return status ? check_ops(graph, imports, functions) : status;
  };
  auto status = check(model.graph, model.opset_imports);
  for (const auto& f : model.functions) {
    if (status && !f->removed) status = check(f->body, f->opset_imports);
  }
  return status;
}

}  // namespace ruleengine::verify
