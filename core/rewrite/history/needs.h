// Needs: which earlier edits each edit of a History needs, read off the graph
// as it stood when the edit came, which is when everything from it on is
// parked. An edit needs another one
// - whose node it matched, or whose node it reads without having matched what
//   reads it (a node that stood already is no such need: it can be built
//   again);
// - that set a slot of a matched node, where the match could see it: the value
//   comes from another matched node, is a constant, or is read by a second
//   matched slot that the other edit did not set in the same way;
// - whose node its callbacks looked at, where that edit rests on an assumption:
//   then so does this one;
// - that took a reader from a value inside of the match, which nothing else may
//   read.
// What else differs below a match is the same value written in another way.
// Internal to core/rewrite; borrows the History.
#ifndef RULEENGINE_CORE_REWRITE_HISTORY_NEEDS_H_
#define RULEENGINE_CORE_REWRITE_HISTORY_NEEDS_H_

#include <unordered_map>
#include <vector>

#include "core/rewrite/history/history.h"

namespace ruleengine::rewrite {

class Needs {
 public:
  explicit Needs(History& history);

  // Of deed `k`, whose steps and all later ones are parked. Deeds are asked
  // for from the last to the first.
  void find(std::uint32_t k);
  // The one that made a node; kNobody for nodes of the file and of a replay.
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::uint32_t maker(ir::NodeId node) const {
    return node && node.index() < maker_.size() ? maker_[node.index()]
                                                : kNobody;
  }

 private:
  // That an edit of a canonical rule let a slot read another value.
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
  // By value: who took a reader from it, ascending.
  std::unordered_map<ir::ValueId, SmallVector<std::uint32_t, 2>> takers_;
  // Of the deed that is looked at.
  std::vector<ir::NodeId> matched_;  // ascending
  std::vector<Read> reads_;          // by value
  std::vector<Need> found_;
};

// Which of the deeds stay, given all needs: what rules that are not canonical
// did, what that needs, and what tidied up behind either. Where the graph has
// more nodes by that than it had, but for those of edits that may add some,
// forms that shrink it stay as well, until it has not. kLimit when the time is
// over.
Status choose(std::vector<Deed>& deeds, const std::vector<Need>& needs,
              const Deadline& deadline);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_HISTORY_NEEDS_H_
