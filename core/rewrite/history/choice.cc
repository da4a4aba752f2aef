#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/rewrite/history/closure.h"
#include "core/rewrite/history/needs.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

// A node that an edit made exists if any kept edit uses it, and a node dies
// once its last reader is gone, wherever that edit matched. So both are items
// of their own: a record needs the nodes that it made or reused, each at a
// cost; a death, a gain, needs the records that took readers from the node, and
// the deaths of the other readers. The best set of items is a closure
// (closure.h).
class Choice {
 public:
  explicit Choice(History& history)
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

  Status run(Needs& needs, const Deadline& deadline) {
    for (auto k = static_cast<std::uint32_t>(history_.records_.size());
         k-- > 0;) {
      if (Status s = deadline.check(); !s) return s;
      history_.log_.park_to(history_.records_[k].log_begin);
      needs.find(k);
      see(k);
    }
    return make(deadline);
  }

 private:
  using Item = std::uint32_t;

  // Constants do not count.
  Item add_item(NodeId node, std::int64_t weight) {
    weights_.push_back(graph_.op(node).standard("Constant") ? 0 : weight);
    return static_cast<Item>(weights_.size() - 1);
  }

  void need(Item item, Item needed) {
    if (item != kNone && needed != kNone) needs_.emplace_back(item, needed);
  }

  // The death of the producer of `value` needs that a reader went in record
  // `k`. If a later edit, or this one, replaces the value for all that read it
  // by then, the death needs that edit instead; and the reader, had it stayed,
  // would read the new value.
  void need_gone(ir::ValueId value, std::uint32_t k, Item reader) {
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

  // For record `k`, when its steps and all later ones are parked.
  void see(std::uint32_t k) {
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

  Status make(const Deadline& deadline) {
    auto& records = history_.records_;
    std::vector<bool> tidies(records.size(), false);
    for (std::uint32_t k = 0; k < records.size(); ++k) {
      for (const Need& each :
           History::part(history_.needs_, records[k].needs)) {
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

  // The item that stands for the node; kNone if there is none.
  static constexpr Item kNone = ~Item{0};
  Item item(const std::vector<Item>& of_node, NodeId node) const {
    return node ? of_node[node.index()] : kNone;
  }

  History& history_;
  const ir::Graph& graph_;
  std::vector<std::int64_t> weights_;  // records first
  std::vector<ItemNeed> needs_;
  std::vector<Item> made_, died_;  // by node
  // By value: the last record that replaced it for all its readers.
  struct Replaced {
    std::uint32_t record = 0;
    ir::ValueId by;
  };
  std::unordered_map<ir::ValueId, Replaced> replaced_;
};

Status choose(History& history, Needs& needs, const Deadline& deadline) {
  return Choice(history).run(needs, deadline);
}

}  // namespace ruleengine::rewrite
