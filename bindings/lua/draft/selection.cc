
#include <fmt/format.h>

#include <utility>

#include "core/ir/order.h"

#include "bindings/lua/draft/region.h"

namespace ruleengine::lua {
namespace {

constexpr std::size_t kMostValues = 150;  // Lua allows 200 local names

bool is_read_outside(const ir::Graph& graph, const Selection& selection,
                     ir::ValueId value) {
  if (graph.value(value).block_output_count > 0) return true;
  for (ir::OperandId use = graph.first_use(value); use;
       use = graph.next_use(use)) {
    if (!selection.has(graph.operand(use).user)) return true;
  }
  return false;
}

// If another node lies between them, one op would have to compute before that
// node and after it.
Status check_convex(const ir::Graph& graph, const Selection& selection,
                    std::span<const ir::NodeId> order) {
  std::set<ir::NodeId> below;  // other nodes that read what these compute
  for (const ir::NodeId id : order) {
    const bool is_selected = selection.has(id);
    bool reads = below.contains(id);
    for (const ir::Operand& use : graph.inputs(id)) {
      const ir::NodeId from = graph.producer(use.value);
      if (!from) continue;
      if (is_selected && below.contains(from)) {
        return misuse("a node lies between the others",
                      printable(graph.describe(from)), "name it too");
      }
      reads = reads || selection.has(from) || below.contains(from);
    }
    if (is_selected || !reads) continue;
    below.insert(id);
    // What a body reads, its owner reads.
    const ir::NodeId owner = graph.block(graph.node(id).block).owner;
    if (owner) below.insert(owner);
  }
  return {};
}

// A pattern is one piece: its nodes hang together by the values that they read
// and compute, constants left aside.
Status check_connected(const ir::Graph& graph, const Selection& selection) {
  std::set<ir::ValueId> reached;
  std::set<ir::NodeId> in_piece;
  const auto touches = [&](ir::NodeId id, const auto& visit) {
    for (const ir::Operand& use : graph.inputs(id)) {
      if (use.value && graph.direct_constant(use.value) == nullptr) {
        visit(use.value);
      }
    }
    for (const ir::ValueId value : graph.outputs(id)) {
      if (value) visit(value);
    }
  };
  const auto take = [&](ir::NodeId id) {
    in_piece.insert(id);
    touches(id, [&](ir::ValueId value) { reached.insert(value); });
  };
  take(selection.nodes[0]);
  for (bool grows = true; grows;) {
    grows = false;
    for (const ir::NodeId id : selection.nodes) {
      bool is_near = false;
      touches(id, [&](ir::ValueId value) {
        is_near = is_near || reached.contains(value);
      });
      if (!is_near || in_piece.contains(id)) continue;
      take(id);
      grows = true;
    }
  }
  for (const ir::NodeId id : selection.nodes) {
    if (in_piece.contains(id)) continue;
    return misuse("the nodes are in two pieces",
                  printable(graph.describe(selection.nodes[0])) + " and " +
                      printable(graph.describe(id)),
                  "a rule is about one piece: name what joins them");
  }
  return {};
}

}  // namespace

Diagnostic misuse(std::string what, std::string where, std::string hint) {
  return {.kind = ErrorKind::kUsage,
          .what = std::move(what),
          .where = std::move(where),
          .hint = std::move(hint)};
}

Result<Selection> select_nodes(const ir::Graph& graph,
                               std::span<const ir::NodeId> nodes) {
  const auto order = ir::topological_order(graph);
  if (!order) return order.error();
  Selection out;
  for (const ir::NodeId id : nodes) {
    if (graph.node(id).block != ir::Graph::main_block()) {
      return misuse("a node of a body", printable(graph.describe(id)),
                    "name the node that has the body");
    }
    const bool is_constant = graph.direct_constant(graph.output(id)) != nullptr;
    if (!is_constant) out.members.insert(id);
  }
  for (const ir::NodeId id : *order) {
    if (out.has(id)) out.nodes.push_back(id);
  }
  if (out.nodes.empty()) {
    return misuse("constants alone make no pattern", "",
                  "name the nodes that read them");
  }
  std::size_t values = 0;
  for (const ir::NodeId id : out.nodes) values += graph.outputs(id).size();
  if (values > kMostValues) {
    return misuse("the nodes compute too many values for one pattern",
                  fmt::format("{}; at most {}", values, kMostValues),
                  "name fewer nodes");
  }
  if (auto status = check_convex(graph, out, *order); !status) {
    return status.error();
  }
  if (auto status = check_connected(graph, out); !status) {
    return status.error();
  }
  for (const ir::NodeId id : out.nodes) {
    for (const ir::ValueId value : graph.outputs(id)) {
      if (value && is_read_outside(graph, out, value)) {
        out.results.push_back(value);
      }
    }
  }
  if (out.results.empty()) {
    return misuse("nothing reads what the nodes compute",
                  printable(graph.describe(out.nodes.back())));
  }
  return out;
}

}  // namespace ruleengine::lua
