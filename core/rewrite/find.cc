// find_matches: what every rule would take in the graphs as they are.
#include <algorithm>
#include <unordered_map>

#include "core/analysis/order.h"
#include "core/match/machine.h"
#include "core/rewrite/driver.h"
#include "core/rewrite/run_state.h"
#include "core/rewrite/sweep.h"

namespace ruleengine::rewrite {
namespace {

class Finder {
 public:
  Finder(ir::Model& model, std::span<Rule* const> rules, const Options& options)
      : state_(model, rules, options) {}

  Result<std::vector<Found>> run() {
    auto stages = make_stages(state_.rules);
    if (!stages) return stages.error();
    for (const Stage& stage : *stages) {
      if (!stage.program) continue;
      if (Status s = look(stage, state_.model.graph); !s) return s.error();
      for (const auto& f : state_.model.functions) {
        const auto& skip = state_.options.skip_function;
        if (f->removed || (skip && skip(*f))) continue;
        if (Status s = look(stage, f->body); !s) return s.error();
      }
    }
    return std::move(out_);
  }

 private:
  // Matches of one key of a rule with `together`.
  struct Group {
    std::vector<match::Match> matches;
  };

  Status look(const Stage& stage, ir::Graph& graph) {
    GraphRun run(graph, state_.options.facts(graph));
    match::RuleMask mask;
    for (std::uint32_t rule : stage.matching) {
      auto enabled = state_.rules[rule]->enabled(graph, *run.facts);
      if (!enabled) return enabled.error();
      mask.push_back(*enabled);
    }
    const auto order = analysis::topological_order(graph);
    if (!order) return order.error();
    std::uint64_t rank = 0;
    for (ir::NodeId n : *order) graph.mutable_node(n).rank = rank++;
    match::Machine machine(*stage.program, graph, *run.facts);
    groups_.clear();
    by_key_.clear();
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
    for (const auto& [rule, group] : groups_) add_group(run, rule, group);
    return {};
  }

  Status judge(GraphRun& run, const match::Match& match, std::uint32_t rule) {
    std::vector<Warning> warnings;
    auto filtered =
        state_.rules[rule]->filter(match, run.graph, *run.facts, warnings);
    if (!filtered) return filtered.error();
    if (auto* rejection = std::get_if<Rejection>(&*filtered)) {
      add(run, match, rule, std::move(*rejection));
      return {};
    }
    if (!state_.rules[rule]->groups()) {
      add(run, match, rule, std::nullopt);
      return {};
    }
    const auto& candidate = std::get<std::unique_ptr<Candidate>>(*filtered);
    const ir::BlockId block = run.graph.node(match.root).block;
    const auto [it, is_new] = by_key_.emplace(
        std::to_string(rule) + "|" + std::to_string(block.index()) + "|" +
            candidate->key(),
        groups_.size());
    if (is_new) groups_.push_back({rule, {}});
    groups_[it->second].second.matches.push_back(match);
    return {};
  }

  void add_group(GraphRun& run, std::uint32_t rule, const Group& group) {
    std::vector<const match::Match*> members;
    for (const match::Match& m : group.matches) members.push_back(&m);
    const std::vector<bool> keep = independent(run, members);
    if (std::ranges::count(keep, true) < 2) return;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (keep[i]) add(run, *members[i], rule, std::nullopt);
    }
  }

  void add(GraphRun& run, const match::Match& match, std::uint32_t rule,
           std::optional<Rejection> rejection) {
    out_.push_back({state_.rules[rule]->name(),
                    {match.consumed.begin(), match.consumed.end()},
                    &run.graph,
                    match.root,
                    std::move(rejection)});
  }

  RunState state_;
  std::vector<Found> out_;
  std::vector<std::pair<std::uint32_t, Group>> groups_;
  std::unordered_map<std::string, std::size_t> by_key_;
};

}  // namespace

Result<std::vector<Found>> find_matches(ir::Model& model,
                                        std::span<Rule* const> rules,
                                        const Options& options) {
  return Finder(model, rules, options).run();
}

}  // namespace ruleengine::rewrite
