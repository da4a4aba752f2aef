#include "core/rewrite/history/history.h"

#include <algorithm>

#include "core/ir/order.h"
#include "core/rewrite/driver.h"
#include "core/rewrite/history/needs.h"
#include "core/rewrite/history/replay.h"

namespace ruleengine::rewrite {

using ir::NodeId;

History::History(ir::Graph& graph, ir::Facts& facts, Workspace& workspace)
    : graph_(graph), facts_(facts), workspace_(workspace), log_(graph, facts) {}

void History::record(EditState& state) {
  Deed& deed = deeds_.emplace_back();
  deed.canonical = canonical_;
  deed.may_grow = may_grow_;
  deed.log_begin = log_.size();
  deed.first_node = state.first_node;
  deed.end_node = graph_.node_count();
  deed.first_value = state.first_value;
  deed.end_value = graph_.value_count();
  record_match(state, deed);
  const auto is_carrier = [&](NodeId n) {
    return std::ranges::find(state.carriers, n) != state.carriers.end();
  };
  SmallVector<NodeId, 8> added;
  for (NodeId n : state.added) {
    if (!is_carrier(n)) added.push_back(n);
  }
  deed.growth = static_cast<std::int32_t>(state.added.size()) -
                static_cast<std::int32_t>(std::ranges::count_if(
                    state.removed, [&](NodeId n) { return !state.is_new(n); }));
  deed.builds = !state.added.empty();
  deed.metadata = state.metadata;
  deed.looked_at = put(nodes_, state.said.nodes());
  deed.added = put(nodes_, added);
  deed.carriers = put(nodes_, state.carriers);
  deed.shared = put(nodes_, state.shared);
  deed.actions = put(actions_, state.actions);
  deed.declared = put(declared_, state.declared);
  if (canonical_) {
    SmallVector<Taken, 16> taken;
    state.log.for_each_taken([&](const Taken& t) {
      if (!state.is_new(t.reader)) taken.push_back(t);
    });
    deed.taken = put(taken_, taken);
  }
  names_.insert(state.named.begin(), state.named.end());
  log_.append(std::move(state.log));
}

// Records the nodes that the edit matched. A pass does not state them, so for a
// pass the removed nodes and their neighbours count.
void History::record_match(const EditState& state, Deed& deed) {
  if (!state.provenance.from.empty()) {
    deed.consumed = put(nodes_, state.provenance.from);
    deed.context = put(nodes_, state.provenance.context);
    SmallVector<NodeId, 8> died;
    for (NodeId n : state.provenance.context) {
      if (std::ranges::find(state.removed, n) != state.removed.end()) {
        died.push_back(n);
      }
    }
    deed.died = put(nodes_, died);
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
  deed.consumed = put(nodes_, consumed);
  deed.context = put(nodes_, context);
}

void History::sign(std::uint32_t rule, NodeId root, std::uint64_t number) {
  deeds_.back().rule = rule;
  deeds_.back().root = root;
  deeds_.back().number = number;
}

Result<std::optional<std::vector<History::TakenBack>>> History::settle(
    const Deadline& deadline, const std::set<std::uint64_t>& assuming) {
  std::vector<TakenBack> out;
  if (std::ranges::none_of(deeds_, &Deed::canonical)) return std::optional(out);
  if (std::ranges::all_of(deeds_, &Deed::canonical)) {
    log_.park_to(0);
    for (Deed& deed : deeds_) deed.kept = deed.builds = false;
    renumber();
  } else {
    for (Deed& deed : deeds_) deed.assumes = assuming.contains(deed.number);
    Needs needs(*this);
    for (auto k = static_cast<std::uint32_t>(deeds_.size()); k-- > 0;) {
      if (Status s = deadline.check(); !s) return s.error();
      log_.park_to(deeds_[k].log_begin);
      needs.find(k);
    }
    if (Status s = choose(deeds_, needs_, deadline); !s) {
      return s.error();
    }
    renumber();
    const auto done = Replay(*this, needs).run(deadline);
    if (!done) return done.error();
    if (!*done) return std::optional<std::vector<TakenBack>>();
  }
  for (const Deed& deed : deeds_) {
    if (deed.kept) continue;
    out.push_back({deed.rule, deed.number,
                   deed.root ? node_label(graph_, deed.root) : ""});
  }
  return std::optional(std::move(out));
}

void History::park() {
  log_.park_to(0);
  deeds_.clear();
  renumber();
}

// With all edits undone the order is that of the file, so this cannot fail.
void History::renumber() { static_cast<void>(ir::number_nodes(graph_)); }

bool History::has_edits() const {
  return std::ranges::any_of(deeds_, &Deed::kept);
}

bool History::has_added() const {
  return std::ranges::any_of(
      deeds_, [](const Deed& deed) { return deed.kept && deed.builds; });
}

}  // namespace ruleengine::rewrite
