#include "core/ranks/residual_chains.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/ir/model.h"
#include "core/ir/order.h"
#include "core/ir/shapes.h"
#include "core/ops/axis_flow.h"
#include "core/ops/dialect.h"
#include "core/ranks/chain_ends.h"
#include "core/ranks/communication.h"
#include "core/ranks/layout.h"

namespace ruleengine::ranks {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

using Reason = std::optional<std::string>;  // why not

// The owner of nodes that cannot be on a chain.
constexpr auto kNobody = std::numeric_limits<std::uint32_t>::max();

bool is_op(const ir::Graph& graph, NodeId node, std::string_view type) {
  return node && graph.op(node).is(ops::dialect::kCast, type);
}

// The rank whose program this is, as a collective states it.
std::optional<std::int64_t> own_rank(const ir::Graph& graph, NodeId node) {
  const ir::Attribute* rank = graph.attribute(node, "rank");
  return rank != nullptr ? std::optional(rank->i) : std::nullopt;
}

std::string rank_text(std::optional<std::int64_t> rank) {
  return rank ? std::to_string(*rank) : "not stated";
}

std::string ranks_text(std::span<const std::int64_t> group) {
  constexpr std::size_t kShown = 8;
  const auto shown = group.first(std::min(group.size(), kShown));
  return fmt::format("{{{}{}}}", fmt::join(shown, ","),
                     group.size() > kShown ? ",..." : "");
}

// Whether the two are equal, or equal except for one more leading 1.
bool differ_in_a_one(std::span<const Dim> a, std::span<const Dim> b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.size() == b.size()) return std::ranges::equal(a, b);
  return b.size() == 3 && a.size() == 2 && b[0] == Dim(1) &&
         std::ranges::equal(a, b.subspan(1));
}

// Whether a Reshape to these sizes is possible: at most one may be -1.
bool can_say_sizes(std::span<const Dim> dims) {
  const auto unknown = [](Dim d) { return !d.known(); };
  return std::ranges::count_if(dims, unknown) <= 1 &&
         std::ranges::find(dims, Dim(0)) == dims.end();  // 0 copies a size
}

// What the chains of one graph share: facts about the graph, and owners of
// nodes.
struct Seen {
  Seen(const ir::Graph& of, ir::Facts& known)
      : graph(of),
        facts(known),
        place(of.node_count(), 0),
        owner(of.node_count(), 0) {
    if (auto sorted = ir::topological_order(graph)) order = *std::move(sorted);
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i].index()] = i;
  }

  // Whether all inputs of the node other than shares are the same on the ranks.
  bool has_replicated_settings(NodeId node, const ops::AxisFlow& flow,
                               Group group) const {
    const auto inputs = graph.inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (flow.inputs[i] != ops::AxisFlow::kSame || !inputs[i].value) continue;
      if (ops::reads_type_only(graph.op(node), i)) continue;
      if (!is_replicated(facts.layout(inputs[i].value), group)) return false;
    }
    return true;
  }

  // The flow of the node along this axis of its operand. Failures are cached:
  // operands with equal sizes get the same answer, and there may be many.
  std::optional<ops::AxisFlow> flow(NodeId node, ops::Port port, int axis) {
    const ValueId value = port.output ? graph.output(node, port.index)
                                      : graph.input(node, port.index);
    const ir::Type* type = ranked_type(facts, value);
    if (type == nullptr || axis >= static_cast<int>(type->rank())) return {};
    const auto at = static_cast<std::size_t>(axis);
    const std::uint64_t side = port.output ? 2 : port.index > 0 ? 1 : 0;
    const std::uint64_t key = (((std::uint64_t{node.index()} << 2 | side) << 1 |
                                (type->dims[at] == Dim(1) ? 1 : 0))
                               << 16) |
                              std::min(type->rank() - at, std::size_t{0xffff});
    if (refused.contains(key)) return {};
    auto found = ops::axis_flow(graph, facts, node, port, axis);
    if (found && graph.op(node).standard("Reshape") &&
        !can_say_sizes(facts.type(graph.output(node))->dims)) {
      found.reset();
    }
    if (!found) refused.insert(key);
    return found;
  }

  const ir::Graph& graph;
  ir::Facts& facts;
  std::vector<NodeId> order;
  std::vector<std::size_t> place;    // by node: its position in `order`
  std::vector<std::uint32_t> owner;  // by node: number of its chain; 0: none
  std::vector<Group> groups;         // of the chains
  std::unordered_set<std::uint64_t> refused;
};

