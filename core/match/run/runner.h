// Runner: the state of a Machine while it runs, and its instructions. Every
// write to a register is recorded on a trail. A choice records the size of all
// stacks; backtracking to it undoes everything since. Return addresses of
// blocks are in a list that is only appended to and cut, so that an alternative
// can be left and entered again. All rules of one tree are searched together: a
// rule that fitted or was given up is done, and branches that lead only to done
// rules are not entered again.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/match/compile/code.h"
#include "core/match/known_ops.h"
#include "core/match/machine.h"
#include "core/match/naive/checker.h"
#include "core/match/run/readers.h"

namespace ruleengine::match {

class Runner {
 public:
  Runner(const Program& program, ir::Graph& graph, ir::Facts& facts,
         std::shared_ptr<KnownOps> known);

  void run(ir::NodeId root, const RuleMask& mask, std::vector<Match>& out);
  bool may_match(ir::NodeId root);

  std::optional<Machine::Exhausted> exhausted;
  std::uint32_t limit = Machine::kMostChoices;

 private:
  enum class Outcome : std::uint8_t { kNext, kJump, kFail, kStop };
  // The current frames, by depth.
  using Frames = std::array<std::uint32_t, pattern::kMaxChainNesting + 2>;

  struct Frame {
    std::uint32_t depth, registers, scalars, parent;
    std::uint32_t chain;  // whose step this is
  };
  struct Return {
    std::uint32_t cell;
    bool execute;  // the cell itself, not the cells after it
    std::uint32_t parent;
    Frames frames;
  };
  struct Pending {
    std::uint32_t row = kNone;   // of the table; or
    std::uint32_t fact = kNone;  // the cell of a kDeferFact
    std::uint32_t value = kNone;
    Frames frames;
  };
  enum class ChoiceKind : std::uint8_t {
    kBranch,       // fork a, group b, child c
    kOrder,        // order a of the kInputs at pc
    kAlternative,  // alternative a of the kEither at pc
    kBase,         // the base of chain a at value b
    kCandidate,    // candidate a, up to b, for register c; continue at pc
    kReader,       // reader a of value b, for the kFind at pc
    kCut,          // nothing fits result a: cut to level b
  };
  struct Mark {
    std::size_t trail, scalar_trail, frames, registers, scalars, returns,
        pending, matched, consumed, candidates;
  };
  struct Choice {
    ChoiceKind kind;
    bool behind;  // kCandidate: continue after pc, not at it
    std::uint32_t a, b, c;
    std::uint32_t pc, returns, segment;
    Frames frames;
    Mark mark;
  };
  struct Written {
    std::uint32_t index, old;
  };
  struct WrittenScalar {
    std::uint32_t index;
    Scalar old;
  };

  // --- Registers
  std::uint32_t index(Reg reg) const {
    return frames_[now_[reg_depth(reg)]].registers + reg_index(reg);
  }
  std::uint32_t get(Reg reg) const { return registers_[index(reg)]; }
  void set(Reg reg, std::uint32_t value) {
    const std::uint32_t at = index(reg);
    trail_.push_back({at, registers_[at]});
    registers_[at] = value;
  }
  // An input register as a value; invalid for an absent one.
  static ir::ValueId value_of(std::uint32_t raw) {
    return raw >= kNoValue ? ir::ValueId() : ir::ValueId(raw & ~kTransposed);
  }
  ir::ValueId value(Reg reg) const { return value_of(get(reg)); }
  ir::NodeId node(Reg reg) const { return ir::NodeId(get(reg)); }
  static std::uint32_t raw(ir::ValueId value) {
    return value ? value.index() : kNoValue;
  }
  std::uint32_t op_of(ir::NodeId node) const {
    return ops_[graph_.node(node).op.index()];
  }

  // --- The search
  void search(const Start& start, ir::ValueId root_value);
  bool run_from(std::size_t floor);
  Outcome execute(const Instr& instr);
  bool advance(const Cell& cell);
  bool backtrack(std::size_t floor);
  bool resume(const Choice& choice);
  Mark mark() const;
  void undo_to(const Mark& mark);
  bool choose(ChoiceKind kind, std::uint32_t a, std::uint32_t b = 0,
              std::uint32_t c = 0, bool behind = false);
  void call(std::uint32_t block);
  void push_return(std::uint32_t cell, bool execute);
  Outcome leave();

  // --- Trees
  bool branch(std::uint32_t fork, std::uint32_t group, std::uint32_t child);
  bool enter(const Child& child);
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  Range matching(const Group& group);
  bool done(std::uint32_t segment) const;
  bool alive(std::uint32_t segment) const;
  void finish_rules(std::uint32_t segment);
  std::uint32_t& count(std::vector<std::uint32_t>& counts,
                       std::uint32_t segment);

