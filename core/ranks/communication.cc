#include "core/ranks/communication.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/ir/model.h"
#include "core/ir/shapes.h"
#include "core/ops/op_row.h"

namespace ruleengine::ranks {
namespace {

std::optional<double> bytes_sent(const ir::Graph& graph, ir::Facts& facts,
                                 ir::NodeId node) {
  const ir::ValueId input = graph.input(node, 0);
  const auto bytes = known_bytes(input ? facts.type(input) : nullptr);
  const auto group = rank_group(graph, node);
  if (!bytes || group.empty()) return std::nullopt;
  const auto ranks = static_cast<double>(group.size());
  const std::string_view op = graph.op(node).type;
  if (op == "all_gather") return (ranks - 1) * *bytes;
  return (op == "all_reduce" ? 2 : 1) * (ranks - 1) / ranks * *bytes;
}

bool is_in_loop(const ir::Graph& graph, ir::NodeId node) {
  for (ir::NodeId owner = graph.block(graph.node(node).block).owner; owner;
       owner = graph.block(graph.node(owner).block).owner) {
    const ir::Op& op = graph.op(owner);
    if (op.standard("Loop") || op.standard("Scan")) return true;
  }
  return false;
}

// There is no recursion of functions: loading rejects it.
class Counter {
 public:
  explicit Counter(ir::Facts* facts) : facts_(facts) {}

  Traffic count(const ir::Graph& graph) {
    Traffic out;
    for (const ir::NodeId node : graph.live_nodes()) {
      const ir::Op& op = graph.op(node);
      if (is_collective(op)) {
        Sent& sent = out[std::string(op.type)];
        const auto bytes = facts_ != nullptr && !is_in_loop(graph, node)
                               ? bytes_sent(graph, *facts_, node)
                               : std::nullopt;
        ++sent.nodes;
        sent.unknown += bytes ? 0 : 1;
        sent.bytes += bytes.value_or(0);
      } else if (const ir::Function* called = graph.model().find_function(op)) {
        for (const auto& [type, sent] : in(*called)) {
          out[type].nodes = sum(out[type].nodes, sent.nodes);
          out[type].unknown = sum(out[type].unknown, sent.nodes);
        }
      }
    }
    return out;
  }

 private:
  // Saturates: a few functions that call each other twice give very many calls.
  static std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kMany = 1'000'000'000'000;
    return std::min(a + b, kMany);
  }

  const Traffic& in(const ir::Function& function) {
    const auto at = functions_.find(&function);
    if (at != functions_.end()) return at->second;
    ir::Facts* const outer = std::exchange(facts_, nullptr);
    Traffic found = count(function.body);
    facts_ = outer;
    return functions_.emplace(&function, std::move(found)).first->second;
  }

  ir::Facts* facts_;  // nullptr in functions
  std::unordered_map<const ir::Function*, Traffic> functions_;
};

}  // namespace

bool is_collective(const ir::Op& op) {
  return !op.domain.empty() && ops::roles_of(op).collective;
}

std::span<const std::int64_t> rank_group(const ir::Graph& graph,
                                         ir::NodeId node) {
  const ir::Attribute* group = graph.attribute(node, "rank_group");
  return group != nullptr ? group->ints : std::span<const std::int64_t>();
}

std::string_view unknown_attribute(const ir::Graph& graph, ir::NodeId node) {
  static constexpr std::string_view kKnown[] = {"dim", "rank", "rank_group"};
  for (const ir::Attribute& a : graph.node(node).attributes) {
    if (std::ranges::find(kKnown, a.name) == std::end(kKnown)) return a.name;
  }
  return {};
}

std::optional<double> known_bytes(const ir::Type* type) {
  const auto count = known_count(type);
  if (!count || ir::bit_width(type->elem) == 0) return std::nullopt;
  return static_cast<double>(*count) * ir::bit_width(type->elem) / 8;
}

Traffic traffic(const ir::Graph& graph, ir::Facts& facts) {
  return Counter(&facts).count(graph);
}

}  // namespace ruleengine::ranks