// Follows one chain. A node that belongs to an earlier chain stays there.
class Tracer {
 public:
  Tracer(Seen& seen, const ChainOptions& options, NodeId sum)
      : seen_(seen),
        graph_(seen.graph),
        facts_(seen.facts),
        options_(options),
        rank_(own_rank(graph_, sum)) {
    chain_.sum = sum;
    chain_.group = rank_group(graph_, sum);
    seen_.groups.push_back(chain_.group);
    number_ = static_cast<std::uint32_t>(seen_.groups.size());
  }

  Trace trace(int axis) && {
    const ValueId start = graph_.output(chain_.sum);
    admit(start, axis);
    for (std::size_t i = 0; i < trace_.values.size(); ++i) {
      const Share each = trace_.values[i];
      if (comes_as_share(each)) follow(each);
    }
    std::ranges::sort(chain_.nodes, {},
                      [&](NodeId n) { return seen_.place[n.index()]; });
    return std::move(trace_);
  }

 private:
  void breaks(ValueId value, std::string reason) {
    break_chain(chain_, {value, std::move(reason)});
  }

  // --- What hangs together ---------------------------------------------------

  void admit(ValueId value, int axis) {
    const auto [at, is_new] = axes_.try_emplace(value, axis);
    if (is_new) {
      trace_.values.push_back({value, axis});
    } else if (at->second != axis) {
      breaks(value, kTwoTokenAxes);
    }
  }

  void follow(const Share& from) {
    const ir::BlockId block = graph_.value(from.value).block;
    for (auto u = graph_.first_use(from.value); u; u = graph_.next_use(u)) {
      const NodeId user = graph_.operand(u).user;
      if (graph_.node(user).block != block) continue;
      take(user, {false, graph_.operand_index(u)}, from.axis);
    }
  }

  // Whether the value is available as a share. If not, the chain ends here:
  // with an entry or with a whole value.
  bool comes_as_share(const Share& each) {
    const NodeId node = graph_.producer(each.value);
    const std::uint32_t owner = node ? seen_.owner[node.index()] : 0;
    if (owner != 0 && owner != number_ && owner != kNobody) {
      return ends(each, other_ranks(seen_.groups[owner - 1]));
    }
    const bool is_sum = is_op(graph_, node, "all_reduce");
    if (is_sum || is_op(graph_, node, "all_gather")) {
      const auto group = rank_group(graph_, node);
      if (!std::ranges::equal(group, chain_.group)) {
        return ends(each, other_ranks(group));
      }
      const Reason reason = refusal(node, each.axis);
      if (!reason) return enter(node);
      if (!is_sum) return ends(each, *reason);
      // The whole chain stays unchanged, for this one reason.
      breaks(each.value, *reason);
      seen_.owner[node.index()] = number_;
      return true;
    }
    const ops::Port port{true, graph_.value(each.value).output_index};
    if (node && take(node, port, each.axis)) return true;
    if (!can_be_sliced(each.value)) {
      return ends(each, "it is whole on every rank, as far as one can tell");
    }
    if (!options_.slices) return ends(each, "it is whole on every rank", true);
    if (!rank_) {
      return ends(each,
                  "no slice of it can be taken: the model does not say which "
                  "rank it is");
    }
    chain_.entries.push_back(each);
    return false;
  }

  bool ends(const Share& each, std::string reason, bool sliceable = false) {
    trace_.leaves.push_back({each.value, std::move(reason), sliceable});
    return false;
  }

  bool enter(NodeId node) {
    if (std::exchange(seen_.owner[node.index()], number_) != number_) {
      chain_.nodes.push_back(node);
    }
    return true;
  }

