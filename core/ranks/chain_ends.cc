#include "core/ranks/chain_ends.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/ir/model.h"
#include "core/ops/axis_flow.h"
#include "core/ops/op_row.h"
#include "core/ranks/communication.h"

namespace ruleengine::ranks {
namespace {

using ir::NodeId;
using ir::ValueId;

// The state of a value on the chain.
struct State {
  static constexpr int kNoShare = -1;
  int axis = kNoShare;
  bool residual = false;       // from a sum over the ranks, without a norm
  bool normed = false;         // a norm made it
  bool leads = false;          // leads to a norm
  std::uint32_t readings = 0;  // uses by nodes that work on shares
};

class Ends {
 public:
  Ends(const ir::Graph& graph, ir::Facts& facts, Trace trace)
      : graph_(graph),
        facts_(facts),
        chain_(std::move(trace.chain)),
        leaves_(std::move(trace.leaves)) {
    for (const Share& s : trace.values) states_[s.value].axis = s.axis;
    inside_.insert(chain_.nodes.begin(), chain_.nodes.end());
    for (NodeId node : chain_.nodes) {
      for (const ir::Operand& o : graph_.inputs(node)) {
        if (State* state = share(o.value)) ++state->readings;
      }
    }
  }

  ResidualChain settle() && {
    check_operands();
    find_normed();
    for (const ChainLeaf& leaf : leaves_) give_up(leaf);
    drop_side_ways();
    trim_ends();
    std::erase_if(chain_.nodes, [&](NodeId n) { return !inside_.contains(n); });
    list_shares();
    check_exits();
    const auto norms = [&](NodeId n) {
      return ops::roles_of(graph_.op(n)).normalizing;
    };
    if (std::ranges::none_of(chain_.nodes, norms)) {
      breaks(graph_.output(chain_.sum), "there is no norm in it");
    }
    return std::move(chain_);
  }

 private:
  // nullptr where the value is not shared out.
  State* share(ValueId value) {
    if (!value) return nullptr;
    const auto at = states_.find(value);
    const bool has = at != states_.end() && at->second.axis != State::kNoShare;
    return has ? &at->second : nullptr;
  }

  // Calls `act` for each share that the node reads.
  template <typename Do>
  void each_operand(NodeId node, Do&& act) {
    const auto inputs = graph_.inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      State* state = share(inputs[i].value);
      if (state == nullptr || ops::reads_type_only(graph_.op(node), i))
        continue;
      act(i, inputs[i].value, *state);
    }
  }
  template <typename Do>
  void each_result(NodeId node, Do&& act) {
    for (ValueId v : graph_.outputs(node)) {
      if (State* state = share(v)) act(v, *state);
    }
  }

  void breaks(ValueId culprit, std::string reason) {
    break_chain(chain_, {culprit, std::move(reason)});
  }

  // Takes the node off the chain: it works on whole tensors.
  void leave(NodeId node) {
    inside_.erase(node);
    for (const ir::Operand& o : graph_.inputs(node)) {
      const auto at = o.value ? states_.find(o.value) : states_.end();
      if (at != states_.end()) --at->second.readings;
    }
  }

  // A node may read one value at two inputs, along different axes.
  void check_operands() {
    for (NodeId node : chain_.nodes) {
      if (!ops::has_axis_flow(graph_.op(node))) continue;
      std::optional<ops::AxisFlow> flow;
      bool asked = false;
      each_operand(node, [&](std::size_t i, ValueId value, const State& s) {
        if (!std::exchange(asked, true)) {
          flow = ops::axis_flow(graph_, facts_, node, {false, i}, s.axis);
        }
        if (!flow || flow->inputs[i] != s.axis) breaks(value, kTwoTokenAxes);
      });
    }
  }

  // Normed values are results of norms, and products of those; a sum is normed
  // if all its terms are. All other results of a sum over the ranks are
  // residuals.
  void find_normed() {
    for (NodeId node : chain_.nodes) {
      const ir::Op& op = graph_.op(node);
      bool any = false, all = true, residual = is_collective(op);
      each_operand(node, [&](std::size_t, ValueId, const State& s) {
        any = any || s.normed;
        all = all && s.normed;
        residual = residual || s.residual;
      });
      const bool normed = ops::roles_of(op).normalizing ||
                          (ops::roles_of(op).sum ? all && any : any);
      const ops::OpRow* row = ops::find_row(op);
      const std::uint32_t sum = row == nullptr ? 0 : row->sum_output;
      each_result(node, [&](ValueId v, State& s) {
        const bool is_sum_of_norm =
            sum > 0 && graph_.value(v).output_index == sum;
        s.normed = normed && !is_sum_of_norm;
        s.residual = residual && !s.normed;
      });
    }
  }

