// Needs: which earlier edits each edit of a History needs, determined on the
// graph as it was when the edit was applied; to get there, that edit and all
// later ones are parked. An edit needs an earlier edit
// - that made a node which it matched, or a node which it reads although its
//   match did not read it (a node that was reused does not count: it can be
//   built again);
// - that set a slot of a matched node, if the match depends on that: the value
//   comes from another matched node, is a constant, or is read by a second
//   matched slot that the earlier edit did not set in the same way;
// - that made a node which its callbacks looked at, if the earlier edit rests
//   on an assumption: then this edit rests on it too;
// - that took a reader from a value inside the match, which must have no other
//   reader, or from one of its context that died with the match.
// Other differences below a match only concern how the same value is computed.
// Internal to core/rewrite; borrows the History.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/rewrite/history/history.h"

namespace ruleengine::rewrite {

class Needs {
 public:
  explicit Needs(History& history);

  // For record `k`, when its steps and all later ones are parked. To be called
  // from the last record to the first.
  void find(std::uint32_t k);
  // The record that made a node; kNobody for nodes of the file and for repeated
  // ones.
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::uint32_t maker(ir::NodeId node) const {
    return node && node.index() < maker_.size() ? maker_[node.index()]
                                                : kNobody;
  }

 private:
  // A record let a slot read another value.
  struct Setting {
    std::uint32_t record;
    ir::ValueId before;
    bool operator==(const Setting&) const = default;
  };
  using Settings = SmallVector<Setting, 2>;
  struct Read {
    ir::ValueId value;
    ir::OperandId slot;
    auto operator<=>(const Read&) const = default;
  };

  bool rests_on_assumption(const EditRecord& record) const;
  void forget(std::uint32_t k);
  void read_match(const EditRecord& record);
  void need_matched(const EditRecord& record);
  void need_assumed(const EditRecord& record);
  void need_settings(EditRecord& record);
  void need_readers(const EditRecord& record);
  void need_inputs(const EditRecord& record);
  void need(std::uint32_t record, Need::Why why);
  void need_all(const Settings& settings);
  const Settings* settings(ir::OperandId slot) const;
  bool is_matched(ir::NodeId node) const;
  bool is_inner(ir::ValueId value) const;

  History& history_;
  const ir::Graph& graph_;
  std::vector<std::uint32_t> maker_;  // by node
  std::unordered_map<ir::OperandId, Settings> settings_;
  // By value: the records that took a reader from it, ascending.
  std::unordered_map<ir::ValueId, SmallVector<std::uint32_t, 2>> takers_;
  // Of the current record.
  std::vector<ir::NodeId> matched_;  // ascending
  std::vector<Read> reads_;          // by value
  std::vector<Need> found_;
};

// choice.cc: finds the needs of all records, parks them, and sets which are
// kept. Those that are not lent are, and what they need. Of the others, the
// choice leaves the fewest nodes; and where that is equal, it keeps what built
// nothing, and what simplified the result of a record that is not lent, as
// there is no original form to return to. kLimit if the deadline has passed.
Status choose(History& history, Needs& needs, const Deadline& deadline);
// replay.cc: repeats the edits that are kept, when all steps are parked and the
// nodes have their ranks. False if one cannot be repeated.
Result<bool> replay(History& history, const Needs& needs,
                    const Deadline& deadline);

}  // namespace ruleengine::rewrite
