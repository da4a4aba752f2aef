#include "core/analysis/residual_chains.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/analysis/axis_flow.h"
#include "core/analysis/chain_ends.h"
#include "core/analysis/communication.h"
#include "core/analysis/order.h"
#include "core/ir/dialect.h"
#include "core/ir/model.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

using Reason = std::optional<std::string>;  // why not

bool is_op(const ir::Graph& graph, NodeId node, std::string_view type) {
  return node && graph.op(node).is(ir::dialect::kCast, type);
}

// The axis of tokens of what collectives work on: [tokens, width], or [batch,
// tokens, ...].
int token_axis(std::size_t rank) { return rank == 2 ? 0 : 1; }

// One graph. What was seen of it stays seen: chains share no value.
class Tracer {
 public:
  Tracer(const ir::Graph& graph, ir::Facts& facts, const ChainOptions& options)
      : marks_(graph, facts), graph_(graph), facts_(facts), options_(options) {
    if (auto order = topological_order(graph)) order_ = *std::move(order);
    place_.resize(graph.node_count(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      place_[order_[i].index()] = i;
    }
    owner_.resize(graph.value_count(), 0);
    tried_.resize(graph.node_count(), false);
  }

  std::vector<ResidualChain> all() {
    std::vector<ResidualChain> out;
    for (NodeId node : order_) {
      if (!is_op(graph_, node, "all_reduce")) continue;
      const ValueId sum = graph_.output(node);
      const auto type = marks_.tensor(sum);
      if (tried_[node.index()] || rank_group(graph_, node).size() < 2 ||
          type == nullptr || type->rank() < 2 ||
          graph_.node(node).block != ir::Graph::main_block()) {
        continue;
      }
      ++chain_number_;
      out.push_back(chain_of(node, token_axis(type->rank())));
    }
    return out;
  }

 private:
  ResidualChain chain_of(NodeId sum, int axis) {
    chain_ = ResidualChain();
    chain_.group = rank_group(graph_, sum);
    const ir::Attribute* rank = graph_.attribute(sum, "rank");
    const auto at = std::ranges::find(chain_.group, rank ? rank->i : 0);
    chain_.place = at - chain_.group.begin();
    leaves_.clear();
    values_.clear();
    const ValueId start = graph_.output(sum);
    if (at == chain_.group.end()) {
      breaks(start, "the rank is not one of its group");
    }
    owner_[start.index()] = 0;  // perhaps seen from a chain of another group
    admit(start, axis);
    for (std::size_t i = 0; i < values_.size(); ++i) follow(values_[i]);
    std::ranges::sort(chain_.nodes, {},
                      [&](NodeId n) { return place_[n.index()]; });
    settle_chain(marks_, leaves_, chain_);
    const auto norms = [&](NodeId n) { return is_normalizing(graph_.op(n)); };
    if (std::ranges::none_of(chain_.nodes, norms)) {
      breaks(start, "there is no norm in it");
    }
    return std::move(chain_);
  }

  void breaks(ValueId value, std::string reason) {
    break_chain(chain_, value, std::move(reason));
  }

  // --- What hangs together ---------------------------------------------------

  void admit(ValueId value, int axis) {
    std::uint32_t& owner = owner_[value.index()];
    int& known = marks_.axis[value.index()];
    if (owner == 0) {
      owner = chain_number_;
      known = axis;
      values_.push_back(value);
    } else if (owner != chain_number_) {
      leaves_.push_back({value, "it is summed over other ranks as well"});
    } else if (known != axis) {
      breaks(value, kTwoTokenAxes);
    }
  }

  void follow(ValueId value) {
    comes_from(value);
    const ir::BlockId block = graph_.value(value).block;
    for (auto u = graph_.first_use(value); u; u = graph_.next_use(u)) {
      const NodeId user = graph_.operand(u).user;
      if (graph_.node(user).block != block) continue;
      take(user, {false, graph_.operand_index(u)}, marks_.axis[value.index()]);
    }
  }

  void comes_from(ValueId value) {
    const NodeId node = graph_.producer(value);
    const int axis = marks_.axis[value.index()];
    const bool is_sum = is_op(graph_, node, "all_reduce");
    if (is_sum || is_op(graph_, node, "all_gather")) {
      const auto group = rank_group(graph_, node);
      if (!std::ranges::equal(group, chain_.group)) {
        leaves_.push_back({value, "its ranks are " + ranks_text(group) +
                                      ", those of the chain " +
                                      ranks_text(chain_.group)});
        return;
      }
      tried_[node.index()] = true;
      const Reason reason = refusal(node, axis);
      if (!reason) return enter(node);
      if (is_sum) breaks(value, *reason);
      leaves_.push_back({value, *reason});
      return;
    }
    const bool taken =
        node && take(node, {true, graph_.value(value).output_index}, axis);
    if (taken) return;
    if (const Reason reason = entry_refusal(value, axis)) {
      leaves_.push_back({value, *reason});
    } else {
      chain_.entries.push_back({value, axis});
    }
  }

  void enter(NodeId node) {
    if (marks_.inside[node.index()]) return;
    marks_.inside[node.index()] = true;
    chain_.nodes.push_back(node);
  }

  // Takes a node that works token by token in; all of it, or nothing.
  bool take(NodeId node, Port port, int axis) {
    if (marks_.inside[node.index()]) return true;
    const auto flow = axis_flow(graph_, facts_, node, port, axis);
    if (!flow) return false;
    enter(node);
    for (std::size_t i = 0; i < flow->inputs.size(); ++i) {
      if (flow->inputs[i] == AxisFlow::kSame) continue;
      admit(graph_.input(node, i), flow->inputs[i]);
    }
    for (std::size_t i = 0; i < flow->outputs.size(); ++i) {
      if (flow->outputs[i] == AxisFlow::kSame) continue;
      admit(graph_.output(node, i), flow->outputs[i]);
    }
    return true;
  }

  // --- What brings shares in -------------------------------------------------

  static std::string ranks_text(std::span<const std::int64_t> group) {
    constexpr std::size_t kShown = 8;
    std::string out;
    for (std::size_t i = 0; i < group.size() && i < kShown; ++i) {
      out += (i > 0 ? "," : "") + std::to_string(group[i]);
    }
    return "{" + out + (group.size() > kShown ? ",...}" : "}");
  }

  // Why this collective brings no share along the axis; none: it does.
  Reason refusal(NodeId node, int axis) {
    const ir::Type* from = marks_.tensor(graph_.input(node, 0));
    const ir::Type* to = marks_.tensor(graph_.output(node));
    if (from == nullptr || to == nullptr) return "its shape is not known";
    if (is_op(graph_, node, "all_gather")) {
      const ir::Attribute* dim = graph_.attribute(node, "dim");
      const auto rank = static_cast<std::int64_t>(to->rank());
      const std::int64_t at = dim == nullptr ? 0 : dim->i;
      if ((at < 0 ? at + rank : at) == axis) return std::nullopt;
      return "it is gathered along another axis";
    }
    if (axis != token_axis(to->rank())) return kTwoTokenAxes;
    if (!differ_in_a_one(from->dims, to->dims)) {
      return "the sum is said to have another shape than its terms";
    }
    return uneven(to->dims[static_cast<std::size_t>(axis)]);
  }

  Reason uneven(Dim tokens) const {
    if (!tokens.known()) {
      return "the number of tokens is symbolic, only a fixed one is shared out";
    }
    const auto ranks = static_cast<std::int64_t>(chain_.group.size());
    if (tokens.size() % ranks == 0 || options_.uneven) return std::nullopt;
    return std::to_string(tokens.size()) +
           " tokens cannot be shared out evenly among " +
           std::to_string(ranks) + " ranks (chain.uneven=true pads them)";
  }

  // Equal, or one has a leading 1 more.
  static bool differ_in_a_one(std::span<const Dim> a, std::span<const Dim> b) {
    if (a.size() > b.size()) std::swap(a, b);
    if (a.size() == b.size()) return std::ranges::equal(a, b);
    return b.size() == 3 && a.size() == 2 && b[0] == Dim(1) &&
           std::ranges::equal(a, b.subspan(1));
  }

  Reason entry_refusal(ValueId value, int axis) {
    if (!is_same_everywhere(value)) {
      return "it is whole on every rank, as far as one can tell";
    }
    if (!options_.entry) {
      return "it is whole on every rank (chain.entry=true takes slices of "
             "inputs and constants)";
    }
    const ir::Type* type = marks_.tensor(value);
    if (type == nullptr) return "its shape is not known";
    return uneven(type->dims[static_cast<std::size_t>(axis)]);
  }

  // An input, a constant, or rows of a constant that an input picks.
  bool is_same_everywhere(ValueId value) {
    while (true) {
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

  ChainMarks marks_;
  const ir::Graph& graph_;
  ir::Facts& facts_;
  ChainOptions options_;
  std::vector<NodeId> order_;
  std::vector<std::size_t> place_;    // by node: in the order
  std::vector<std::uint32_t> owner_;  // by value: the chain that saw it
  std::vector<bool> tried_;           // by node: a sum that was seen as its own
  std::uint32_t chain_number_ = 0;
  ResidualChain chain_;
  std::vector<ChainLeaf> leaves_;
  std::vector<ValueId> values_;  // of the chain, as they were found
};

}  // namespace

std::vector<ResidualChain> residual_chains(const ir::Graph& graph,
                                           ir::Facts& facts,
                                           const ChainOptions& options) {
  return Tracer(graph, facts, options).all();
}

}  // namespace ruleengine::analysis
