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

  // For deed `k`, when its steps and all later ones are parked. To be called
  // from the last deed to the first.
  void find(std::uint32_t k);
  // The deed that made a node; kNobody for nodes of the file and for repeated
  // ones.
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::uint32_t maker(ir::NodeId node) const {
    return node && node.index() < maker_.size() ? maker_[node.index()]
                                                : kNobody;
  }

 private:
  // A deed let a slot read another value.
  struct Setting {
    std::uint32_t deed;
    ir::ValueId before;
    bool operator==(const Setting&) const = default;
  };
  using Settings = SmallVector<Setting, 2>;
  struct Read {
    ir::ValueId value;
    ir::OperandId slot;
    auto operator<=>(const Read&) const = default;
  };

  bool rests_on_assumption(const Deed& deed) const;
  void forget(std::uint32_t k);
  void read_match(const Deed& deed);
  void need_matched(const Deed& deed);
  void need_assumed(const Deed& deed);
  void need_settings(Deed& deed);
  void need_readers(const Deed& deed);
  void need_inputs(const Deed& deed);
  void need(std::uint32_t deed, Need::Why why);
  void need_all(const Settings& settings);
  const Settings* settings(ir::OperandId slot) const;
  bool is_matched(ir::NodeId node) const;
  bool is_inner(ir::ValueId value) const;

  History& history_;
  const ir::Graph& graph_;
  std::vector<std::uint32_t> maker_;  // by node
  std::unordered_map<ir::OperandId, Settings> settings_;
  // By value: the deeds that took a reader from it, ascending.
  std::unordered_map<ir::ValueId, SmallVector<std::uint32_t, 2>> takers_;
  // Of the current deed.
  std::vector<ir::NodeId> matched_;  // ascending
  std::vector<Read> reads_;          // by value
  std::vector<Need> found_;
};

// Decides which deeds are kept, given all needs: those of rules that are not
// canonical, those that they need, and those that simplified the results of
// either. If the graph is larger than it was (not counting edits that may add
// nodes), deeds that shrink it are kept too until it is not. kLimit if the
// deadline has passed.
Status choose(std::vector<Deed>& deeds, const std::vector<Need>& needs,
              const Deadline& deadline);

}  // namespace ruleengine::rewrite
