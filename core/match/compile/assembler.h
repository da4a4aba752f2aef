// Assembler: collects the operands and blocks of a Code, each once. compile()
// makes one, adds every rule's sequence in turn, and lays out the result at the
// end. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/match/compile/code.h"

namespace ruleengine::match {

using Sequence = std::vector<Instr>;

class Assembler {
 public:
  explicit Assembler(Code& code) : code_(code) {}

  std::uint32_t op(std::string_view domain, std::string_view type);
  // The operand of kNode: an op, or a set of them.
  std::uint32_t op(const NodePattern& node);
  std::vector<std::uint32_t> ops(const NodePattern& node);
  std::uint32_t name(const std::string& name);
  std::uint32_t name_list(std::vector<std::string> names);
  std::uint32_t literal(const AttributePattern& literal);
  std::uint32_t numbers(bool scalar, std::vector<double> numbers);
  std::uint32_t fact(Fact fact);
  std::uint32_t op_set(OpSet set);
  std::uint32_t inputs(Inputs inputs);
  std::uint32_t branches(Branches branches);
  std::uint32_t block_list(std::vector<std::uint32_t> blocks);
  std::uint32_t chain(Chain chain);
  std::uint32_t climb(Climb climb);
  std::uint32_t search(Search search);
  std::uint32_t table(Table table);
  std::uint32_t block(Sequence sequence);

  // Adds `rule`'s instructions, for roots of these ops and this output.
  void add_rule(std::uint32_t rule, const Sequence& sequence,
                std::vector<std::uint32_t> root_ops, std::uint32_t output);
  void need_frame(std::uint32_t depth, std::uint32_t registers,
                  std::uint32_t scalars);
  // Lays out blocks and trees as cells.
  void finish();

 private:
  template <typename T>
  std::uint32_t keep(std::map<T, std::uint32_t>& known, std::vector<T>& list,
                     T item) {
    const auto [at, is_new] =
        known.try_emplace(item, static_cast<std::uint32_t>(list.size()));
    if (is_new) list.push_back(std::move(item));
    return at->second;
  }

  // A cell of a tree before it is laid out.
  struct Grown {
    Instr instr;
    std::vector<std::uint32_t> children;
    std::uint32_t rules = 0;
    std::uint32_t least_rule = kNone;
  };
  using StartKey = std::pair<std::vector<std::uint32_t>, std::uint32_t>;

  void lay_block(const Sequence& sequence);
  void lay_trees();
  void lay_start(const StartKey& key, std::uint32_t top);
  // Lays out cells from `grown` on, until the tree forks or ends.
  std::uint32_t lay_segment(std::uint32_t grown, std::uint32_t parent);
  std::uint32_t lay_fork(std::uint32_t grown, std::uint32_t segment);
  void add_child(Branch& branch, std::uint32_t grown);

  Code& code_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> ops_;
  std::map<std::string, std::uint32_t> names_;
  std::map<std::vector<std::string>, std::uint32_t> name_lists_;
  std::map<std::string, std::uint32_t> literals_, facts_;
  std::map<std::pair<bool, std::vector<double>>, std::uint32_t> numbers_;
  std::map<OpSet, std::uint32_t> op_sets_;
  std::map<Inputs, std::uint32_t> inputs_;
  std::map<Branches, std::uint32_t> branches_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> block_lists_;
  std::map<Chain, std::uint32_t> chains_;
  std::map<Climb, std::uint32_t> climbs_;
  std::map<Search, std::uint32_t> searches_;
  std::map<Table, std::uint32_t> tables_;
  std::map<Sequence, std::uint32_t> block_ids_;
  std::vector<Sequence> blocks_;
  std::vector<Grown> grown_;
  std::map<std::pair<std::uint32_t, Instr>, std::uint32_t> grown_ids_;
  std::map<StartKey, std::uint32_t> starts_;
  // Forks that are not laid out yet: the cell, the cells after it, the segment.
  struct Open {
    std::uint32_t cell, grown, segment;
  };
  std::vector<Open> open_;
};

}  // namespace ruleengine::match
