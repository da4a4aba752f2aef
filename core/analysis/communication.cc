#include "core/analysis/communication.h"

#include <string_view>

#include "core/analysis/shapes.h"
#include "core/ir/dialect.h"
#include "core/ir/model.h"

namespace ruleengine::analysis {
namespace {

std::optional<double> bytes_sent(const ir::Graph& graph, ir::Facts& facts,
                                 ir::NodeId node) {
  const ir::ValueId input = graph.input(node, 0);
  const ir::Type* type = input ? facts.type(input) : nullptr;
  const auto group = rank_group(graph, node);
  if (type == nullptr || !type->is_tensor() || !type->has_shape ||
      group.empty()) {
    return std::nullopt;
  }
  const auto count = known_count(type->dims);
  const int bits = ir::bit_width(type->elem);
  if (!count || bits == 0) return std::nullopt;
  const auto ranks = static_cast<double>(group.size());
  const double bytes = static_cast<double>(*count) * bits / 8;
  const std::string_view op = graph.op(node).type;
  if (op == "all_gather") return (ranks - 1) * bytes;
  return (op == "all_reduce" ? 2 : 1) * (ranks - 1) / ranks * bytes;
}

}  // namespace

bool is_collective(const ir::Op& op) {
  return op.domain == ir::dialect::kCast &&
         (op.type == "all_reduce" || op.type == "reduce_scatter" ||
          op.type == "all_gather");
}

std::span<const std::int64_t> rank_group(const ir::Graph& graph,
                                         ir::NodeId node) {
  const ir::Attribute* group = graph.attribute(node, "rank_group");
  return group != nullptr ? group->ints : std::span<const std::int64_t>();
}

std::vector<Transfer> transfers(const ir::Graph& graph, ir::Facts& facts) {
  std::vector<Transfer> out;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId node(i);
    if (graph.node(node).removed || !is_collective(graph.op(node))) continue;
    out.push_back({node, bytes_sent(graph, facts, node)});
  }
  return out;
}

}  // namespace ruleengine::analysis