  // Adds a node that treats each token by itself, with all its operands; else
  // changes nothing.
  bool take(NodeId node, ops::Port port, int axis) {
    const std::uint32_t owner = seen_.owner[node.index()];
    if (owner != 0) return owner == number_;
    const auto flow = seen_.flow(node, port, axis);
    if (!flow) return false;
    if (!seen_.has_replicated_settings(node, *flow, chain_.group)) {
      seen_.owner[node.index()] = kNobody;
      return false;
    }
    enter(node);
    for (std::size_t i = 0; i < flow->inputs.size(); ++i) {
      if (flow->inputs[i] == ops::AxisFlow::kSame) continue;
      admit(graph_.input(node, i), flow->inputs[i]);
    }
    for (std::size_t i = 0; i < flow->outputs.size(); ++i) {
      if (flow->outputs[i] == ops::AxisFlow::kSame) continue;
      admit(graph_.output(node, i), flow->outputs[i]);
    }
    return true;
  }

  // --- What brings shares in -------------------------------------------------

  std::string other_ranks(std::span<const std::int64_t> group) const {
    if (std::ranges::equal(group, chain_.group)) {
      return "it belongs to another chain";
    }
    return "its ranks are " + ranks_text(group) + ", those of the chain " +
           ranks_text(chain_.group);
  }

  // Why this collective gives no share along the axis; none if it does.
  Reason refusal(NodeId node, int axis) {
    const ir::Type* from = ranked_type(facts_, graph_.input(node, 0));
    const ir::Type* to = ranked_type(facts_, graph_.output(node));
    if (from == nullptr || to == nullptr) return "its shape is not known";
    if (const auto name = unknown_attribute(graph_, node); !name.empty()) {
      return "its attribute '" + printable(name, 60) + "' is unknown";
    }
    if (const auto rank = own_rank(graph_, node); rank != rank_) {
      return "its rank is " + rank_text(rank) + ", that of the chain " +
             rank_text(rank_);
    }
    if (is_op(graph_, node, "all_gather")) {
      const ir::Attribute* dim = graph_.attribute(node, "dim");
      const auto at =
          ir::place_of_axis(dim == nullptr ? 0 : dim->i, to->rank());
      if (at && static_cast<int>(*at) == axis) return std::nullopt;
      return "it is gathered along the wrong axis";
    }
    if (axis != token_axis(to->rank())) return kTwoTokenAxes;
    if (!differ_in_a_one(from->dims, to->dims)) {
      return "the declared shape of the sum is not that of its terms";
    }
    if (from->rank() != to->rank() && !can_say_sizes(to->dims)) {
      return "its sizes cannot be computed";
    }
    return std::nullopt;
  }

  // An input, a constant, or rows of a constant that are selected by an input.
  bool can_be_sliced(ValueId value) {
    while (true) {
      if (!is_replicated(facts_.layout(value), chain_.group)) return false;
      if (graph_.value(value).kind == ir::ValueKind::kInput ||
          facts_.is_constant(value)) {
        return true;
      }
      const NodeId node = graph_.producer(value);
      if (!node) return false;
      const ir::Op& op = graph_.op(node);
      if (op.standard("Gather")) {
        if (!facts_.is_constant(graph_.input(node, 0))) return false;
        value = graph_.input(node, 1);
      } else if (op.standard("Cast") || op.standard("Identity") ||
                 op.standard("Reshape") || op.standard("Unsqueeze")) {
        value = graph_.input(node, 0);
      } else {
        return false;
      }
    }
  }

  Seen& seen_;
  const ir::Graph& graph_;
  ir::Facts& facts_;
  const ChainOptions& options_;
  std::optional<std::int64_t> rank_;
  std::uint32_t number_ = 0;
  Trace trace_;
  ResidualChain& chain_ = trace_.chain;
  std::unordered_map<ValueId, int> axes_;
};

}  // namespace

std::vector<ResidualChain> residual_chains(const ir::Graph& graph,
                                           ir::Facts& facts,
                                           const ChainOptions& options) {
  std::vector<ResidualChain> out;
  Seen seen(graph, facts);
  for (NodeId node : seen.order) {
    if (!is_op(graph, node, "all_reduce")) continue;
    const ir::Type* type = ranked_type(facts, graph.output(node));
    if (seen.owner[node.index()] != 0 || type == nullptr || type->rank() < 2 ||
        rank_group(graph, node).size() < 2 ||
        graph.node(node).block != ir::Graph::main_block()) {
      continue;
    }
    Trace trace = Tracer(seen, options, node).trace(token_axis(type->rank()));
    out.push_back(settled(graph, facts, std::move(trace)));
  }
  return out;
}

}  // namespace ruleengine::ranks
