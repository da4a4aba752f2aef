// Branches of If: which ran, and sizes on which others may. A BranchLog is told
// of each node that an executor ran (ExecutorOptions::trace), over any number
// of runs. Graphs are told apart by their functions, so that it may be asked
// about the model that the executor made its own from. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "runtime/drawing/sizes_at.h"

namespace ruleengine::runtime {

class BranchLog {
 public:
  void note(const ir::Graph& graph, ir::NodeId node);

  // Branches that were taken, of all runs so far.
  std::size_t taken() const;
  // Of graphs that ran.
  struct Missing {
    bool is_main = false;
    ir::BlockId block;  // of the main graph; its owner is the If
    std::string text;   // "the else branch of If 'x'"
  };
  std::vector<Missing> missing() const;

 private:
  using Key = std::pair<std::string, std::size_t>;
  struct Branch {
    Missing as;
    Key owner, other;
    bool has_nodes = false;
    std::size_t first_node = 0;  // that was seen in it
    std::size_t runs = 0;
  };
  void meet(const ir::Graph& graph, const std::string& name);
  bool is_taken(const Branch& branch) const;

  std::set<std::string> known_;
  std::map<Key, Branch> branches_;   // by function and block
  std::map<Key, std::size_t> runs_;  // of Ifs, by function and node
};

// Where the condition of the node compares sizes: for each comparison and each
// of `leaves` in it, a size of the leaf for every way in which it can turn out,
// while the others stay as in `at`. One leaf in each result.
std::vector<SizeOf> sizes_that_turn(ir::Model& model, ir::Facts& facts,
                                    ir::NodeId branching, const SizeOf& at);

}  // namespace ruleengine::runtime
