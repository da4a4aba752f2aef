// The state of a run: one GraphRun for each graph, and the RunState that they
// share. Internal to core/rewrite. Errors are returned as Diagnostics; nothing
// here is thread-safe.
#pragma once

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
// What is rewritten as one: matches, and the candidate of each.
using Candidates = std::span<Candidate* const>;
using Matches = std::span<const match::Match* const>;
// Sets of them, as lists of indices.
using Parts = std::vector<std::vector<std::size_t>>;

double seconds_since(Clock::time_point start);

// A rejection with its place, and without a reason yet. `node` is invalid for a
// pass.
Rejected place_of(const ir::Graph& graph, ir::NodeId node);

// The rejections and findings of the last sweep of a stage over a graph. Only
// rules that matched are in the map, since there are many of these.
struct Standing {
  struct Met {
    std::uint64_t matches = 0;
    std::vector<Rejected> rejected;
    std::vector<std::string> found;  // of a lint: labels of nodes
  };
  std::map<std::uint32_t, Met> of;  // by index of the rule
  std::vector<Warning> warnings;
  std::set<std::tuple<std::uint32_t, std::string, std::string, std::string>>
      seen;

  // `place`: from place_of.
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
  History history;  // empty unless the run records edits
};

// A fact about one kept edit, which may be undone at the end of the run.
template <class T>
struct OfEdit {
  std::uint64_t edit = 0;  // RunState::version after it
  T what;
};

// Counts of the kept edits; lists are by rule.
struct Counts {
  explicit Counts(std::size_t rules) : rewrites(rules), matches(rules) {}

  std::uint64_t all = 0;  // all rewrites
  std::uint32_t last_rule = 0;
  std::string last_node;  // of the last one
  std::vector<std::uint64_t> rewrites, matches;
  std::vector<OfEdit<Warning>> allowed;  // for matches that were rewritten
  std::vector<OfEdit<Assumed>> assumed;
  std::vector<OfEdit<Site>> sites;
};

class RunState {
 public:
  RunState(ir::Model& m, std::span<Rule* const> r, DriverOptions o);

  ir::Model& model;
  std::span<Rule* const> rules;
  DriverOptions options;
  std::vector<std::unique_ptr<GraphRun>> graphs;

  std::uint64_t version = 0;  // incremented by every change of a graph
  Counts counts;
  std::vector<double> seconds_of;  // by rule
  std::vector<bool> took_part;     // by rule
  double match_seconds = 0;

  // Sets the rule and node at work, which errors about limits name.
  void work_at(const GraphRun& run, std::uint32_t rule, ir::NodeId root) {
    at_ = {&run.graph, rule, root};
    worked_ = true;
  }
  // Reports progress and checks the deadline. Cheap.
  Status tick(std::uint64_t left);
  // kLimit if the deadline has passed or the model may not grow any more; names
  // the rule and the node at work.
  Status check() const;
  // Whether no further rewrite is to take place.
  bool is_full() const { return counts.all >= options.limits.first; }
  // The error for a failed allocation.
  Diagnostic out_of_memory() const;
  // Counts a rewrite of `rule` that used `matches` matches; kLimit if it is one
  // too many.
  Status count(std::uint32_t rule, std::size_t matches);
  // Notes the assumptions of the latest rewrite, by `rule` at `node`.
  Status assume(std::uint32_t rule, const std::string& node,
                std::span<const Assumption> all);
  // Notes the site of the latest rewrite.
  Status note_site(std::optional<Site> site);
  // Why DriverOptions::permits forbids the rewrite at this site, if it does.
  std::optional<Rejection> forbidden(std::uint32_t rule,
                                     const Site& site) const;
  // The reason for rejecting a rewrite with these assumptions, if any.
  std::optional<Rejection> too_much(std::span<const Assumption> all) const;
  // Commits or rehearses an edit of the rule, with what it assumes about sizes;
  // why it is not kept.
  std::optional<Rejection> end(Edit& edit, const Rule& rule, bool keeps);
  Diagnostic loop(const GraphRun& run, const Lineage::RuleLoop& loop) const;
  // The error for an endless run without one responsible node: names the rules
  // that rewrote since `then`.
  Diagnostic endless(const std::vector<std::uint64_t>& then,
                     bool repeats) const;
  Diagnostic exhausted(const GraphRun& run, std::uint32_t rule,
                       ir::NodeId root) const;
  std::unique_ptr<GraphRun> run_of(ir::Graph& graph);

 private:
  struct AtWork {
    const ir::Graph* graph = nullptr;  // nullptr: nothing yet
    std::uint32_t rule = 0;
    ir::NodeId root;  // invalid for a `pass`
  };
  Diagnostic named(Diagnostic error) const;
  std::string slowest() const;
  const std::string& no_bodies();

  AtWork at_;
  // By graph: the first node that is not of the file.
  std::unordered_map<const ir::Graph*, std::size_t> first_made_;
  bool worked_ = true;  // whether a rule worked since progress was last shown
  // Why the model cannot be raised to an opset that allows function bodies;
  // computed for older models only.
  std::int64_t limit_on_growth() const;

  // Bytes of the constants of the model, and at most how many more they are
  // now.
  std::int64_t constants_, grown_ = 0;
  std::optional<std::string> no_bodies_;
  Clock::time_point shown_ = Clock::now();
  std::uint64_t ticks_ = 0;
  std::uint64_t done_ = 0;
};

// Checks after each kept edit, if RULEENGINE_CHECK_EDITS is on.
Status check_after_edit(GraphRun& run);
Status check_at_end(GraphRun& run);

}  // namespace ruleengine::rewrite