  // The leaf's readers work on whole tensors, for which other shares are
  // gathered. The chain breaks if one of those is a residual.
  void give_up(const ChainLeaf& leaf) {
    std::vector<ValueId> whole = {leaf.value};
    while (!whole.empty()) {
      const ValueId v = whole.back();
      whole.pop_back();
      State* state = share(v);
      if (state == nullptr) continue;
      state->axis = State::kNoShare;
      for (auto u = graph_.first_use(v); u; u = graph_.next_use(u)) {
        const NodeId user = graph_.operand(u).user;
        if (!inside_.contains(user) ||
            ops::reads_type_only(graph_.op(user), graph_.operand_index(u))) {
          continue;
        }
        leave(user);
        each_operand(user, [&](std::size_t, ValueId, const State& s) {
          if (s.residual) break_chain(chain_, leaf);
        });
        each_result(user, [&](ValueId out, State&) { whole.push_back(out); });
      }
    }
  }

  std::string other_reader(NodeId node) const {
    return graph_.describe(node) + " reads the residual too";
  }

  // A node that neither makes a norm nor leads to one reads the residual from
  // outside.
  void drop_side_ways() {
    for (NodeId node : std::views::reverse(chain_.nodes)) {
      if (!inside_.contains(node)) continue;
      const ir::Op& op = graph_.op(node);
      bool on_the_way = ops::roles_of(op).normalizing;
      each_result(node, [&](ValueId, const State& s) {
        on_the_way = on_the_way || s.normed || s.leads;
      });
      if (on_the_way) {
        each_operand(node,
                     [](std::size_t, ValueId, State& s) { s.leads = true; });
      } else if (!ops::roles_of(op).linear && !is_collective(op)) {
        leave(node);
        for (ValueId v : graph_.outputs(node)) {
          if (v) give_up({v, other_reader(node)});
        }
      }
    }
  }

  // A node at the end of the chain works on whole tensors if its result has
  // more bytes than its operands: gathering the operands is cheaper. E.g. a
  // Cast to a wider type.
  void trim_ends() {
    for (NodeId node : std::views::reverse(chain_.nodes)) {
      const ir::Op& op = graph_.op(node);
      if (!inside_.contains(node) || ops::roles_of(op).normalizing ||
          is_collective(op)) {
        continue;
      }
      double before = 0, after = 0;
      bool is_end = true;
      each_operand(node, [&](std::size_t, ValueId v, const State& s) {
        is_end = is_end && s.normed;
        if (!is_gathered(v, s)) before += bytes(v);
      });
      each_result(node, [&](ValueId v, const State& s) {
        is_end = is_end && s.readings == 0;
        after += bytes(v);
      });
      if (!is_end || after <= before) continue;
      leave(node);
      each_result(node, [](ValueId, State& s) { s.axis = State::kNoShare; });
    }
  }
  bool is_gathered(ValueId v, const State& state) const {
    const ir::Value& value = graph_.value(v);
    return value.block_output_count > 0 || is_read_outside(v, state);
  }
  bool is_read_outside(ValueId v, const State& state) const {
    return graph_.value(v).use_count > state.readings;
  }
  double bytes(ValueId v) { return known_bytes(facts_.type(v)).value_or(0); }

  void list_shares() {
    for (NodeId node : chain_.nodes) {
      each_result(node, [&](ValueId v, const State& s) {
        chain_.shares.push_back({v, s.axis});
      });
    }
    std::erase_if(chain_.entries, [&](const Share& s) {
      const State* state = share(s.value);
      return state == nullptr || state->readings == 0;
    });
  }

  // Only results of norms, and residuals that are outputs of the model, may be
  // gathered.
  void check_exits() {
    for (const Share& each : chain_.shares) {
      if (!chain_.broken.empty()) return;
      const State& state = *share(each.value);
      if (state.normed || !is_read_outside(each.value, state)) continue;
      auto u = graph_.first_use(each.value);
      while (inside_.contains(graph_.operand(u).user)) u = graph_.next_use(u);
      breaks(each.value, other_reader(graph_.operand(u).user));
    }
  }

  const ir::Graph& graph_;
  ir::Facts& facts_;
  ResidualChain chain_;
  std::vector<ChainLeaf> leaves_;
  std::unordered_map<ValueId, State> states_;
  std::unordered_set<NodeId> inside_;  // nodes that work on shares
};

}  // namespace

void break_chain(ResidualChain& chain, ChainLeaf culprit) {
  if (!chain.broken.empty()) return;
  chain.broken = std::move(culprit.reason);
  chain.culprit = culprit.value;
  chain.sliceable = culprit.sliceable;
}

ResidualChain settled(const ir::Graph& graph, ir::Facts& facts, Trace trace) {
  return Ends(graph, facts, std::move(trace)).settle();
}

const ir::Type* ranked_type(ir::Facts& facts, ValueId value) {
  const ir::Type* type = facts.type(value);
  return ir::is_ranked(type) ? type : nullptr;
}

}  // namespace ruleengine::ranks
