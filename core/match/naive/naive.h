// Naive: the simple matcher, which is the meaning of pattern.h as code and the
// oracle of the Machine. It keeps a list of goals to reach and a stack of
// choices to return to; every later result and every condition tries all nodes
// of the graph. Slow, and iterative, so that chains may have any length. One
// search per object; not thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/match/compile/prepared.h"
#include "core/match/match.h"
#include "core/match/naive/checker.h"

namespace ruleengine::match {

// Keeps the deepest failing test of a search; of several equally deep ones, the
// one with the fewest goals left, since more of the pattern fitted before it.
class Recorder {
 public:
  void offer(Miss miss, std::size_t goals_left);
  std::optional<Miss> take() { return std::move(best_); }

 private:
  std::optional<Miss> best_;
  std::size_t goals_left_ = 0;  // of the best
};

class Naive {
 public:
  Naive(const Prepared& prepared, ops::NewestNodes& view, Recorder* recorder);

  std::optional<Match> run(ir::NodeId root);
  bool gave_up() const { return gave_up_; }

 private:
  // The bindings of one match, or of one step of a chain.
  struct Frame {
    Frame* parent = nullptr;
    std::uint32_t depth = 0;
    TermId chain;            // whose step this is
    std::uint32_t hole = 0;  // the number of that chain's hole
    std::map<std::pair<int, std::uint32_t>, Bound> slots;
  };
  static constexpr std::uint32_t kNoHole = 0xffffffffu;
  // For the input index of a goal: no node reads the value, it is only tried.
  static constexpr std::uint32_t kTried = 0xffffffffu;
  enum SlotKind { kTermSlot, kNodeSlot, kVariableSlot, kHoleSlot };
  struct Undo {
    Frame* frame;
    std::pair<int, std::uint32_t> slot;
    Bound old;  // kNothing: there was none
  };

  enum class Aim : std::uint8_t {
    kTerm,         // `term` stands for `value`
    kInputs,       // the inputs of node pattern `index` at `node`
    kAlternative,  // alternative `index` of `term` fitted: its facts
    kChain,        // another step of `term` at `value`, or its base
    kNextStep,     // the step in `frame` is done; on from its hole
    kResult,       // find result `index`
    kFind,         // find `term` elsewhere, or fail
    kPending,      // conditions of alternatives from `index` on
    kNevers,       // all that must not be there
    kAccept,
  };
  struct Goal {
    Aim aim = Aim::kAccept;
    TermId term;
    ir::ValueId value;
    ir::NodeId node;          // kTerm: who reads `value`; kInputs: the node
    std::uint32_t index = 0;  // kTerm: as which input
    bool axes = false;        // kTerm: a number there may be axes
    Frame* frame = nullptr;
    Place place;  // kFind
    const Goal* next = nullptr;
  };
  // What is judged at the end: facts about values that are bound later,
  // conditions on a line of their own in an alternative, and everything under
  // `never`.
  struct Pending {
    enum class Kind : std::uint8_t { kFact, kContext, kNever, kNeverAt };
    Kind kind = Kind::kFact;
    FactId fact;
    TermId term;
    ir::ValueId value;
    Frame* frame = nullptr;
    Place place;  // of a condition that stands alone
  };
  struct Choice {
    const Goal* goal;
    std::size_t option;
    std::size_t trail, frames, matched, pending, goals;
  };

  const Pattern& pattern() const { return *prepared_.pattern; }
  const pattern::Reach& reach(TermId t) const {
    return prepared_.analysis.terms[t.index()];
  }

  // The goals after the first result.
  const Goal* later_goals(Frame* frame);
  bool search(const Goal* goals);
  std::size_t options(const Goal& goal);
  bool execute(const Goal& goal, std::size_t option, const Goal*& next);
  bool backtrack(std::size_t floor, const Goal*& goal, std::size_t& option);
  void undo_to(const Choice& mark);
  Choice mark() const;
  const Goal* then(Goal goal, const Goal* next);

  static Frame* at(Frame* frame, std::uint32_t depth);
  const Bound* get(Frame* frame, SlotKind kind, std::uint32_t id) const;
  void set(Frame* frame, SlotKind kind, std::uint32_t id, Bound bound);
  Frame* term_frame(TermId term, Frame* frame);
  Frame* node_frame(NodePatternId node, Frame* frame);
  Frame* variable_frame(VariableId variable, Frame* frame);

