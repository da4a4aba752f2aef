#include <algorithm>
#include <array>
#include <set>

#include "core/ir/model.h"
#include "core/match/naive/naive.h"

// Facts, later results, and conditions.
namespace ruleengine::match {

// --- Facts ------------------------------------------------------------------

bool Naive::facts_of(TermId term, ir::ValueId value, Frame* frame) {
  if (!value) return true;  // facts hold for an absent value
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
    const Bound* bound =
        get(variable_frame(variable, frame), kVariableSlot, variable.index());
    transposed = bound != nullptr && bound->transposed;
  }
  const Unify unify = [&](VariableId variable, ir::Dim dim) {
    return scalar(variable, Scalar::of(dim), frame);
  };
  if (checker_.fact(f, value, transposed, unify)) return true;
  return fail([&] {
    return Failure{
        view_.graph().producer(value),     value,        f.line,
        "fact about " + value_text(value), fact_text(f), value_text(value)};
  });
}

// --- Results and conditions -------------------------------------------------

// A context is known when the term below it is.
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
    const Term& t = pattern()[state.term];
    if (anchor.bound.bound(state.term) ||
        (t.variable && anchor.bound.bound(t.variable))) {
      if (known(state.term, frame) == state.value) return true;
      continue;
    }
    switch (t.kind) {
      case TermKind::kOutput: {
        const NodePattern& p = pattern()[t.node];
        const ir::NodeId node = graph.producer(state.value);
        if (!node || !p.fits(graph.op(node).domain, graph.op(node).type) ||
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
        return Failure{root_,
                       {},
                       pattern()[term].line,
                       "result " + std::to_string(goal.index + 1),
                       "another node that reads a value of the match",
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
               .index = kTried,
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
      return Failure{root_,
                     {},
                     pattern()[goal.term].line,
                     "context",
                     "a node that reads a value of the match",
                     "none that fits"};
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
               .index = kTried,
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
      return Failure{view_.graph().producer(item.value),
                     item.value,
                     pattern()[item.term].line,
                     "never",
                     "no such node",
                     item.value ? value_text(item.value) : "a node that fits"};
    });
  }
  return true;
}

bool Naive::holds_never(const Pending& never) {
  Recorder* recorder = recorder_;
  recorder_ = nullptr;  // a failure here is no miss
  const Choice start = mark();
  const auto from = static_cast<std::uint32_t>(pending_.size());
  const Goal* rest =
      then({.aim = Aim::kNevers, .index = from, .frame = never.frame}, nullptr);
  rest =
      then({.aim = Aim::kPending, .index = from, .frame = never.frame}, rest);
  const bool found = fits_somewhere(never, rest);
  undo_to(start);
  recorder_ = recorder;
  return !found && !gave_up_;
}

bool Naive::fits_somewhere(const Pending& never, const Goal* rest) {
  if (never.kind == Pending::Kind::kNeverAt) {
    return fits(never, never.value, rest);
  }
  if (known_thing(never.term, never.frame)) return true;
  const ir::Graph& graph = view_.graph();
  const auto outputs = top_outputs(pattern(), never.term);
  for (const ir::NodeId node : graph.live_nodes()) {
    if (std::ranges::find(matched_, node) != matched_.end()) continue;
    for (std::uint32_t output : outputs) {
      const ir::ValueId value = graph.output(node, output);
      if (value && hangs(never.place, never.term, value, never.frame) &&
          fits(never, value, rest)) {
        return true;
      }
    }
  }
  return false;
}

bool Naive::fits(const Pending& never, ir::ValueId value, const Goal* rest) {
  const Choice before = mark();
  const Goal goal{.aim = Aim::kTerm,
                  .term = never.term,
                  .value = value,
                  .index = kTried,
                  .frame = never.frame,
                  .next = rest};
  const bool found = search(&goal);
  undo_to(before);
  return found;
}

}  // namespace ruleengine::match
