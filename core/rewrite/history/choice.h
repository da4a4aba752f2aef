// Choice: which records of a History are kept. Those that are not lent are, and
// what they need. Of the others, the choice leaves the fewest nodes; and where
// that is equal, it keeps what built nothing, and what simplified the result of
// a record that is not lent, as there is no original form to return to.
//
// A node that an edit made exists if any kept edit uses it, and a node dies
// once its last reader is gone, wherever that edit matched. So both are items
// of their own: a record needs the nodes that it made or reused, each at a
// cost; a death, a gain, needs the records that took readers from the node, and
// the deaths of the other readers. The best set of items is a closure
// (closure.h).
// Internal to core/rewrite; borrows the History.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/rewrite/history/closure.h"
#include "core/rewrite/history/history.h"

namespace ruleengine::rewrite {

class Choice {
 public:
  explicit Choice(History& history);

  // For record `k`, when its steps and all later ones are parked. To be called
  // from the last record to the first.
  void see(std::uint32_t k);
  // Sets `kept` of all records. To be called after see() and Needs::find() of
  // all records. kLimit if the deadline has passed.
  Status make(const Deadline& deadline);

 private:
  using Item = std::uint32_t;

  Item add_item(ir::NodeId node, std::int64_t weight);
  void need(Item item, Item needed);
  // The item that stands for the node; kNone if there is none.
  static constexpr Item kNone = ~Item{0};
  Item item(const std::vector<Item>& of_node, ir::NodeId node) const {
    return node ? of_node[node.index()] : kNone;
  }
  void need_gone(ir::ValueId value, std::uint32_t k, Item reader);

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

}  // namespace ruleengine::rewrite
