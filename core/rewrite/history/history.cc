#include "core/rewrite/history/history.h"

#include <algorithm>

#include "core/ir/order.h"
#include "core/rewrite/driver.h"
#include "core/rewrite/history/needs.h"

namespace ruleengine::rewrite {

using ir::NodeId;

History::History(ir::Graph& graph, ir::Facts& facts, Workspace& workspace)
    : graph_(graph), facts_(facts), workspace_(workspace), log_(graph, facts) {}

void History::record(EditState& state) {
  EditRecord& record = records_.emplace_back();
  record.lent = lent_;
  record.log_begin = log_.size();
  record.first_node = state.first_node;
  record.end_node = graph_.node_count();
  record.first_value = state.first_value;
  record.end_value = graph_.value_count();
  record_match(state, record);
  const auto is_carrier = [&](NodeId n) {
    return std::ranges::find(state.carriers, n) != state.carriers.end();
  };
  SmallVector<NodeId, 8> added, removed;
  for (NodeId n : state.added) {
    if (!is_carrier(n)) added.push_back(n);
  }
  for (NodeId n : state.removed) {
    if (!state.is_new(n)) removed.push_back(n);
  }
  record.builds = !state.added.empty();
  record.metadata = state.metadata;
  record.looked_at = put(nodes_, state.mentions.nodes());
  record.added = put(nodes_, added);
  record.carriers = put(nodes_, state.carriers);
  record.removed = put(nodes_, removed);
  record.shared = put(nodes_, state.shared);
  record.actions = put(actions_, state.actions);
  record.declared = put(declared_, state.declared);
  if (lent_) {
    SmallVector<Taken, 16> taken;
    state.log.for_each_taken([&](const Taken& t) {
      if (!state.is_new(t.reader)) taken.push_back(t);
    });
    record.taken = put(taken_, taken);
  }
  names_.insert(state.named.begin(), state.named.end());
  log_.append(std::move(state.log));
}

// Records the nodes that the edit matched. A pass does not state them, so for a
// pass the removed nodes and their neighbours count.
void History::record_match(const EditState& state, EditRecord& record) {
  if (!state.provenance.from.empty()) {
    record.consumed = put(nodes_, state.provenance.from);
    record.context = put(nodes_, state.provenance.context);
    SmallVector<NodeId, 8> died;
    for (NodeId n : state.provenance.context) {
      if (std::ranges::find(state.removed, n) != state.removed.end()) {
        died.push_back(n);
      }
    }
    record.died = put(nodes_, died);
    return;
  }
  SmallVector<NodeId, 8> consumed, context;
  for (NodeId n : state.removed) {
    if (!state.is_new(n)) consumed.push_back(n);
  }
  const auto add = [&](NodeId n) {
    if (n && !state.is_new(n)) context.push_back(n);
  };
  for (NodeId n : state.added) {
    for (const ir::Operand& o : graph_.inputs(n)) add(graph_.producer(o.value));
  }
  for (const Action& a : state.actions) {
    add(graph_.producer(a.old_value));
    add(graph_.producer(a.new_value));
    if (a.slot) add(graph_.operand(a.slot).user);
  }
  consumed.sort_unique();
  context.sort_unique();
  context.erase_if(
      [&](NodeId n) { return std::ranges::binary_search(consumed, n); });
  record.consumed = put(nodes_, consumed);
  record.context = put(nodes_, context);
}

void History::sign(std::uint32_t rule, NodeId root, std::uint64_t number) {
  records_.back().rule = rule;
  records_.back().root = root;
  records_.back().number = number;
}

Result<std::optional<std::vector<History::TakenBack>>> History::settle(
    const Deadline& deadline, const std::set<std::uint64_t>& assuming) {
  std::vector<TakenBack> out;
  if (std::ranges::none_of(records_, &EditRecord::lent))
    return std::optional(out);
  const auto cannot_shrink = [](const EditRecord& record) {
    return record.lent && record.builds &&
           record.removed.count <= record.added.count + record.carriers.count;
  };
  if (std::ranges::all_of(records_, cannot_shrink)) {
    log_.park_to(0);
    for (EditRecord& record : records_) record.kept = record.builds = false;
    renumber();
  } else {
    for (EditRecord& record : records_)
      record.assumes = assuming.contains(record.number);
    Needs needs(*this);
    if (Status s = choose(*this, needs, deadline); !s) return s.error();
    renumber();
    const auto done = replay(*this, needs, deadline);
    if (!done) return done.error();
    if (!*done) return std::optional<std::vector<TakenBack>>();
    if (Status s = share_twins(needs); !s) return s.error();
  }
  for (const EditRecord& record : records_) {
    if (record.kept) continue;
    out.push_back({record.rule, record.number,
                   record.root ? node_label(graph_, record.root) : ""});
  }
  return std::optional(std::move(out));
}

// Edit::build() reuses an equal node. One that a form had replaced is back now,
// and may be equal to a node of a kept edit.
Status History::share_twins(const Needs& needs) {
  if (std::ranges::all_of(records_, &EditRecord::kept)) return {};
  Edit edit(graph_, facts_, {}, &workspace_);
  const auto twins = edit.twins();
  if (!twins) return twins.error();
  for (const auto& [first, second] : *twins) {
    if (needs.maker(first) == Needs::kNobody &&
        needs.maker(second) == Needs::kNobody) {
      continue;
    }
    for (std::size_t i = 0; i < graph_.outputs(second).size(); ++i) {
      if (const ir::ValueId v = graph_.output(second, i)) {
        edit.replace(v, graph_.output(first, i));
      }
    }
  }
  if (edit.empty()) return {};
  edit.remove_dead({});
  set_kind(false);
  static_cast<void>(edit.commit());  // if it is rejected, the twins stay
  return {};
}

void History::park() {
  log_.park_to(0);
  records_.clear();
  renumber();
}

// With all edits undone the order is that of the file, so this cannot fail.
void History::renumber() { static_cast<void>(ir::number_nodes(graph_)); }

bool History::has_edits() const {
  return std::ranges::any_of(records_, &EditRecord::kept);
}

bool History::has_added() const {
  return std::ranges::any_of(records_, [](const EditRecord& record) {
    return record.kept && record.builds;
  });
}

}  // namespace ruleengine::rewrite
