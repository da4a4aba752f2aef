#include "core/rewrite/run/attempt.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/analysis/quantized.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

// The lowest rank among the producers of the replaced values.
std::uint64_t rank_of(const ir::Graph& graph, Matches matches) {
  std::uint64_t rank = std::numeric_limits<std::uint64_t>::max();
  for (const match::Match* m : matches) {
    rank = std::min(rank, graph.node(m->root).rank);
    for (ValueId v : m->results) {
      const NodeId p = graph.producer(v);
      if (p) rank = std::min(rank, graph.node(p).rank);
    }
  }
  return rank;
}

// The nodes that the matches consume, ascending, without duplicates.
SmallVector<NodeId, 8> consumed_by(Matches matches) {
  SmallVector<NodeId, 8> all;
  for (const match::Match* m : matches) all.append(m->consumed);
  all.sort_unique();
  return all;
}

// The nodes that the matches look at besides, likewise.
SmallVector<NodeId, 8> context_of(Matches matches,
                                  std::span<const NodeId> consumed) {
  SmallVector<NodeId, 8> all;
  for (const match::Match* m : matches) all.append(m->nodes);
  all.erase_if(
      [&](NodeId n) { return !n || std::ranges::binary_search(consumed, n); });
  all.sort_unique();
  return all;
}

// The nodes of the matches that a runtime computes on integers
// (core/analysis/quantized.h) and that rules must not treat as floats. A match
// with a DequantizeLinear or QuantizeLinear is left out: its rule deals with
// quantization.
SmallVector<NodeId, 8> integers_in(GraphRun& run, Matches matches) {
  const ir::Graph& graph = run.graph;
  SmallVector<NodeId, 8> all;
  if (!analysis::may_be_quantized(graph.model())) return all;
  const auto is_named = [&](NodeId n) {
    return n && analysis::is_quantizer(graph.op(n));
  };
  for (const match::Match* m : matches) {
    if (std::ranges::any_of(m->nodes, is_named)) continue;
    for (NodeId n : m->nodes) {
      if (n && analysis::is_quantized(graph, *run.facts, n)) all.push_back(n);
    }
  }
  return all;
}

// A rejection that names the first of `integers` that is consumed or removed.
std::optional<Rejection> loses_integers(const ir::Graph& graph,
                                        std::span<const NodeId> integers,
                                        std::span<const NodeId> consumed) {
  for (NodeId n : integers) {
    if (!graph.node(n).removed && !std::ranges::binary_search(consumed, n)) {
      continue;
    }
    return Rejection{"it is quantized: a runtime computes the " +
                         graph.op(n).text() + " on integers",
                     graph.describe(n)};
  }
  return std::nullopt;
}

}  // namespace

Result<Rule::Filtered> pass(RunState& state, GraphRun& run, std::uint32_t rule,
                            const match::Match& match,
                            std::vector<Warning>& warnings) {
  const match::Match* const its = &match;
  auto loss =
      loses_integers(run.graph, integers_in(run, {&its, 1}), match.consumed);
  if (loss) return Rule::Filtered(std::move(*loss));
  auto filtered =
      state.rules[rule]->filter(match, run.graph, *run.facts, warnings);
  if (!filtered || std::holds_alternative<Rejection>(*filtered)) {
    return filtered;
  }
  const auto& candidate = std::get<std::unique_ptr<Candidate>>(*filtered);
  auto too_much = state.too_much(candidate->assumptions());
  if (too_much) return Rule::Filtered(std::move(*too_much));
  return filtered;
}

Attempt::Attempt(RunState& state, GraphRun& run, std::uint32_t rule,
                 Candidates candidates, Matches matches)
    : state_(state),
      run_(run),
      rule_(*state.rules[rule]),
      candidates_(candidates),
      consumed_(consumed_by(matches)),
      context_(context_of(matches, consumed_)),
      integers_(integers_in(run, matches)),
      edit_(run.graph, *run.facts,
            {.rule = rule_.qualified(),
             .from = consumed_,
             .context = context_,
             .meta = rule_.meta(),
             .assumes = std::ranges::any_of(
                 candidates,
                 [](const Candidate* c) { return !c->assumptions().empty(); })},
            &run.workspace) {
  edit_.set_block(run.graph.node(matches[0]->root).block);
  edit_.set_rank(rank_of(run.graph, matches));
  edit_.claim(*rule_.pattern(), matches);
}

Status Attempt::run(Ending ending) {
  auto applied = rule_.apply(candidates_, edit_);
  if (!applied) return applied.error();
  rejection_ = std::move(*applied);
  if (!rejection_) rejection_ = state_.too_much(edit_.assumptions());
  if (rejection_) return {};
  edit_.remove_dead(consumed_);
  parts_ = edit_.divisions();
  if (!parts_.empty()) {
    edit_.undo();
    return {};
  }
  if (ending == Ending::kShow) find_dead();
  rejection_ = loses_integers(run_.graph, integers_, {});
  if (rejection_) return {};
  rejection_ = state_.end(edit_, rule_, ending == Ending::kKeep);
  return {};
}

void Attempt::find_dead() {
  for (const NodeId node : edit_.removed()) {
    if (!std::ranges::binary_search(consumed_, node) &&
        std::ranges::find(edit_.added(), node) == edit_.added().end()) {
      dead_.push_back(node);
    }
  }
  std::ranges::sort(dead_);
}

}  // namespace ruleengine::rewrite