  // --- Instructions
  Outcome test(const Instr& i);
  bool test_node(const Instr& i);
  bool test_value(const Instr& i);
  bool act(const Instr& i);
  bool bind_node(ir::ValueId value, std::uint32_t op, std::uint32_t output,
                 Reg reg, std::uint32_t marks);
  Outcome enter_node(const Instr& i);
  Outcome enter_term(const Instr& i);
  bool plain(ir::NodeId node, const std::vector<std::string>& mentioned);
  bool unread(ir::NodeId node, std::uint32_t from) const;
  bool closed(const Instr& i) const;
  bool in_set(ir::ValueId value, std::uint32_t set) const;
  bool is_op(ir::NodeId node, std::uint32_t op) const;  // kNode's operand
  // How many of the orders this op's inputs may be read in.
  static std::size_t orders_for(const ir::Op& op, const Inputs& inputs);
  bool bind(Reg variable, ir::ValueId value, bool transposed);
  bool scalar(Reg reg, const Scalar& found);
  bool fact(std::uint32_t fact, ir::ValueId value, bool transposed);
  bool rest(const Instr& i);
  std::vector<ir::ValueId> rest_values(std::uint32_t node, std::uint32_t inputs,
                                       std::uint32_t order);
  Outcome inputs(const Instr& i, std::uint32_t from);
  bool order_fits(ir::NodeId node, const Inputs& inputs,
                  const std::vector<std::uint32_t>& order);
  void load(const Instr& i, ir::NodeId node,
            const std::vector<std::uint32_t>& order);
  Outcome either(const Instr& i, std::uint32_t from);
  Outcome chain(std::uint32_t id, ir::ValueId value);
  Outcome chain_base(std::uint32_t id, ir::ValueId value);
  std::uint32_t new_frame(std::uint32_t chain);

  // --- Searches and what is judged at the end
  Outcome find(const Instr& i);
  // Pushes the candidates on their stack; returns where they start.
  std::uint32_t collect(const Search& search);
  std::optional<std::uint32_t> known(const Search& search) const;
  Outcome reader(const Instr& i, std::uint32_t from, ir::ValueId value);
  void cut(const Choice& choice);
  Outcome candidate(std::uint32_t at, std::uint32_t end, Reg reg, bool behind);
  Outcome defer_fact(const Instr& i);
  struct Subject {
    bool bound = false, transposed = false;
    ir::ValueId value;
  };
  Subject subject(const Instr& i) const;
  void open_table(std::uint32_t table);
  Outcome drain(const Instr& i);
  bool nevers_hold();
  bool fits(const Deferred& row, const Pending& pending);
  bool fits_at(const Deferred& row, std::uint32_t value);

  // --- Accepting
  bool accept(std::uint32_t rule);
  bool closed_exactly(const Report& report, const Prepared& rule);
  Match make_match(std::uint32_t rule);
  Bound bound(const Report& report, std::uint32_t variable,
              std::uint32_t frame);
  Bound bound_here(const Report::Variable& variable, std::uint32_t frame);
  Bound records(const Report& report, std::uint32_t variable,
                std::uint32_t frame);

  const Code& code_;
  ir::Graph& graph_;
  ops::NewestNodes view_;
  Checker checker_;
  std::shared_ptr<KnownOps> known_;
  const std::vector<std::uint32_t>& ops_;  // of the program, by OpId

  std::vector<std::uint32_t> registers_;
  std::vector<Scalar> scalars_;
  std::vector<Frame> frames_;
  std::vector<Return> returns_;
  std::vector<Choice> choices_;
  std::vector<Written> trail_;
  std::vector<WrittenScalar> scalar_trail_;
  std::vector<Pending> pending_;
  std::vector<ir::NodeId> matched_, consumed_;
  std::vector<ir::ValueId> candidates_;
  Readers readers_;
  // By result: whether any candidate fitted since its search began, and how
  // many candidates were rejected before because nodes of other results had
  // taken them.
  struct Attempts {
    bool placed = false;
    std::uint64_t blocked = 0;
  };
  std::vector<Attempts> attempts_;
  std::uint64_t blocked_ = 0;
  // How often each node is in matched_ and consumed_.
  std::vector<std::uint32_t> times_matched_, times_consumed_;

  std::uint32_t pc_ = 0;
  std::uint32_t return_ = kNone;  // where the current block returns to
  std::uint32_t segment_ = kNone;
  Frames now_{};
  std::uint32_t table_ = kNone;
  std::size_t pending_floor_ = 0;  // of the current `never`
  int nested_ = 0;                 // number of enclosing `never`s

  // By segment; valid for the current root if the epoch is the current one.
  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> epochs_, done_, steps_;
  std::vector<std::uint32_t> rule_epochs_;  // by rule: when it last fitted

  ir::NodeId root_;
  const RuleMask* mask_ = nullptr;
  std::vector<Match>* out_ = nullptr;
};

}  // namespace ruleengine::match
