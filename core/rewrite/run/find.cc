// find_matches: what every rule would rewrite in the graphs as they are.
#include <algorithm>
#include <new>

#include "core/ir/order.h"
#include "core/match/known_ops.h"
#include "core/match/machine.h"
#include "core/rewrite/driver.h"
#include "core/rewrite/edits/unmentioned.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/run/attempt.h"
#include "core/rewrite/run/run_state.h"
#include "core/rewrite/run/sweep.h"

namespace ruleengine::rewrite {
namespace {

class Finder {
 public:
  Finder(ir::Model& model, std::span<Rule* const> rules,
         const DriverOptions& options)
      : state_(model, rules, options) {}

  Result<std::vector<Found>> run() {
    try {
      return find();
    } catch (const std::bad_alloc&) {
      return state_.out_of_memory();
    }
  }

 private:
  Result<std::vector<Found>> find() {
    auto stages = make_stages(state_.rules);
    if (!stages) return stages.error();
    for (const Stage& stage : *stages) {
      if (!stage.program) continue;
      known_ = std::make_shared<match::KnownOps>(*stage.program);
      for (ir::Graph* graph : rewritable_graphs(state_.model)) {
        if (Status s = look(stage, *graph); !s) return s.error();
      }
    }
    return std::move(out_);
  }

  // The matches with one key of a rule with `together`.
  struct Group {
    std::uint32_t rule = 0;
    std::vector<match::Match> matches;
    std::vector<std::unique_ptr<Candidate>> candidates;
  };

  Status look(const Stage& stage, ir::Graph& graph) {
    const auto made = state_.run_of(graph);
    GraphRun& run = *made;
    match::RuleMask mask;
    for (std::uint32_t rule : stage.matching) {
      auto enabled = state_.rules[rule]->enabled(graph, *run.facts);
      if (!enabled) return enabled.error();
      mask.push_back(*enabled);
    }
    const auto order = ir::number_nodes(graph);
    if (!order) return order.error();
    match::Machine machine(*stage.program, graph, *run.facts, known_);
    groups_.clear();
    numbers_ = {};
    ir::Held keys(state_.model);
    keys_ = &keys;
    std::vector<match::Match> found;
    for (ir::NodeId root : *order) {
      if (Status s = state_.tick(0); !s) return s;
      if (!machine.may_match(root)) continue;
      found.clear();
      machine.run(root, mask, found);
      if (const auto cut = machine.exhausted()) {
        return state_.exhausted(run, stage.matching[cut->rule], cut->root);
      }
      for (const match::Match& m : found) {
        if (Status s = judge(run, m, stage.matching[m.rule]); !s) return s;
      }
    }
    for (const Group& group : groups_) {
      state_.work_at(run, group.rule, group.matches[0].root);
      if (Status s = state_.check(); !s) return s;
      if (Status s = judge_group(run, group); !s) return s;
    }
    return {};
  }

  Status judge(GraphRun& run, const match::Match& match, std::uint32_t rule) {
    state_.work_at(run, rule, match.root);
    std::vector<Warning> warnings;
    auto filtered = pass(state_, run, rule, match, warnings);
    if (!filtered) return filtered.error();
    if (auto* rejection = std::get_if<Rejection>(&*filtered)) {
      add(run, match, rule, std::move(*rejection));
      return {};
    }
    if (state_.rules[rule]->is_lint()) {
      add(run, match, rule, {});
      return {};
    }
    auto candidate = std::get<std::unique_ptr<Candidate>>(std::move(*filtered));
    const match::Match* const its = &match;
    if (!state_.rules[rule]->groups()) {
      Candidate* const one = candidate.get();
      return rehearse(run, rule, {&one, 1}, {&its, 1});
    }
    const std::size_t group =
        numbers_.add(rule, run.graph.node(match.root).block, candidate->key());
    if (group == groups_.size()) groups_.push_back({.rule = rule});
    keys_->add(sizeof(Group) + 2 * candidate->key().size());
    groups_[group].matches.push_back(match);
    groups_[group].candidates.push_back(std::move(candidate));
    return {};
  }

  Status judge_group(GraphRun& run, const Group& group) {
    std::vector<const match::Match*> members;
    for (const match::Match& m : group.matches) members.push_back(&m);
    const std::vector<bool> keep = independent(run, members);
    std::vector<const match::Match*> kept;
    std::vector<Candidate*> candidates;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!keep[i]) {
        add(run, *members[i], group.rule,
            Rejection{"it depends on another match of its group", ""});
        continue;
      }
      kept.push_back(members[i]);
      candidates.push_back(group.candidates[i].get());
    }
    if (kept.size() >= 2) return rehearse(run, group.rule, candidates, kept);
    for (const match::Match* m : kept) {
      add(run, *m, group.rule,
          Rejection{"no other match has its key of `together`", ""});
    }
    return {};
  }

  // Does what the driver would do with these matches, and undoes it.
  Status rehearse(GraphRun& run, std::uint32_t rule, Candidates candidates,
                  Matches matches) {
    Attempt attempt(state_, run, rule, candidates, matches);
    if (Status s = attempt.run(Attempt::Ending::kShow); !s) return s;
    if (!attempt.parts().empty()) {
      return rehearse_parts(run, rule, candidates, matches, attempt.parts());
    }
    for (std::size_t i = 0; i < matches.size(); ++i) {
      add(run, *matches[i], rule, attempt.rejection(), attempt.dead());
      if (attempt.rejection()) continue;
      std::vector<Assumption>& all = out_.back().assumptions;
      for (const Assumption& a : candidates[i]->assumptions()) all.push_back(a);
      for (const Assumption& a : attempt.edit().assumptions()) {
        add_assumption(all, a);
      }
    }
    return {};
  }

  Status rehearse_parts(GraphRun& run, std::uint32_t rule,
                        Candidates candidates, Matches matches,
                        const Parts& parts) {
    for (const std::vector<std::size_t>& part : parts) {
      std::vector<Candidate*> own;
      std::vector<const match::Match*> its;
      for (std::size_t i : part) {
        own.push_back(candidates[i]);
        its.push_back(matches[i]);
      }
      if (its.size() < 2) {
        add(run, *its[0], rule, goes_with_none());
      } else if (Status s = rehearse(run, rule, own, its); !s) {
        return s;
      }
    }
    return {};
  }

  void add(GraphRun& run, const match::Match& match, std::uint32_t rule,
           std::optional<Rejection> rejection,
           std::vector<ir::NodeId> dead = {}) {
    out_.push_back({state_.rules[rule]->name(),
                    {match.consumed.begin(), match.consumed.end()},
                    &run.graph,
                    match.root,
                    std::move(rejection),
                    {},
                    std::move(dead)});
  }

  RunState state_;
  std::shared_ptr<match::KnownOps> known_;  // of the current stage
  std::vector<Found> out_;
  std::vector<Group> groups_;
  ir::Held* keys_ = nullptr;  // memory of the groups
  GroupNumbers numbers_;
};

}  // namespace

Result<std::vector<Found>> find_matches(ir::Model& model,
                                        std::span<Rule* const> rules,
                                        const DriverOptions& options) {
  return Finder(model, rules, options).run();
}

}  // namespace ruleengine::rewrite
