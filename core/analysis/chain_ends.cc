#include "core/analysis/chain_ends.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "core/analysis/axis_flow.h"
#include "core/analysis/communication.h"
#include "core/analysis/shapes.h"
#include "core/ir/model.h"

namespace ruleengine::analysis {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr int kNoShare = ChainMarks::kNoShare;

class Ends {
 public:
  Ends(ChainMarks& marks, ResidualChain& chain)
      : marks_(marks), chain_(chain) {}

  void settle(std::span<const ChainLeaf> leaves) {
    check_operands();
    find_normed();
    for (const ChainLeaf& leaf : leaves) give_up(leaf.value, leaf.reason);
    drop_side_ways();
    trim_ends();
    std::erase_if(chain_.nodes,
                  [&](NodeId n) { return !marks_.inside[n.index()]; });
    list_shares();
    check_exits();
  }

 private:
  // A node may read one value in two places, which mean two axes.
  void check_operands() {
    for (NodeId node : chain_.nodes) {
      if (!has_axis_flow(marks_.graph.op(node))) continue;
      std::optional<AxisFlow> flow;
      const auto inputs = marks_.graph.inputs(node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const int axis =
            inputs[i].value ? marks_.axis[inputs[i].value.index()] : kNoShare;
        if (axis == kNoShare) continue;
        if (!flow)
          flow = axis_flow(marks_.graph, marks_.facts, node, {false, i}, axis);
        if (!flow || flow->inputs[i] != axis) {
          break_chain(chain_, inputs[i].value, kTwoTokenAxes);
        }
      }
    }
  }

