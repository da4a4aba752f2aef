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

// Puts items into a list, each once, and tells their places there.
template <typename T, typename Key = T>
class Pool {
 public:
  explicit Pool(std::vector<T>& list) : list_(list) {}

  std::uint32_t operator()(T item) { return put(item, std::move(item)); }
  // The key says all of the item. It is read first.
  std::uint32_t put(const Key& key, auto&& item) {
    const auto [at, is_new] =
        places_.try_emplace(key, static_cast<std::uint32_t>(list_.size()));
    if (is_new) list_.push_back(std::forward<decltype(item)>(item));
    return at->second;
  }

 private:
  std::vector<T>& list_;
  std::map<Key, std::uint32_t> places_;
};

class Assembler {
  Code& code_;
  std::vector<Sequence> blocks_;

 public:
  explicit Assembler(Code& code) : code_(code) {}

  Pool<std::string> name{code_.names};
  Pool<std::vector<std::string>> name_list{code_.name_lists};
  Pool<std::pair<bool, std::vector<double>>> numbers{code_.numbers};
  Pool<Inputs> inputs{code_.inputs};
  Pool<Branches> branches{code_.branches};
  Pool<std::vector<std::uint32_t>> block_list{code_.block_lists};
  Pool<Chain> chain{code_.chains};
  Pool<Climb> climb{code_.climbs};
  Pool<Search> search{code_.searches};
  Pool<Table> table{code_.tables};
  Pool<Sequence> block{blocks_};
  // The operand of kNode: an op, or a set of them.
  std::uint32_t op(const NodePattern& node);
  std::vector<std::uint32_t> ops(const NodePattern& node);
  std::uint32_t literal(const AttributePattern& literal);
  std::uint32_t fact(Fact fact);
  std::uint32_t op_set(OpSet set);

  // Adds `rule`'s instructions, for roots of these ops and this output.
  void add_rule(std::uint32_t rule, const Sequence& sequence,
                std::vector<std::uint32_t> root_ops, std::uint32_t output);
  void need_frame(std::uint32_t depth, std::uint32_t registers,
                  std::uint32_t scalars);
  // Lays out blocks and trees as cells.
  void finish();

 private:
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

  Pool<std::pair<std::string, std::string>> ops_{code_.ops};
  Pool<AttributePattern, std::string> literals_{code_.literals};
  Pool<Fact, std::string> facts_{code_.facts};
  Pool<OpSet> op_sets_{code_.op_sets};
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
