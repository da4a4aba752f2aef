#include <algorithm>

#include "core/ir/model.h"
#include "core/match/machine.h"
#include "core/match/naive/naive.h"

// Facts, later results, conditions, closedness, and the Match.
namespace ruleengine::match {

// --- Closedness -------------------------------------------------------------

bool Naive::closed(ir::NodeId node, std::uint32_t index) {
  const ir::Graph& graph = view_.graph();
  const NodePattern& p = pattern().nodes()[index];
  for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) {
    const ir::ValueId value = graph.output(node, i);
    if (!value || (p.open_outputs && i >= p.output_count) ||
        std::ranges::find(results_, value) != results_.end()) {
      continue;
    }
    ir::NodeId reader;
    for (ir::OperandId u = graph.first_use(value); u; u = graph.next_use(u)) {
      const ir::NodeId user = graph.operand(u).user;
      if (!std::ranges::binary_search(consumed_, user)) reader = user;
    }
    const bool output = graph.value(value).block_output_count > 0;
    if (!reader && !output) continue;
    return fail([&] {
      return Failure{node,
                     value,
                     p.line,
                     "readers of '" + std::string(graph.name(value)) + "'",
                     "only nodes of the match",
                     output ? "it is an output of the graph"
                            : "also read by " + graph.describe(reader)};
    });
  }
  return true;
}

bool Naive::accept() {
  std::vector<std::pair<ir::NodeId, std::uint32_t>> taken;  // with pattern
  consumed_.clear();
  for (const auto& frame : frames_) {
    for (const auto& [slot, bound] : frame->slots) {
      if (slot.first != kNodeSlot ||
          !prepared_.analysis.nodes[slot.second].consumed) {
        continue;
      }
      taken.emplace_back(bound.node, slot.second);
      consumed_.push_back(bound.node);
    }
  }
  std::ranges::sort(consumed_);
  const auto repeated = std::ranges::unique(consumed_);
  consumed_.erase(repeated.begin(), repeated.end());
  return std::ranges::all_of(
      taken, [&](const auto& t) { return closed(t.first, t.second); });
}

// --- The Match --------------------------------------------------------------

Bound Naive::finished(Bound bound) {
  if (bound.kind == Bound::Kind::kAttribute) {
    if (bound.attribute == nullptr) return Bound();
    bound.attribute = view_.keep(bound.attribute);
  }
  return bound;
}

Bound Naive::collect(VariableId id, Frame* frame) {
  const std::uint32_t depth = prepared_.analysis.variables[id.index()];
  if (depth == frame->depth) {
    if (pattern()[id].kind == VariableKind::kSteps) return records(id, frame);
    const Bound* bound = get(frame, kVariableSlot, id.index());
    return bound ? finished(*bound) : Bound();
  }
  Bound list{.kind = Bound::Kind::kList};
  for (std::size_t i = frames_.size(); i-- > 1;) {
    if (frames_[i]->parent != frame) continue;
    Bound one = collect(id, frames_[i].get());
    const bool empty = one.kind == Bound::Kind::kNothing ||
                       (depth > frame->depth + 1 && one.list.empty());
    if (!empty) list.list.push_back(std::move(one));
  }
  return list;
}

// One record for each step of the chains of this name.
Bound Naive::records(VariableId id, Frame* frame) {
  Bound list{.kind = Bound::Kind::kList};
  for (std::size_t i = frames_.size(); i-- > 1;) {
    Frame* step = frames_[i].get();
    if (step->parent != frame) continue;
    const auto& tags = pattern()[step->chain].tags;
    if (std::ranges::find(tags, id) == tags.end()) continue;
    Bound& record = list.list.emplace_back(Bound{.kind = Bound::Kind::kRecord});
    for (VariableId field : pattern()[id].fields) {
      record.list.push_back(collect(field, step));
    }
  }
  return list;
}

Match Naive::take_match(ir::NodeId root) {
  Match match;
  match.root = root;
  match.results.append(results_);
  match.consumed.append(consumed_);
  match.nodes.resize(pattern().nodes().size());
  for (const auto& frame : frames_) {
    for (const auto& [slot, bound] : frame->slots) {
      if (slot.first != kNodeSlot) continue;
      match.nodes[slot.second] = bound.node;
      collect_unnamed(view_, pattern(), NodePatternId(slot.second), bound.node,
                      match.unnamed);
    }
  }
  sort_unnamed(match.unnamed);
  for (std::size_t i = 0; i < pattern().variables().size(); ++i) {
    const bool used = prepared_.analysis.variables[i] != pattern::kUnreached;
    match.bound.push_back(used ? collect(VariableId(i), frames_[0].get())
                               : Bound());
  }
  return match;
}

std::optional<Match> naive_match(const Pattern& pattern, ir::Graph& graph,
                                 ir::Facts& facts, ir::NodeId root) {
  const Prepared prepared = prepare(pattern);
  ops::NewestNodes view(graph, facts);
  return Naive(prepared, view, nullptr).run(root);
}

}  // namespace ruleengine::match
