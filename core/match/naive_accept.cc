#include <algorithm>
#include <array>
#include <set>

#include "core/ir/model.h"
#include "core/match/machine.h"
#include "core/match/naive.h"

// Facts, later results, conditions, closedness, and the Match.
namespace ruleengine::match {

using pattern::Fact;
using pattern::FactId;
using pattern::NodePattern;
using pattern::NodePatternId;
using pattern::TermId;
using pattern::TermKind;
using pattern::VariableId;

// --- Facts -------------------------------------------------------------------

bool Naive::facts_of(TermId term, ir::ValueId value, Frame* frame) {
  if (!value) return true;  // a fact on what is absent holds
  for (FactId id : prepared_.facts[term.index()]) {
    if (!holds(id, value, frame)) return false;
  }
  return true;
}

bool Naive::fact(FactId id, Frame* frame, bool& subject_bound) {
  const Fact& f = pattern()[id];
  const auto value = known(f.subject, frame);
  subject_bound = value.has_value();
  return !value || !*value || holds(id, *value, frame);
}

bool Naive::holds(FactId id, ir::ValueId value, Frame* frame) {
  const Fact& f = pattern()[id];
  bool transposed = false;
  if (const VariableId variable = pattern()[f.subject].variable) {
    const Bound* bound = get(variable_frame(variable, frame), kVariableSlot,
                             variable.index());
    transposed = bound != nullptr && bound->transposed;
  }
  const Unify unify = [&](VariableId variable, ir::Dim dim) {
    return scalar(variable, Scalar::of(dim), frame);
  };
  if (judge_.fact(f, value, transposed, unify)) return true;
  return fail([&] {
    return Failure{view_.graph().producer(value), value, f.line,
                   "fact about " + value_text(value), fact_text(f),
                   value_text(value)};
  });
}

// --- Results and conditions --------------------------------------------------

// What is known of a context is what is known of the thing itself.
std::optional<ir::ValueId> Naive::known_thing(TermId term, Frame* frame) {
  while (pattern()[term].kind == TermKind::kContext) {
    term = pattern()[term].base;
  }
  return known(term, frame);
}

std::size_t Naive::candidates(TermId term, Frame* frame) {
  if (known_thing(term, frame)) return 1;
  return view_.graph().node_count() * top_outputs(pattern(), term).size();
}

bool Naive::hangs(const Place& place, TermId term, ir::ValueId value,
                  Frame* frame) {
  const Anchor& anchor = prepared_.anchors.at(place);
  const ir::Graph& graph = view_.graph();
  struct State {
    TermId term;
    ir::ValueId value;
    std::array<TermId, pattern::kMaxChainNesting> chains;
    auto operator<=>(const State&) const = default;
  };
  std::set<State> seen;
  std::vector<State> todo{{term, value, {}}};
  while (!todo.empty()) {
    const State state = todo.back();
    todo.pop_back();
    if (!state.value || !seen.insert(state).second) continue;
    const auto go = [&](TermId part, ir::ValueId v) {
      State next = state;
      next.term = part;
      next.value = v;
      todo.push_back(next);
    };
    const pattern::Term& t = pattern()[state.term];
    if (anchor.bound.bound(state.term) ||
        (t.variable && anchor.bound.bound(t.variable))) {
      if (known(state.term, frame) == state.value) return true;
      continue;
    }
    switch (t.kind) {
      case TermKind::kOutput: {
        const NodePattern& p = pattern()[t.node];
        const ir::NodeId node = graph.producer(state.value);
        if (!node || !graph.op(node).is(p.domain, p.type) ||
            graph.value(state.value).output_index != t.output) {
          break;
        }
        const std::size_t i = climbed_input(prepared_, anchor, t.node);
        const auto slots = slots_of(prepared_, t.node, i);
        const bool anywhere = view_.upgraded(graph.node(node).op);
        for (std::uint32_t s = 0; s < graph.inputs(node).size(); ++s) {
          if (anywhere || std::ranges::binary_search(slots, s)) {
            go(p.inputs[i], graph.input(node, s));
          }
        }
        break;
      }
      case TermKind::kEither:
        for (const auto& a : t.alternatives) go(a.term, state.value);
        break;
      case TermKind::kMany: {
        go(t.base, state.value);
        go(t.step, state.value);
        todo.back().chains[t.output] = state.term;
        break;
      }
      case TermKind::kHole:
        if (const TermId chain = state.chains[t.output]) {
          go(chain, state.value);
        }
        break;
      case TermKind::kContext:
      case TermKind::kTranspose:
        go(t.base, state.value);
        break;
      default:
        break;
    }
  }
  return false;
}

bool Naive::result(const Goal& goal, std::size_t option, const Goal*& next) {
  const TermId term = pattern().results()[goal.index];
  const ir::Graph& graph = view_.graph();
  ir::ValueId value;
  const auto bound = known(term, goal.frame);
  if (bound) {
    value = *bound;
  } else {
    const auto outputs = top_outputs(pattern(), term);
    const ir::NodeId node(option / outputs.size());
    if (option == 0) {
      fail([&] {
        return Failure{root_, {}, pattern()[term].line,
                       "result " + std::to_string(goal.index + 1),
                       "another node that reads what is bound already",
                       "none that fits"};
      });
    }
    if (graph.node(node).removed) return false;
    value = graph.output(node, outputs[option % outputs.size()]);
    if (!value || !hangs({.index = goal.index}, term, value, goal.frame)) {
      return false;
    }
  }
  for (std::uint32_t i = 0; i < goal.index; ++i) {
    if (value && results_[i] == value) return false;
  }
  results_[goal.index] = value;
  if (bound) return facts_of(term, value, goal.frame);
  next = then({.aim = Aim::kTerm,
               .term = term,
               .value = value,
               .index = 0xffffffffu,
               .frame = goal.frame},
              next);
  return true;
}

bool Naive::find(const Goal& goal, std::size_t option, const Goal*& next) {
  const TermId term = pattern()[goal.term].base;
  if (known_thing(term, goal.frame)) return true;
  const ir::Graph& graph = view_.graph();
  const auto outputs = top_outputs(pattern(), term);
  const ir::NodeId node(option / outputs.size());
  if (option == 0) {
    fail([&] {
      return Failure{root_, {}, pattern()[goal.term].line, "context",
                     "a node that reads what is bound", "none that fits"};
    });
  }
  const ir::ValueId value =
      graph.output(node, outputs[option % outputs.size()]);
  if (graph.node(node).removed || !value ||
      std::ranges::find(matched_, node) != matched_.end() ||
      !hangs(goal.place, term, value, goal.frame)) {
    return false;
  }
  next = then({.aim = Aim::kTerm,
               .term = term,
               .value = value,
               .index = 0xffffffffu,
               .frame = goal.frame},
              next);
  return true;
}

bool Naive::pending(const Goal& goal, const Goal*& next) {
  if (goal.index >= pending_.size()) return true;
  const Pending item = pending_[goal.index];
  Goal more = goal;
  ++more.index;
  next = then(more, next);
  if (item.kind == Pending::Kind::kFact) {
    bool bound = false;
    return fact(item.fact, item.frame, bound);
  }
  if (item.kind == Pending::Kind::kContext) {
    next = then({.aim = Aim::kFind,
                 .term = item.term,
                 .frame = item.frame,
                 .place = item.place},
                next);
  }
  return true;
}

bool Naive::nevers(const Goal& goal) {
  for (std::size_t i = goal.index; i < pending_.size(); ++i) {
    const Pending item = pending_[i];
    const bool never = item.kind == Pending::Kind::kNever ||
                       item.kind == Pending::Kind::kNeverAt;
    if (!never || holds_never(item)) continue;
    return fail([&] {
      return Failure{view_.graph().producer(item.value), item.value,
                     pattern()[item.term].line, "never", "nothing of the kind",
                     item.value ? value_text(item.value) : "a node that fits"};
    });
  }
  return true;
}

bool Naive::holds_never(const Pending& never) {
  Recorder* recorder = recorder_;
  recorder_ = nullptr;  // failing is what is wanted here
  const Choice start = mark();
  const auto from = static_cast<std::uint32_t>(pending_.size());
  const Goal* rest =
      then({.aim = Aim::kNevers, .index = from, .frame = never.frame}, nullptr);
  rest = then({.aim = Aim::kPending, .index = from, .frame = never.frame},
              rest);
  const auto fits = [&](ir::ValueId value) {
    const Choice before = mark();
    const Goal goal{.aim = Aim::kTerm,
                    .term = never.term,
                    .value = value,
                    .index = 0xffffffffu,
                    .frame = never.frame,
                    .next = rest};
    const bool found = search(&goal);
    undo_to(before);
    return found;
  };
  bool found = false;
  const ir::Graph& graph = view_.graph();
  if (never.kind == Pending::Kind::kNeverAt) {
    found = fits(never.value);
  } else if (known_thing(never.term, never.frame)) {
    found = true;
  } else {
    const auto outputs = top_outputs(pattern(), never.term);
    for (std::size_t i = 0; i < graph.node_count() && !found; ++i) {
      const ir::NodeId node(i);
      if (graph.node(node).removed ||
          std::ranges::find(matched_, node) != matched_.end()) {
        continue;
      }
      for (std::uint32_t output : outputs) {
        const ir::ValueId value = graph.output(node, output);
        found = found ||
                (value && hangs(never.place, never.term, value, never.frame) &&
                 fits(value));
      }
    }
  }
  undo_to(start);
  recorder_ = recorder;
  return !found && !gave_up_;
}

// --- Closedness ----------------------------------------------------------------

bool Naive::closed(ir::NodeId node, std::uint32_t index,
                   const std::vector<ir::NodeId>& consumed) {
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
      if (!std::ranges::binary_search(consumed, user)) reader = user;
    }
    const bool output = graph.value(value).block_output_count > 0;
    if (!reader && !output) continue;
    return fail([&] {
      return Failure{node, value, p.line,
                     "readers of '" + std::string(graph.name(value)) + "'",
                     "only nodes of the match",
                     output ? "it is an output of the graph"
                            : "also read by " + graph.describe(reader)};
    });
  }
  return true;
}

