// Driver: runs rules over a Model to the fixed point: phases in order, one
// worklist per phase, the whole repeated while anything changes. Incremental:
// after an edit only its neighbourhood is looked at again. Same model, same
// rules: same result. The Model belongs to the caller; on an error it is in a
// consistent but unspecified state and must not be saved. Not thread-safe.
#ifndef RULEENGINE_CORE_REWRITE_DRIVER_H_
#define RULEENGINE_CORE_REWRITE_DRIVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "core/rewrite/rule.h"
#include "core/rewrite/stage.h"

namespace ruleengine::rewrite {

struct Limits {
  std::uint64_t rewrites = 1'000'000;
  // Of all models of a run together. What rules may build is the model's to
  // say: ir::Model::limit_growth.
  Deadline deadline;
};

struct Rejected {
  std::string node, reason, value;  // node "": of a pass, the whole graph
  // The node itself, until Driver::settle; none: of a pass, or taken back.
  const ir::Graph* graph = nullptr;
  ir::NodeId at;
  std::int64_t opset = 0;  // of Rejection
};

// An assumption that a kept rewrite rests on; of a group, one for each member.
struct Assumed {
  std::string rule, node;  // node as in Rejected
  Assumption assumption;
};

struct RuleReport {
  std::uint32_t rule = 0;  // its place among the rules of the run
  std::string name, file;
  Phase phase = Phase::kCanonical;
  bool took_part = false;  // its `when` said yes to some graph
  // Structural matches that took part: those that went into a rewrite, and
  // those that were turned down and still stand. With `together` every member
  // of a group counts, and none that has no other to go with.
  std::uint64_t matches = 0;
  std::uint64_t rewrites = 0;      // edits that were kept; a group is one
  std::vector<Rejected> rejected;  // at the fixed point, and taken back
  bool lint = false;
  std::vector<std::string> found;  // by a lint, at the fixed point: the nodes
  double seconds = 0;
};

struct Report {
  std::vector<RuleReport> rules;
  std::vector<Warning> warnings;     // once per rule, node and reason
  std::vector<Assumed> assumptions;  // in the order of the rewrites
  // Those that an option silenced, of matches that were rewritten.
  std::vector<Warning> allowed;
  double match_seconds = 0, rewrite_seconds = 0;
};

struct Options {
  Limits limits;
  // Rewrites that rest on an assumption are rejected.
  bool exact = false;
  // Makes the Facts of one graph (core/analysis; injected, so that tests can
  // do without).
  std::function<std::unique_ptr<ir::Facts>(ir::Graph&)> facts;
  // Canonical forms that no other rule of the run needed stay all the same.
  bool keep_all = false;
  // Called now and then with work done and known so far; may be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// A node as reports name it: its name, or that of its first output.
std::string node_label(const ir::Graph& graph, ir::NodeId node);

// A run in acts: each brings its stages to their fixed point, on what the acts
// before it left. Beside rules of other phases canonical ones serve: what they
// did and no other rule needed is taken back when the run is settled, and
// stands as a rejection. A limit hit, a rule that feeds itself or two that undo
// each other: kLimit, which names the culprits; nothing may be called then but
// the destructor. The rules and stages outlive the driver.
class Driver {
 public:
  Driver(ir::Model& model, std::span<Rule* const> rules, Options options);
  ~Driver();

  // Stages of these rules. What an earlier act reported as turned down by one
  // of them is forgotten, as the rule meets it again.
  Status act(const Stages& stages);
  // What stands turned down now.
  std::vector<Rejected> rejected(std::uint32_t rule) const;
  // Whether a rule rewrote something that stays, whatever others need.
  bool has_rewritten() const;
  // Takes back what nobody needed, and checks the graphs. Acts may follow.
  Status settle();
  // Of the rules of all acts, in their order. Once, at the end.
  Report report();

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

// One act of all rules, settled.
Result<Report> run(ir::Model& model, std::span<Rule* const> rules,
                   const Options& options);

// Where each rule would fire, nothing changed: every match is rewritten,
// checked and undone. A member that is alone in its group is one more,
// rejected.
struct Found {
  std::string rule;
  std::vector<ir::NodeId> nodes;  // consumed; of the main graph
  const ir::Graph* graph = nullptr;
  ir::NodeId root;
  // `where`, `rewrite` or the check of what it built said no.
  std::optional<Rejection> rejection;
  std::vector<Assumption> assumptions;  // that it rests on, where it fires
  // What else the rewrite takes away: nodes that nothing reads any more. With
  // `together` those of the whole group.
  std::vector<ir::NodeId> dead;
};
Result<std::vector<Found>> find_matches(ir::Model& model,
                                        std::span<Rule* const> rules,
                                        const Options& options);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_DRIVER_H_
