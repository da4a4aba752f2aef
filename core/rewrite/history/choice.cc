#include "core/rewrite/history/choice.h"

#include <algorithm>
#include <limits>

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

Choice::Choice(History& history)
    : history_(history),
      graph_(history.graph_),
      weights_(history.records_.size(), 0),
      made_(history.graph_.node_count(), kNone),
      died_(history.graph_.node_count(), kNone) {
  // One node counts more than all records.
  const auto node = static_cast<std::int64_t>(weights_.size()) + 1;
  for (std::uint32_t k = 0; k < history_.records_.size(); ++k) {
    const EditRecord& record = history_.records_[k];
    for (const Action& a : History::part(history_.actions_, record.actions)) {
      if (!a.slot) replaced_[a.old_value] = {k, a.new_value};
    }
    for (const Part p : {record.added, record.carriers}) {
      for (NodeId n : History::part(history_.nodes_, p)) {
        made_[n.index()] = add_item(n, -node);
      }
    }
    for (NodeId n : History::part(history_.nodes_, record.removed)) {
      died_[n.index()] = add_item(n, node);
    }
  }
}

// Constants do not count.
Choice::Item Choice::add_item(NodeId node, std::int64_t weight) {
  weights_.push_back(graph_.op(node).standard("Constant") ? 0 : weight);
  return static_cast<Item>(weights_.size() - 1);
}

void Choice::need(Item item, Item needed) {
  if (item != kNone && needed != kNone) needs_.emplace_back(item, needed);
}

// The death of the producer of `value` needs that a reader went in record `k`.
// If a later edit, or this one, replaces the value for all that read it by
// then, the death needs that edit instead; and the reader, had it stayed, would
// read the new value.
void Choice::need_gone(ir::ValueId value, std::uint32_t k, Item reader) {
  while (value) {
    const auto it = replaced_.find(value);
    const bool is_replaced = it != replaced_.end() && it->second.record >= k;
    need(item(died_, graph_.producer(value)),
         is_replaced ? it->second.record : reader);
    if (!is_replaced) return;
    k = it->second.record + 1;
    value = it->second.by;
  }
}

void Choice::see(std::uint32_t k) {
  const EditRecord& record = history_.records_[k];
  for (const Part p : {record.added, record.carriers, record.shared}) {
    for (NodeId n : History::part(history_.nodes_, p)) {
      need(k, item(made_, n));
    }
  }
  for (NodeId n : History::part(history_.nodes_, record.removed)) {
    const Item death = item(died_, n);
    need(death, k);
    need(death, item(made_, n));
    for (const ir::Operand& o : graph_.inputs(n)) {
      need_gone(o.value, k, death);
    }
  }
  for (const Taken& t : History::part(history_.taken_, record.taken)) {
    if (t.slot || !t.reader) need_gone(t.value, k, k);
  }
}

Status Choice::make(const Deadline& deadline) {
  auto& records = history_.records_;
  std::vector<bool> tidies(records.size(), false);
  for (std::uint32_t k = 0; k < records.size(); ++k) {
    for (const Need& each : History::part(history_.needs_, records[k].needs)) {
      need(k, each.record);
      if (each.why != Need::Why::kConsumed) continue;
      tidies[k] =
          tidies[k] || tidies[each.record] || !records[each.record].lent;
    }
    const bool is_tie_kept = tidies[k] || !records[k].builds;
    weights_[k] = records[k].lent ? std::int64_t{is_tie_kept} : kAlways;
  }
  const auto closure = heaviest_closure(weights_, needs_, deadline);
  if (!closure) return closure.error();
  for (std::uint32_t k = 0; k < records.size(); ++k) {
    records[k].kept = (*closure)[k];
  }
  return {};
}

}  // namespace ruleengine::rewrite
