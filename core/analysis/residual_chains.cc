#include "core/analysis/residual_chains.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "core/analysis/axis_flow.h"
#include "core/analysis/communication.h"
#include "core/analysis/order.h"
#include "core/analysis/shapes.h"
#include "core/ir/dialect.h"
#include "core/ir/model.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

constexpr int kUnseen = -1;
constexpr const char* kOtherGroup = "it belongs to another group of ranks";
constexpr const char* kOtherReader = "something else reads the residual";
constexpr const char* kTwoAxes = "its tokens lie along two axes";

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
      : graph_(graph), facts_(facts), options_(options) {
    if (auto order = topological_order(graph)) order_ = *std::move(order);
    place_.resize(graph.node_count(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      place_[order_[i].index()] = i;
    }
    axis_.resize(graph.value_count(), kUnseen);
    owner_.resize(graph.value_count(), 0);
    inside_.resize(graph.node_count(), false);
    tried_.resize(graph.node_count(), false);
    normed_.resize(graph.value_count(), false);
  }

  std::vector<ResidualChain> all() {
    std::vector<ResidualChain> out;
    for (NodeId node : order_) {
      if (!is_op(graph_, node, "all_reduce")) continue;
      const ValueId sum = graph_.output(node);
      const auto type = tensor(sum);
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
  struct Leaf {
    ValueId value;
    const char* reason;
  };

  const ir::Type* tensor(ValueId v) {
    const ir::Type* t = facts_.type(v);
    return t != nullptr && t->is_tensor() && t->has_shape ? t : nullptr;
  }

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
    settle();
    const auto norms = [&](NodeId n) { return is_normalizing(graph_.op(n)); };
    if (std::ranges::none_of(chain_.nodes, norms)) {
      breaks(start, "there is no norm in it");
    }
    return std::move(chain_);
  }

  void breaks(ValueId value, const char* reason) {
    if (!chain_.broken.empty()) return;
    chain_.broken = reason;
    chain_.culprit = value;
  }

  // --- What hangs together ---------------------------------------------------

  void admit(ValueId value, int axis) {
    std::uint32_t& owner = owner_[value.index()];
    int& known = axis_[value.index()];
    if (owner == 0) {
      owner = chain_number_;
      known = axis;
      values_.push_back(value);
    } else if (owner != chain_number_) {
      leaves_.push_back({value, kOtherGroup});
    } else if (known != axis) {
      breaks(value, kTwoAxes);
    }
  }

  void follow(ValueId value) {
    comes_from(value);
    const ir::BlockId block = graph_.value(value).block;
    for (auto u = graph_.first_use(value); u; u = graph_.next_use(u)) {
      const NodeId user = graph_.operand(u).user;
      if (graph_.node(user).block != block) continue;
      take(user, {false, graph_.operand_index(u)}, axis_[value.index()]);
    }
  }

  void comes_from(ValueId value) {
    const NodeId node = graph_.producer(value);
    const int axis = axis_[value.index()];
    const bool is_sum = is_op(graph_, node, "all_reduce");
    if (is_sum || is_op(graph_, node, "all_gather")) {
      const char* reason = refusal(node, axis);
      const bool is_own = reason != kOtherGroup;
      tried_[node.index()] = is_own;
      if (reason == nullptr) return enter(node);
      if (is_sum && is_own) breaks(value, reason);
      leaves_.push_back({value, reason});
      return;
    }
    const bool taken =
        node && take(node, {true, graph_.value(value).output_index}, axis);
    if (taken) return;
    if (const char* reason = entry_refusal(value, axis)) {
      leaves_.push_back({value, reason});
    } else {
      chain_.entries.push_back({value, axis});
    }
  }

  void enter(NodeId node) {
    if (inside_[node.index()]) return;
    inside_[node.index()] = true;
    chain_.nodes.push_back(node);
  }

  // Takes a node that works token by token in; all of it, or nothing.
  bool take(NodeId node, Port port, int axis) {
    if (inside_[node.index()]) return true;
    const auto flow = flow_of(node, port, axis);
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

  std::optional<AxisFlow> flow_of(NodeId node, Port port, int axis) {
    if (!has_axis_flow(graph_.op(node))) return std::nullopt;
    std::vector<const ir::Type*> in, out;
    for (const ir::Operand& o : graph_.inputs(node)) {
      in.push_back(o.value ? facts_.type(o.value) : nullptr);
    }
    for (ValueId v : graph_.outputs(node)) {
      out.push_back(v ? facts_.type(v) : nullptr);
    }
    return axis_flow(graph_, node, {in, out}, port, axis);
  }

  // --- What brings shares in -------------------------------------------------

  // Why this collective brings no share along the axis; nullptr: it does.
  const char* refusal(NodeId node, int axis) {
    if (!std::ranges::equal(rank_group(graph_, node), chain_.group)) {
      return kOtherGroup;
    }
    const ir::Type* from = tensor(graph_.input(node, 0));
    const ir::Type* to = tensor(graph_.output(node));
    if (from == nullptr || to == nullptr) return "its shape is not known";
    if (is_op(graph_, node, "all_gather")) {
      const ir::Attribute* dim = graph_.attribute(node, "dim");
      const auto rank = static_cast<std::int64_t>(to->rank());
      const std::int64_t at = dim == nullptr ? 0 : dim->i;
      return (at < 0 ? at + rank : at) == axis
                 ? nullptr
                 : "it is gathered along another axis";
    }
    if (axis != token_axis(to->rank())) return kTwoAxes;
    if (!differ_in_a_one(from->dims, to->dims)) {
      return "the sum is said to have another shape than its terms";
    }
    return uneven(to->dims[static_cast<std::size_t>(axis)]);
  }

  const char* uneven(Dim tokens) const {
    if (!tokens.known()) return "the number of tokens is symbolic";
    const auto ranks = static_cast<std::int64_t>(chain_.group.size());
    if (tokens.size() % ranks == 0 || options_.uneven) return nullptr;
    return "the tokens cannot be shared out evenly";
  }

  // Equal, or one has a leading 1 more.
  static bool differ_in_a_one(std::span<const Dim> a, std::span<const Dim> b) {
    if (a.size() > b.size()) std::swap(a, b);
    if (a.size() == b.size()) return std::ranges::equal(a, b);
    return b.size() == 3 && a.size() == 2 && b[0] == Dim(1) &&
           std::ranges::equal(a, b.subspan(1));
  }

  const char* entry_refusal(ValueId value, int axis) {
    constexpr auto kWhole = "it is whole on every rank, as far as one can tell";
    if (!options_.entry || !is_same_everywhere(value)) return kWhole;
    const ir::Type* type = tensor(value);
    return type == nullptr ? "its shape is not known"
                           : uneven(type->dims[static_cast<std::size_t>(axis)]);
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

  // --- What becomes of it ----------------------------------------------------

  void settle() {
    std::ranges::sort(chain_.nodes, {},
                      [&](NodeId n) { return place_[n.index()]; });
    check_operands();
    find_normed();
    for (const Leaf& leaf : leaves_) give_up(leaf.value, leaf.reason);
    drop_side_ways();
    trim_ends();
    std::erase_if(chain_.nodes, [&](NodeId n) { return !inside_[n.index()]; });
    list_shares();
    check_exits();
  }

  // A node may read one value in two places, which mean two axes.
  void check_operands() {
    for (NodeId node : chain_.nodes) {
      if (!has_axis_flow(graph_.op(node))) continue;
      std::optional<AxisFlow> flow;
      const auto inputs = graph_.inputs(node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const int axis =
            inputs[i].value ? axis_[inputs[i].value.index()] : kUnseen;
        if (axis == kUnseen) continue;
        if (!flow) flow = flow_of(node, {false, i}, axis);
        if (!flow || flow->inputs[i] != axis) {
          breaks(inputs[i].value, kTwoAxes);
        }
      }
    }
  }

  // Values that norms made, and what factors made of them; a sum is normed
  // where all its terms are.
  void find_normed() {
    for (NodeId node : chain_.nodes) {
      const ir::Op& op = graph_.op(node);
      const bool is_sum =
          op.standard("Add") || op.standard("Sub") || op.standard("Sum");
      bool any = is_normalizing(op), all = true;
      for (const ir::Operand& o : graph_.inputs(node)) {
        if (!o.value || axis_[o.value.index()] == kUnseen) continue;
        any = any || normed_[o.value.index()];
        all = all && normed_[o.value.index()];
      }
      const bool normed = is_normalizing(op) || (is_sum ? all && any : any);
      const auto outputs = graph_.outputs(node);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i]) normed_[outputs[i].index()] = normed;
      }
      if (const int sum = sum_output(op); sum > 0) {
        const ValueId residual =
            graph_.output(node, static_cast<std::size_t>(sum));
        if (residual) normed_[residual.index()] = false;
      }
    }
  }
  // Which output of a norm is the sum that it normalizes; 0: none.
  static int sum_output(const ir::Op& op) {
    if (op.type == "add_rms_norm2") return 1;
    return op.type.starts_with("Skip") ? 3 : 0;
  }

  // Of `value` there is no share, so its readers work on whole tensors, which
  // are gathered for them. A chain breaks where that takes a residual.
  void give_up(ValueId value, const char* reason) {
    std::vector<ValueId> whole = {value};
    while (!whole.empty()) {
      const ValueId v = whole.back();
      whole.pop_back();
      axis_[v.index()] = kUnseen;
      for (auto u = graph_.first_use(v); u; u = graph_.next_use(u)) {
        const NodeId user = graph_.operand(u).user;
        if (!inside_[user.index()]) continue;
        inside_[user.index()] = false;
        for (const ir::Operand& o : graph_.inputs(user)) {
          if (!o.value || axis_[o.value.index()] == kUnseen) continue;
          if (!normed_[o.value.index()]) breaks(value, reason);
        }
        for (ValueId out : graph_.outputs(user)) {
          if (out && axis_[out.index()] != kUnseen) whole.push_back(out);
        }
      }
    }
  }

  // What is neither residual nor norm, nor leads to one, is another reader.
  void drop_side_ways() {
    std::vector<bool> leads(graph_.value_count(), false);
    for (NodeId node : std::views::reverse(chain_.nodes)) {
      if (!inside_[node.index()]) continue;
      const ir::Op& op = graph_.op(node);
      const auto reaches = [&](ValueId v) {
        return v && (normed_[v.index()] || leads[v.index()]);
      };
      const bool on_the_way =
          is_normalizing(op) ||
          std::ranges::any_of(graph_.outputs(node), reaches);
      if (!on_the_way && !is_linear(op) && !is_collective(op)) {
        inside_[node.index()] = false;
        for (ValueId v : graph_.outputs(node)) {
          if (v && axis_[v.index()] != kUnseen) give_up(v, kOtherReader);
        }
        continue;
      }
      if (!on_the_way) continue;
      for (const ir::Operand& o : graph_.inputs(node)) {
        if (o.value) leads[o.value.index()] = true;
      }
    }
  }

  // A node at the end whose result is more to gather than what it reads works
  // on whole tensors: a Cast to a wider type, a DequantizeLinear.
  void trim_ends() {
    for (NodeId node : std::views::reverse(chain_.nodes)) {
      const ir::Op& op = graph_.op(node);
      if (!inside_[node.index()] || is_normalizing(op) || is_collective(op)) {
        continue;
      }
      double before = 0, after = 0;
      bool is_end = true;
      for (const ir::Operand& o : graph_.inputs(node)) {
        if (!o.value || axis_[o.value.index()] == kUnseen) continue;
        is_end = is_end && normed_[o.value.index()];
        if (!is_gathered(o.value)) before += bytes(o.value);
      }
      for (ValueId v : graph_.outputs(node)) {
        if (!v || axis_[v.index()] == kUnseen) continue;
        is_end = is_end && !is_read_inside(v);
        after += bytes(v);
      }
      if (!is_end || after <= before) continue;
      inside_[node.index()] = false;
      for (ValueId v : graph_.outputs(node)) {
        if (v) axis_[v.index()] = kUnseen;
      }
    }
  }
  bool is_read_inside(ValueId v) const {
    for (auto u = graph_.first_use(v); u; u = graph_.next_use(u)) {
      if (inside_[graph_.operand(u).user.index()]) return true;
    }
    return false;
  }
  bool is_gathered(ValueId v) const {
    if (graph_.value(v).block_output_count > 0) return true;
    for (auto u = graph_.first_use(v); u; u = graph_.next_use(u)) {
      if (!inside_[graph_.operand(u).user.index()]) return true;
    }
    return false;
  }
  // 0 where nothing is known.
  double bytes(ValueId v) {
    const ir::Type* type = tensor(v);
    const auto count = type != nullptr ? known_count(type->dims) : std::nullopt;
    return count ? static_cast<double>(*count) * ir::bit_width(type->elem) / 8
                 : 0;
  }

  void list_shares() {
    for (NodeId node : chain_.nodes) {
      for (ValueId v : graph_.outputs(node)) {
        if (v && axis_[v.index()] != kUnseen) {
          chain_.shares.push_back({v, axis_[v.index()]});
        }
      }
    }
    std::erase_if(chain_.entries, [&](const Share& s) {
      return axis_[s.value.index()] == kUnseen;
    });
  }

  // Only norms, and residuals that are outputs of the model, may be gathered.
  void check_exits() {
    for (const Share& share : chain_.shares) {
      if (normed_[share.value.index()]) continue;
      for (auto u = graph_.first_use(share.value); u; u = graph_.next_use(u)) {
        if (!inside_[graph_.operand(u).user.index()]) {
          breaks(share.value, kOtherReader);
        }
      }
    }
  }

  const ir::Graph& graph_;
  ir::Facts& facts_;
  ChainOptions options_;
  std::vector<NodeId> order_;
  std::vector<std::size_t> place_;    // by node: in the order
  std::vector<int> axis_;             // by value: of the tokens
  std::vector<std::uint32_t> owner_;  // by value: the chain that saw it
  std::vector<bool> inside_;          // by node: on a chain
  std::vector<bool> tried_;           // by node: a sum that was seen as its own
  std::vector<bool> normed_;          // by value
  std::uint32_t chain_number_ = 0;
  ResidualChain chain_;
  std::vector<Leaf> leaves_;     // values that have no share
  std::vector<ValueId> values_;  // of the chain, as they were found
};

}  // namespace

std::vector<ResidualChain> residual_chains(const ir::Graph& graph,
                                           ir::Facts& facts,
                                           const ChainOptions& options) {
  return Tracer(graph, facts, options).all();
}

}  // namespace ruleengine::analysis