  bool term(const Goal& goal, std::size_t option, const Goal*& next);
  bool output(const Goal& goal, const Goal*& next);
  bool fresh_node(const Goal& goal, ir::NodeId node, const Goal*& next);
  bool attributes(const NodePattern& p, ir::NodeId node, Frame* frame);
  bool outputs_unread(const NodePattern& p, ir::NodeId node);
  bool inputs(const Goal& goal, std::size_t option, const Goal*& next);
  // How many assignments of inputs to slots are tried.
  std::size_t orders_at(const Goal& goal);
  // The assignment of inputs to slots that is tried as number `option`. With a
  // recorder the likeliest one comes first, so that its miss is kept among
  // equally deep ones; which match is found does not matter then.
  const std::vector<std::uint32_t>& slots_at(const Goal& goal,
                                             std::size_t option);
  // 2: the value alone could match the term; 1: it is of the right kind.
  int likeness(TermId term, ir::ValueId value, Frame* frame);
  int likeness_of_leaf(const Term& t, ir::ValueId value, Frame* frame);
  bool bind_rest(const Goal& goal, const std::vector<std::uint32_t>& slots);
  bool transpose(const Goal& goal);
  bool either(const Goal& goal, std::size_t option, const Goal*& next);
  bool alternative(const Goal& goal);
  bool many(const Goal& goal, const Goal*& next);
  bool chain(const Goal& goal, std::size_t option, const Goal*& next);
  bool variable(VariableId id, const Goal& goal, bool transposed);
  bool hole(const Goal& goal);
  bool scalar(VariableId id, const Scalar& found, Frame* frame);
  // The value of a compound term if it is already bound.
  std::optional<ir::ValueId> known(TermId term, Frame* frame);
  bool facts_of(TermId term, ir::ValueId value, Frame* frame);
  bool fact(FactId id, Frame* frame, bool& subject_bound);
  bool holds(FactId id, ir::ValueId value, Frame* frame);

  std::optional<ir::ValueId> known_thing(TermId term, Frame* frame);
  std::size_t candidates(TermId term, Frame* frame);
  // Whether `term` at `value` is connected to what is bound, as `place` asks.
  bool hangs(const Place& place, TermId term, ir::ValueId value, Frame* frame);
  bool result(const Goal& goal, std::size_t option, const Goal*& next);
  bool find(const Goal& goal, std::size_t option, const Goal*& next);
  bool pending(const Goal& goal, const Goal*& next);
  bool nevers(const Goal& goal);
  bool holds_never(const Pending& never);
  bool fits_somewhere(const Pending& never, const Goal* rest);
  bool fits(const Pending& never, ir::ValueId value, const Goal* rest);
  bool accept();
  bool closed(ir::NodeId node, std::uint32_t index);
  Match take_match(ir::NodeId root);
  Bound collect(VariableId id, Frame* frame);
  Bound records(VariableId id, Frame* frame);
  Bound finished(Bound bound);

  // Records the failing test; always returns false.
  struct Failure {
    ir::NodeId node;
    ir::ValueId value;
    int line = 0;
    std::string test, expected, found;
    Miss::Nearness nearness = Miss::Nearness::kSome;
  };
  bool fail(const std::function<Failure()>& failure);
  std::size_t goals_left() const;
  bool fail_at(const Goal& goal, const std::string& expected);
  // The line of the goal's term, or else of the node pattern around it.
  int line_of(const Goal& goal);
  std::string place(const Goal& goal);
  static std::string numbers_text(const std::vector<double>& numbers);
  std::string value_text(ir::ValueId value);
  std::string fact_text(const Fact& fact);
  std::string literal_text(const AttributePattern& wanted);
  std::string attribute_text(const ir::Attribute* attribute);
  // "H", or "H=4" if it is bound.
  std::string letter_text(VariableId letter, Frame* frame);

  const Prepared& prepared_;
  ops::NewestNodes& view_;
  Checker checker_;
  Recorder* recorder_;
  ir::NodeId root_;
  const Goal* at_ = nullptr;  // the goal that is tried
  std::deque<Goal> goals_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Undo> trail_;
  std::vector<ir::NodeId> matched_;  // by order of binding
  std::vector<Pending> pending_;
  std::vector<Choice> choices_;
  std::vector<ir::ValueId> results_;
  std::vector<ir::NodeId> consumed_;
  std::size_t steps_ = 0;
  bool gave_up_ = false;
};

}  // namespace ruleengine::match
