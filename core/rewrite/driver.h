// Driver: runs rules over a Model to the fixed point: phases in order, one
// worklist per phase, repeated while anything changes. Incremental: after an
// edit only its neighbourhood is matched again. The same model and rules give
// the same result. The Model belongs to the caller; after an error it is in a
// consistent but unspecified state and must not be saved. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "core/rewrite/region.h"
#include "core/rewrite/rule.h"
#include "core/rewrite/stage.h"

namespace ruleengine::rewrite {

struct Limits {
  std::uint64_t rewrites = 1'000'000;
  // Rewrites after so many do not take place; to find the one that is wrong.
  std::uint64_t first = ~std::uint64_t{0};
  // Bytes by which the constants of the result may exceed those of the model;
  // edits beyond it are rejected. 0: a quarter of them, or 64 MiB if that is
  // more.
  std::size_t growth = 0;
  // For all models of a run together. The limit on what rules may build belongs
  // to the model: ir::Model::limit_growth.
  Deadline deadline;
};

struct Rejected {
  std::string node, reason,
      value;  // node is "" for a pass that rejected the whole graph
  // The node itself, until Driver::settle; invalid for a pass, and for an edit
  // that was undone.
  const ir::Graph* graph = nullptr;
  ir::NodeId at;
  std::int64_t opset = 0;  // as in Rejection
  std::string tie;         // as in Rejection
};

// An assumption that a kept rewrite rests on; in a group, one for each member.
struct Assumed {
  std::string rule, node;  // node as in Rejected
  Assumption assumption;
};

// Where a rule rewrites, named so that another run over the same model names it
// the same, whatever other rewrites it leaves out.
struct Site {
  std::string rule;  // its qualified name
  // The value that the first match computes; in a pass, the node as in
  // Rejected.
  std::string value;
  // The op and the type of that value: sites of one kind do the same work.
  std::string kind;
};

struct RuleReport {
  std::uint32_t rule = 0;  // index among the rules of the run
  std::string name, file;
  Phase phase = Phase::kCanonical;
  bool took_part = false;  // its `when` returned true for some graph
  // Structural matches that were rewritten or are rejected at the fixed point.
  // With `together` each member of a group counts; a match without another of
  // its key does not.
  std::uint64_t matches = 0;
  std::uint64_t rewrites = 0;  // kept edits; a group counts once
  std::vector<Rejected>
      rejected;  // at the fixed point, and edits that were undone
  bool lint = false;
  std::vector<std::string>
      found;  // the nodes where a lint matches, at the fixed point
  std::optional<Deviation> changes_meaning;
  double seconds = 0;
};

struct DriverReport {
  std::vector<RuleReport> rules;
  std::vector<Warning> warnings;     // once per rule, node and reason
  std::vector<Assumed> assumptions;  // in the order of the rewrites
  // Warnings that an option silenced, for matches that were rewritten.
  std::vector<Warning> allowed;
  std::vector<Site> sites;  // of kept edits, if DriverOptions::permits is set
  double match_seconds = 0, rewrite_seconds = 0;
  // All edits, those that were undone as well; and the last of them.
  std::uint64_t edits = 0;
  std::uint32_t last_rule = 0;  // index among the rules of the run
  std::string last_node;        // as in Rejected
};

struct DriverOptions {
  Limits limits;
  // Rewrites that rest on an assumption are rejected.
  bool exact = false;
  // Makes the Facts of one graph; injected, so that tests can use simpler ones
  // than core/analysis.
  std::function<std::unique_ptr<ir::Facts>(ir::Graph&)> facts;
  // Whether the opset may be raised for function bodies. If not, ops that need
  // one are not built in a graph whose opset is too old for it.
  bool raises = true;
  // Whether the rules may lead back to where they began, as those do that take
  // ops apart again. Then a run that changed nothing in the end undoes all.
  bool may_return = false;
  // Keeps lent edits (is_lent()) even if no other rule of the run needed them.
  bool keep_all = false;
  // Asked before each rewrite; it is rejected where the answer is a reason. May
  // be empty.
  std::function<std::optional<std::string>(const Rule&, const Site&)> permits;
  // Asked about each edit before it is kept; it is rejected where the answer is
  // a reason. May be empty.
  Judge judge;
  // Called from time to time with the work done and the work known so far; may
  // be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// The name of a node in reports: its own, or that of its first output.
std::string node_label(const ir::Graph& graph, ir::NodeId node);

// A run consists of acts. Each act brings its stages to their fixed point, on
// the graphs that the acts before it left. In an act with rules that are lent
// (is_lent()) and others, the lent ones serve the others: their edits that no
// other rule needed, and that make the graph no smaller, are undone when the
// run is settled, and reported as rejections.
// kLimit, with the names of the rules, if a limit is reached, if a rule feeds
// itself, or if two undo each other; after that only the destructor may be
// called. The rules and stages must outlive the driver.
class Driver {
 public:
  Driver(ir::Model& model, std::span<Rule* const> rules, DriverOptions options);
  ~Driver();

  // Runs one act. Rejections that an earlier act reported for its rules are
  // forgotten, since the rules run again.
  Status act(const Stages& stages);
  // The current rejections of a rule.
  std::vector<Rejected> rejected(std::uint32_t rule) const;
  // Whether a rule rewrote something that settle() will not undo.
  bool has_rewritten() const;
  // Undoes the edits that no rule needed, and checks the graphs. More acts may
  // follow.
  Status settle();
  // The report on all acts, in their order. To call once, at the end.
  DriverReport report();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// One act with all rules, settled.
Result<DriverReport> run(ir::Model& model, std::span<Rule* const> rules,
                         const DriverOptions& options);

// Where each rule would fire, without changing the model: every match is
// rewritten, checked and undone. A match without another of its group is listed
// too, as rejected.
struct Found {
  std::string rule;
  std::vector<ir::NodeId> nodes;  // consumed; of the main graph
  const ir::Graph* graph = nullptr;
  ir::NodeId root;
  // From `where`, from `rewrite`, or from the check of the edit.
  std::optional<Rejection> rejection;
  std::vector<Assumption> assumptions;  // that the rewrite rests on
  // The nodes that the rewrite would remove besides those, since nothing reads
  // them any more. With `together`: those of the whole group.
  std::vector<ir::NodeId> dead;
};
Result<std::vector<Found>> find_matches(ir::Model& model,
                                        std::span<Rule* const> rules,
                                        const DriverOptions& options);

}  // namespace ruleengine::rewrite
