// Answers about ranks: how a value lies on them.
#include <utility>

#include "core/analysis/solver/solver.h"
#include "core/ir/model.h"
#include "core/ops/axis_flow.h"
#include "core/ranks/communication.h"

namespace ruleengine::analysis {

using ir::NodeId;
using ir::ValueId;
using ranks::Layout;
using ranks::Placement;

namespace {

// Calls `act` for each collective that sends the value.
template <typename Do>
void each_sender(const ir::Graph& graph, ValueId value, Do&& act) {
  for (auto u = graph.first_use(value); u; u = graph.next_use(u)) {
    const NodeId user = graph.operand(u).user;
    if (ranks::is_collective(graph.op(user))) act(user);
  }
}

}  // namespace

void Solver::prepare_layout(ValueId value) {
  each_sender(graph_, value, [&](NodeId) { need(value, Ask::kType); });
  const NodeId node = graph_.producer(value);
  if (!node) return;
  if (ranks::is_collective(graph_.op(node))) {
    need(graph_.output(node), Ask::kType);
    return;
  }
  const std::size_t before = stack_.size();
  const bool flows = ops::has_axis_flow(graph_.op(node));
  bool varies = false;
  for (const ir::Operand& o : graph_.inputs(node)) {
    need(o.value, Ask::kLayout);
    if (flows) need(o.value, Ask::kOrigin);
    const Layout* layout = known(o.value).layout;
    varies = varies ||
             (layout != nullptr && layout->placement != Placement::kReplicated);
  }
  if (!flows || !varies || stack_.size() > before) return;
  for (const ir::Operand& o : graph_.inputs(node)) need(o.value, Ask::kType);
  for (ValueId v : graph_.outputs(node)) need(v, Ask::kType);
}

std::optional<Layout> Solver::layout_by_operands(ValueId value) const {
  const NodeId node = graph_.producer(value);
  if (!node) return ranks::kAssumed;
  std::vector<ranks::OperandFacts> inputs;
  for (const ir::Operand& o : graph_.inputs(node)) {
    const Memo& memo = known(o.value);
    inputs.push_back({memo.layout, memo.type, memo.origin != Origin::kRuntime});
  }
  std::vector<const ir::Type*> outputs;
  for (ValueId v : graph_.outputs(node)) outputs.push_back(known(v).type);
  return ranks::result_layout(graph_, node, inputs, outputs,
                              graph_.value(value).output_index);
}

// What no operand proves, readers may contradict.
std::optional<Layout> Solver::layout_by_readers(
    ValueId value, std::optional<Layout> otherwise) {
  bool any = false;
  each_sender(graph_, value, [&](NodeId sender) {
    const auto sent = ranks::sent_layout(graph_, sender, known(value).type);
    if (!std::exchange(any, true)) {
      otherwise = sent;
    } else if (otherwise) {
      otherwise = sent ? ranks::meet(*otherwise, *sent) : std::nullopt;
    }
    sent_[sender.index()] = value;
  });
  return otherwise;
}

bool Solver::compute_layout(ValueId value) {
  auto found = layout_by_operands(value);
  if (!found || found->assumed) found = layout_by_readers(value, found);
  Memo& memo = memos_[value.index()];
  const bool same = memo.layout == nullptr
                        ? !found
                        : found.has_value() && *memo.layout == *found;
  if (same) return false;
  if (!found) {
    memo.layout = nullptr;
  } else {
    memo.layout = found->everywhere() ? &ranks::kAssumed
                                      : model().arena.make<Layout>(*found);
  }
  return true;
}

// --- edits -------------------------------------------------------------------

// An edit of a collective tells something of the values that it sends, or did.
void Solver::mark_sent(NodeId collective) {
  if (!ranks::is_collective(graph_.op(collective))) return;
  const auto mark_value = [&](ValueId v) {
    if (!v || v.index() >= memos_.size()) return;
    State& s = state({v, Ask::kLayout});
    if (s != State::kDone) return;
    s = State::kStale;
    resent_.push_back(v);
  };
  mark_value(graph_.input(collective, 0));
  const auto before = sent_.find(collective.index());
  if (before != sent_.end()) mark_value(before->second);
}

// Marks what reads such a value if that lies otherwise now.
void Solver::refresh_sent() {
  for (ValueId v : std::exchange(resent_, {})) {
    if (v.index() < memos_.size() && !graph_.value(v).removed) {
      run({v, Ask::kLayout});
    }
  }
}

}  // namespace ruleengine::analysis
