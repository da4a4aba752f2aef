// Emitter: turns one pattern into one sequence of instructions. Registers are
// numbered in the order of use, so that patterns with an equal beginning begin
// with equal instructions. Tests that only prune (ops of producers, literals,
// readers) come as early as their operand is known; instructions that bind or
// choose keep the depth-first order of the pattern, which is the order of the
// oracle. One Emitter per rule; the recursion is as deep as the pattern, which
// Builder limits.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/match/compile/assembler.h"
#include "core/match/compile/code.h"

namespace ruleengine::match {

class Emitter {
 public:
  Emitter(Assembler& out, const Prepared& prepared);

  // Adds the rule to the trees, and to `report` how to read its match.
  void emit(std::uint32_t rule, Report& report);

 private:
  struct Certain {
    Reg reg = kNone;
    bool transposed = false;
  };
  // Where numbers may be axes: an input of a node.
  struct Axes {
    NodePatternId node;
    std::size_t input = 0;
  };
  // True when the precheck of a value register was complete.
  using Done = bool;

  const Pattern& pattern() const { return *prepared_.pattern; }
  void add(Instr instr) { sequences_.back().push_back(instr); }
  std::uint32_t block(auto&& body) {
    sequences_.emplace_back();
    ++inside_;
    body();
    --inside_;
    Sequence sequence = std::move(sequences_.back());
    sequences_.pop_back();
    return out_.block(std::move(sequence));
  }
  // Outside of all blocks: what is emitted here is certain to run.
  bool main() const { return inside_ == 0; }

  Reg new_reg(std::uint32_t depth, std::uint32_t count = 1);
  Reg node_reg(NodePatternId node);
  Reg term_reg(TermId term);
  Reg variable_reg(VariableId variable);
  Reg scalar_reg(VariableId variable);
  Reg hole_reg(std::uint32_t hole, std::uint32_t depth);
  std::uint32_t depth(TermId term) const;
  std::uint32_t depth(NodePatternId node) const;

  void find_late_subjects();
  void find_op_sets();
  void find_dominators();
  bool dominated(NodePatternId node, TermId by) const;
  std::uint32_t future(TermId output);

  // Emits the tests of the term at `value` that only prune.
  // axes: not null where a number may be axes.
  Done precheck(TermId term, Reg value, const Axes* axes = nullptr);
  Done precheck_output(TermId term, Reg value);
  void term(TermId term, Reg value, const Axes* axes = nullptr);
  void numbers(TermId term, Reg value, const Axes* axes);
  void output(TermId term, Reg value);
  void head(TermId term, Reg value);
  void head_tests(TermId term);
  void differ(NodePatternId node, std::uint32_t from);
  void tail(TermId term);
  void inputs(NodePatternId node);
  void inputs_by_size(NodePatternId node, Reg first, Reg which,
                      std::uint32_t operand);
  void input_terms(NodePatternId node, Reg first, std::size_t count);
  void rest(NodePatternId node, std::uint32_t operand, Reg which);
  void variable(VariableId id, TermId subject, Reg value, bool transposed);
  void compound(TermId term, Reg value, const Axes* axes);
  void either(TermId term, Reg value, const Axes* axes);
  void alternative(TermId term, std::uint32_t index, Reg value,
                   const Axes* axes);
  void many(TermId term, Reg value);
  void never(TermId term, Reg value);
  void facts(TermId term, Certain value);
  void late_fact(FactId fact);
  std::uint32_t fact(FactId fact);

  void results();
  void differ_values(std::uint32_t result, std::uint32_t from);
  std::vector<std::uint32_t> backjumps() const;
  void reached_from(TermId root, std::vector<bool>& terms,
                    std::vector<bool>& variables) const;
  void conditions();
  void deferred();
  std::uint32_t search(const Place& place, TermId term, bool unmatched);
  std::uint32_t climb(const Anchor& anchor, TermId term);
  std::uint32_t climb_row(const Anchor& anchor, TermId term, Climb& climb,
                          std::map<TermId, std::uint32_t>& known);
  Climb::Row bound_row(TermId id);
  Climb::Row unbound_row(const Anchor& anchor, TermId id, Climb& climb,
                         std::map<TermId, std::uint32_t>& known);
  Climb::Row node_row(const Anchor& anchor, TermId id, Climb& climb,
                      std::map<TermId, std::uint32_t>& known);
  static Climb::Row union_row(const std::vector<std::uint32_t>& parts,
                              Climb& climb);
  void report(Report& report);
  Report::Variable report_variable(VariableId id);
  Report::Variable report_steps(VariableId id);

  Assembler& out_;
  const Prepared& prepared_;
  std::vector<Sequence> sequences_;
  int inside_ = 0;

  std::vector<std::uint32_t> registers_, scalars_;  // used, by depth
  std::vector<Reg> node_regs_, term_regs_, variable_regs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Reg> hole_regs_;
  std::vector<std::vector<std::uint32_t>> node_ops_;  // for future()
  std::vector<bool> node_certain_;                    // bound in main
  std::vector<bool> node_touched_;  // some instruction binds it
  std::vector<bool> head_done_;     // by node; its tail is not emitted yet
  std::vector<bool> variable_touched_;
  std::vector<std::optional<Certain>> variable_certain_;
  std::vector<std::uint32_t> node_blocks_, term_blocks_;
  std::vector<std::vector<std::uint32_t>> chains_;  // by term, of kMany
  std::vector<bool> late_variables_, late_terms_;

  std::vector<std::optional<OpSet>> op_sets_;     // by term
  std::vector<std::uint32_t> dominator_, level_;  // by term
  std::vector<std::vector<TermId>> outputs_;      // by node

  // What is judged at the end, in the order in which it was deferred.
  struct Later {
    Deferred::Kind kind;
    TermId term;
    Place place;
    bool at_once = false;
  };
  std::vector<Later> later_;
  bool facts_deferred_ = false;
  bool late_differ_ = false;  // at the end of the current result
  std::vector<Reg> results_;
};

}  // namespace ruleengine::match