  // Values that norms made, and what factors made of them; a sum is normed
  // where all its terms are.
  void find_normed() {
    for (NodeId node : chain_.nodes) {
      const ir::Op& op = marks_.graph.op(node);
      const bool is_sum =
          op.standard("Add") || op.standard("Sub") || op.standard("Sum");
      bool any = is_normalizing(op), all = true;
      for (const ir::Operand& o : marks_.graph.inputs(node)) {
        if (!o.value || marks_.axis[o.value.index()] == kNoShare) continue;
        any = any || marks_.normed[o.value.index()];
        all = all && marks_.normed[o.value.index()];
      }
      const bool normed = is_normalizing(op) || (is_sum ? all && any : any);
      const auto outputs = marks_.graph.outputs(node);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i]) marks_.normed[outputs[i].index()] = normed;
      }
      if (const int sum = sum_output(op); sum > 0) {
        const ValueId residual =
            marks_.graph.output(node, static_cast<std::size_t>(sum));
        if (residual) marks_.normed[residual.index()] = false;
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
  void give_up(ValueId value, const std::string& reason) {
    std::vector<ValueId> whole = {value};
    while (!whole.empty()) {
      const ValueId v = whole.back();
      whole.pop_back();
      marks_.axis[v.index()] = kNoShare;
      for (auto u = marks_.graph.first_use(v); u;
           u = marks_.graph.next_use(u)) {
        const NodeId user = marks_.graph.operand(u).user;
        if (!marks_.inside[user.index()]) continue;
        marks_.inside[user.index()] = false;
        for (const ir::Operand& o : marks_.graph.inputs(user)) {
          if (!o.value || marks_.axis[o.value.index()] == kNoShare) continue;
          if (!marks_.normed[o.value.index()])
            break_chain(chain_, value, reason);
        }
        for (ValueId out : marks_.graph.outputs(user)) {
          if (out && marks_.axis[out.index()] != kNoShare) whole.push_back(out);
        }
      }
    }
  }

  std::string other_reader(NodeId node) const {
    return marks_.graph.describe(node) + " reads the residual too";
  }

  // What is neither residual nor norm, nor leads to one, is another reader.
  void drop_side_ways() {
    std::vector<bool>& leads = marks_.leads;
    for (NodeId node : std::views::reverse(chain_.nodes)) {
      if (!marks_.inside[node.index()]) continue;
      const ir::Op& op = marks_.graph.op(node);
      const auto reaches = [&](ValueId v) {
        return v && (marks_.normed[v.index()] || leads[v.index()]);
      };
      const bool on_the_way =
          is_normalizing(op) ||
          std::ranges::any_of(marks_.graph.outputs(node), reaches);
      if (!on_the_way && !is_linear(op) && !is_collective(op)) {
        marks_.inside[node.index()] = false;
        for (ValueId v : marks_.graph.outputs(node)) {
          if (v && marks_.axis[v.index()] != kNoShare)
            give_up(v, other_reader(node));
        }
        continue;
      }
      if (!on_the_way) continue;
      for (const ir::Operand& o : marks_.graph.inputs(node)) {
        if (o.value) leads[o.value.index()] = true;
      }
    }
  }

  // A node at the end whose result is more to gather than what it reads works
  // on whole tensors: a Cast to a wider type, a DequantizeLinear.
  void trim_ends() {
    for (NodeId node : std::views::reverse(chain_.nodes)) {
      const ir::Op& op = marks_.graph.op(node);
      if (!marks_.inside[node.index()] || is_normalizing(op) ||
          is_collective(op)) {
        continue;
      }
      double before = 0, after = 0;
      bool is_end = true;
      for (const ir::Operand& o : marks_.graph.inputs(node)) {
        if (!o.value || marks_.axis[o.value.index()] == kNoShare) continue;
        is_end = is_end && marks_.normed[o.value.index()];
        if (!is_gathered(o.value)) before += bytes(o.value);
      }
      for (ValueId v : marks_.graph.outputs(node)) {
        if (!v || marks_.axis[v.index()] == kNoShare) continue;
        is_end = is_end && !is_read_inside(v);
        after += bytes(v);
      }
      if (!is_end || after <= before) continue;
      marks_.inside[node.index()] = false;
      for (ValueId v : marks_.graph.outputs(node)) {
        if (v) marks_.axis[v.index()] = kNoShare;
      }
    }
  }
  bool is_read_inside(ValueId v) const {
    for (auto u = marks_.graph.first_use(v); u; u = marks_.graph.next_use(u)) {
      if (marks_.inside[marks_.graph.operand(u).user.index()]) return true;
    }
    return false;
  }
  bool is_gathered(ValueId v) const {
    if (marks_.graph.value(v).block_output_count > 0) return true;
    for (auto u = marks_.graph.first_use(v); u; u = marks_.graph.next_use(u)) {
      if (!marks_.inside[marks_.graph.operand(u).user.index()]) return true;
    }
    return false;
  }
  // 0 where nothing is known.
  double bytes(ValueId v) {
    const ir::Type* type = marks_.tensor(v);
    const auto count = type != nullptr ? known_count(type->dims) : std::nullopt;
    return count ? static_cast<double>(*count) * ir::bit_width(type->elem) / 8
                 : 0;
  }

  void list_shares() {
    for (NodeId node : chain_.nodes) {
      for (ValueId v : marks_.graph.outputs(node)) {
        if (v && marks_.axis[v.index()] != kNoShare) {
          chain_.shares.push_back({v, marks_.axis[v.index()]});
        }
      }
    }
    std::erase_if(chain_.entries, [&](const Share& s) {
      return marks_.axis[s.value.index()] == kNoShare;
    });
  }

  // Only norms, and residuals that are outputs of the model, may be gathered.
  void check_exits() {
    for (const Share& share : chain_.shares) {
      if (marks_.normed[share.value.index()]) continue;
      for (auto u = marks_.graph.first_use(share.value); u;
           u = marks_.graph.next_use(u)) {
        if (!marks_.inside[marks_.graph.operand(u).user.index()]) {
          break_chain(chain_, share.value,
                      other_reader(marks_.graph.operand(u).user));
        }
      }
    }
  }

  ChainMarks& marks_;
  ResidualChain& chain_;
};

}  // namespace

ChainMarks::ChainMarks(const ir::Graph& of, ir::Facts& known)
    : graph(of),
      facts(known),
      axis(of.value_count(), kNoShare),
      inside(of.node_count(), false),
      normed(of.value_count(), false),
      leads(of.value_count(), false) {}

const ir::Type* ChainMarks::tensor(ValueId value) const {
  const ir::Type* t = facts.type(value);
  return t != nullptr && t->is_tensor() && t->has_shape ? t : nullptr;
}

void break_chain(ResidualChain& chain, ValueId culprit, std::string reason) {
  if (!chain.broken.empty()) return;
  chain.broken = std::move(reason);
  chain.culprit = culprit;
}

void settle_chain(ChainMarks& marks, std::span<const ChainLeaf> leaves,
                  ResidualChain& chain) {
  Ends(marks, chain).settle(leaves);
}

}  // namespace ruleengine::analysis
