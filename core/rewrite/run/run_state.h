// What a run keeps: one GraphRun for each graph, and the RunState that they
// share. Internal to core/rewrite. A failed step leaves its Diagnostic to the
// caller; nothing here is thread-safe.
#ifndef RULEENGINE_CORE_REWRITE_RUN_RUN_STATE_H_
#define RULEENGINE_CORE_REWRITE_RUN_RUN_STATE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/rewrite/driver.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/history/history.h"
#include "core/rewrite/run/lineage.h"
#include "core/rewrite/stage.h"

namespace ruleengine::rewrite {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

// Where something is turned down, for what reasons is still to be said. `node`:
// none of a pass.
Rejected place_of(const ir::Graph& graph, ir::NodeId node);

// What stood at the last sweep of a stage over a graph: there are many of
// these, and few rules that match.
struct Standing {
  struct Met {
    std::uint64_t matches = 0;
    std::vector<Rejected> rejected;
    std::vector<std::string> found;  // of a lint: the nodes' labels
  };
  std::map<std::uint32_t, Met> of;  // by rule of the run: those that matched
  std::vector<Warning> warnings;
  std::set<std::tuple<std::uint32_t, std::string, std::string, std::string>>
      seen;

  // At a place of place_of.
  void reject(std::uint32_t rule, Rejected place, Rejection why);
};

struct GraphRun {
  GraphRun(ir::Graph& g, std::unique_ptr<ir::Facts> f)
      : graph(g),
        facts(std::move(f)),
        workspace(g),
        lineage(g),
        history(g, *facts, workspace) {}

  ir::Graph& graph;
  std::unique_ptr<ir::Facts> facts;
  Workspace workspace;
  Lineage lineage;
  History history;  // where the run keeps one
};

// What is said of one kept edit, which may be taken back at the end.
template <class T>
struct OfEdit {
  std::uint64_t edit = 0;  // RunState::version once it was kept
  T what;
};

// What the edits that were kept come to, by rule where it is a list.
struct Counts {
  explicit Counts(std::size_t rules) : rewrites(rules), matches(rules) {}

  std::uint64_t all = 0;  // rewrites
  std::vector<std::uint64_t> rewrites, matches;
  std::vector<OfEdit<Warning>> allowed;  // of matches that were rewritten
  std::vector<OfEdit<Assumed>> assumed;
};

class RunState {
 public:
  RunState(ir::Model& m, std::span<Rule* const> r, Options o);

  ir::Model& model;
  std::span<Rule* const> rules;
  Options options;
  std::vector<std::unique_ptr<GraphRun>> graphs;

  std::uint64_t version = 0;  // grows with every change of any graph
  Counts counts;
  std::vector<double> seconds_of;  // by rule
  std::vector<bool> took_part;     // by rule
  double match_seconds = 0;

  // What is looked at from now on, to name when a limit is hit.
  void work_at(const GraphRun& run, std::uint32_t rule, ir::NodeId root) {
    at_ = {&run, rule, root};
    worked_ = true;
  }
  // Time and work so far; kLimit when the time is over. Cheap.
  Status tick(std::uint64_t left);
  // kLimit when the time is over, or the model may not grow any more, which
  // names the rule and the node at work.
  Status check() const;
  // That memory ran out.
  Diagnostic out_of_memory() const;
  // A rewrite of `rule`, of so many matches, was kept: limits.
  Status count(std::uint32_t rule, std::size_t matches);
  // The latest rewrite, of `rule` at `node`, rests on these.
  Status assume(std::uint32_t rule, const std::string& node,
                std::span<const Assumption> all);
  // Why a rewrite that rests on these is not to be, if it is not.
  std::optional<Rejection> too_much(std::span<const Assumption> all) const;
  Diagnostic circle(const GraphRun& run, const Lineage::Circle& circle) const;
  // Rules that go on for ever without one node to tell of: those that rewrote
  // since `then`.
  Diagnostic endless(const std::vector<std::uint64_t>& then,
                     bool repeats) const;
  Diagnostic exhausted(const GraphRun& run, std::uint32_t rule,
                       ir::NodeId root) const;
  std::unique_ptr<GraphRun> run_of(ir::Graph& graph);

 private:
  struct AtWork {
    const GraphRun* run = nullptr;  // none yet
    std::uint32_t rule = 0;
    ir::NodeId root;  // invalid: of a `pass`
  };
  Diagnostic named(Diagnostic error) const;
  std::string slowest() const;
  const std::string& no_bodies();

  AtWork at_;
  bool worked_ = true;  // a rule did since somebody looked
  // Why the model cannot be raised to an opset that bodies are said in; asked
  // for models that are older.
  std::optional<std::string> no_bodies_;
  Clock::time_point shown_ = Clock::now();
  std::uint64_t ticks_ = 0;
  std::uint64_t done_ = 0;
};

// Kept edits may be checked one by one; see RULEENGINE_CHECK_EDITS.
Status check_after_edit(GraphRun& run);
Status check_at_end(GraphRun& run);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_RUN_RUN_STATE_H_