bool Naive::accept() {
  struct Taken {
    ir::NodeId node;
    std::uint32_t pattern;
  };
  std::vector<Taken> taken;
  consumed_.clear();
  for (const auto& frame : frames_) {
    for (const auto& [slot, bound] : frame->slots) {
      if (slot.first != kNodeSlot ||
          !prepared_.analysis.nodes[slot.second].consumed) {
        continue;
      }
      taken.push_back({bound.node, slot.second});
      consumed_.push_back(bound.node);
    }
  }
  std::ranges::sort(consumed_);
  const auto repeated = std::ranges::unique(consumed_);
  consumed_.erase(repeated.begin(), repeated.end());
  return std::ranges::all_of(taken, [&](const Taken& t) {
    return closed(t.node, t.pattern, consumed_);
  });
}

// --- The Match -----------------------------------------------------------------

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
    const Bound* bound = get(frame, kVariableSlot, id.index());
    return bound ? finished(*bound) : Bound();
  }
  Bound list;
  list.kind = Bound::Kind::kList;
  for (std::size_t i = frames_.size(); i-- > 1;) {
    if (frames_[i]->parent != frame) continue;
    Bound one = collect(id, frames_[i].get());
    const bool empty = one.kind == Bound::Kind::kNothing ||
                       (depth > frame->depth + 1 && one.list.empty());
    if (!empty) list.list.push_back(std::move(one));
  }
  return list;
}

Match Naive::take_match(ir::NodeId root) {
  Match match;
  match.root = root;
  match.results = results_;
  match.consumed = consumed_;
  match.nodes.resize(pattern().nodes().size());
  for (const auto& frame : frames_) {
    for (const auto& [slot, bound] : frame->slots) {
      if (slot.first == kNodeSlot) match.nodes[slot.second] = bound.node;
    }
  }
  for (std::size_t i = 0; i < pattern().variables().size(); ++i) {
    const bool used =
        prepared_.analysis.variables[i] != pattern::kUnreached;
    match.bound.push_back(
        used ? collect(VariableId(i), frames_[0].get()) : Bound());
  }
  return match;
}

std::optional<Match> naive_match(const pattern::Pattern& pattern,
                                 ir::Graph& graph, ir::Facts& facts,
                                 ir::NodeId root) {
  const Prepared prepared = prepare(pattern);
  NodeView view(graph, facts);
  return Naive(prepared, view, nullptr).run(root);
}

}  // namespace ruleengine::match
