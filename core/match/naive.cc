#include "core/match/naive.h"

#include <algorithm>

#include "core/ir/model.h"
#include "core/match/machine.h"

// The search, and the meaning of each kind of term.
namespace ruleengine::match {

using pattern::Alternative;
using pattern::AttributePattern;
using pattern::NodePattern;
using pattern::NodePatternId;
using pattern::Term;
using pattern::TermId;
using pattern::TermKind;
using pattern::VariableId;

namespace {

// Goals taken in one search; the oracle gives up beyond.
constexpr std::size_t kMostSteps = 20'000'000;
constexpr std::uint32_t kNoHole = 0xffffffffu;

Bound value_bound(ir::ValueId value, bool transposed = false) {
  Bound bound;
  bound.kind = Bound::Kind::kValue;
  bound.value = value;
  bound.transposed = transposed;
  return bound;
}

Bound node_bound(ir::NodeId node) {
  Bound bound;
  bound.kind = Bound::Kind::kNode;
  bound.node = node;
  return bound;
}

}  // namespace

Naive::Naive(const Prepared& prepared, NodeView& view, Recorder* recorder)
    : prepared_(prepared),
      view_(view),
      judge_(view.graph(), view.facts()),
      recorder_(recorder) {}

std::optional<Match> Naive::run(ir::NodeId root) {
  root_ = root;
  frames_.push_back(std::make_unique<Frame>());
  Frame* frame = frames_[0].get();
  frame->hole = kNoHole;
  results_.resize(pattern().results().size());
  const Goal* goals = then({.aim = Aim::kAccept}, nullptr);
  goals = then({.aim = Aim::kNevers, .frame = frame}, goals);
  goals = then({.aim = Aim::kPending, .frame = frame}, goals);
  for (std::size_t i = pattern().conditions().size(); i-- > 0;) {
    const TermId condition = pattern().conditions()[i];
    const Place place{.index = static_cast<std::uint32_t>(i),
                      .condition = true};
    if (pattern()[condition].kind == TermKind::kNever) {
      pending_.push_back({.kind = Pending::Kind::kNever,
                          .term = pattern()[condition].base,
                          .frame = frame,
                          .place = place});
    } else {
      goals = then({.aim = Aim::kFind,
                    .term = condition,
                    .frame = frame,
                    .place = place},
                   goals);
    }
  }
  for (std::uint32_t i = static_cast<std::uint32_t>(results_.size()); --i > 0;) {
    goals = then({.aim = Aim::kResult, .index = i, .frame = frame}, goals);
  }
  for (std::uint32_t output : prepared_.root_outputs) {
    const ir::ValueId value = view_.graph().output(root, output);
    if (!value) continue;
    results_[0] = value;
    const Goal first{.aim = Aim::kTerm,
                     .term = pattern().results()[0],
                     .value = value,
                     .frame = frame,
                     .next = goals};
    const Choice start = mark();
    if (search(&first)) return take_match(root);
    undo_to(start);
  }
  return std::nullopt;
}

const Naive::Goal* Naive::then(Goal goal, const Goal* next) {
  goal.next = next;
  goals_.push_back(goal);
  return &goals_.back();
}

bool Naive::search(const Goal* goal) {
  const std::size_t floor = choices_.size();
  std::size_t option = 0;
  while (goal != nullptr) {
    if (++steps_ > kMostSteps) gave_up_ = true;
    if (gave_up_) {
      choices_.resize(floor);
      return false;
    }
    const std::size_t count = options(*goal);
    if (option + 1 < count) {
      choices_.push_back(mark());
      choices_.back().goal = goal;
      choices_.back().option = option + 1;
    }
    const Goal* next = goal->next;
    if (option < count && execute(*goal, option, next)) {
      goal = next;
      option = 0;
    } else if (!backtrack(floor, goal, option)) {
      return false;
    }
  }
  choices_.resize(floor);
  return true;
}

bool Naive::backtrack(std::size_t floor, const Goal*& goal,
                      std::size_t& option) {
  if (choices_.size() == floor) return false;
  const Choice choice = choices_.back();
  choices_.pop_back();
  undo_to(choice);
  goal = choice.goal;
  option = choice.option;
  return true;
}

Naive::Choice Naive::mark() const {
  return {nullptr,         0,
          trail_.size(),   frames_.size(),
          matched_.size(), pending_.size(),
          goals_.size()};
}

void Naive::undo_to(const Choice& mark) {
  while (trail_.size() > mark.trail) {
    Undo& undo = trail_.back();
    if (undo.old.kind == Bound::Kind::kNothing) {
      undo.frame->slots.erase(undo.slot);
    } else {
      undo.frame->slots[undo.slot] = std::move(undo.old);
    }
    trail_.pop_back();
  }
  frames_.resize(mark.frames);
  matched_.resize(mark.matched);
  pending_.resize(mark.pending);
  goals_.resize(mark.goals);
}

std::size_t Naive::options(const Goal& goal) {
  switch (goal.aim) {
    case Aim::kTerm: {
      const Term& t = pattern()[goal.term];
      if (t.kind != TermKind::kEither || known(goal.term, goal.frame)) {
        return 1;
      }
      return t.alternatives.size();
    }
    case Aim::kInputs:
      return prepared_.permutations[goal.index].size();
    case Aim::kChain:
      return 2;
    case Aim::kResult:
      return candidates(pattern().results()[goal.index], goal.frame);
    case Aim::kFind:
      return candidates(pattern()[goal.term].base, goal.frame);
    default:
      return 1;
  }
}

bool Naive::execute(const Goal& goal, std::size_t option, const Goal*& next) {
  switch (goal.aim) {
    case Aim::kTerm: return term(goal, option, next);
    case Aim::kInputs: return inputs(goal, option, next);
    case Aim::kAlternative: return alternative(goal);
    case Aim::kChain: return chain(goal, option, next);
    case Aim::kNextStep: {
      Frame* frame = goal.frame;
      const Bound* below =
          get(frame, kHoleSlot, pattern()[goal.term].output);
      if (below == nullptr) return false;
      next = then({.aim = Aim::kChain,
                   .term = goal.term,
                   .value = below->value,
                   .frame = frame->parent},
                  next);
      return true;
    }
    case Aim::kResult: return result(goal, option, next);
    case Aim::kFind: return find(goal, option, next);
    case Aim::kPending: return pending(goal, next);
    case Aim::kNevers: return nevers(goal);
    case Aim::kAccept: return accept();
  }
  return false;
}

// --- Bindings ----------------------------------------------------------------

Naive::Frame* Naive::at(Frame* frame, std::uint32_t depth) {
  while (frame->depth > depth) frame = frame->parent;
  return frame;
}

Naive::Frame* Naive::term_frame(TermId term, Frame* frame) {
  return at(frame, reach(term).depth);
}

Naive::Frame* Naive::node_frame(NodePatternId node, Frame* frame) {
  return at(frame, prepared_.analysis.nodes[node.index()].depth);
}

Naive::Frame* Naive::variable_frame(VariableId variable, Frame* frame) {
  return at(frame, prepared_.analysis.variables[variable.index()]);
}

const Bound* Naive::get(Frame* frame, SlotKind kind, std::uint32_t id) const {
  const auto found = frame->slots.find({kind, id});
  return found == frame->slots.end() ? nullptr : &found->second;
}

void Naive::set(Frame* frame, SlotKind kind, std::uint32_t id, Bound bound) {
  const std::pair<int, std::uint32_t> slot{kind, id};
  Bound& place = frame->slots[slot];
  trail_.push_back({frame, slot, std::move(place)});
  place = std::move(bound);
}

std::optional<ir::ValueId> Naive::known(TermId id, Frame* frame) {
  const Term& t = pattern()[id];
  const Bound* bound = nullptr;
  switch (t.kind) {
    case TermKind::kVariable:
      bound = get(variable_frame(t.variable, frame), kVariableSlot,
                  t.variable.index());
      break;
    case TermKind::kOutput: {
      bound = get(node_frame(t.node, frame), kNodeSlot, t.node.index());
      if (bound == nullptr) return std::nullopt;
      return view_.graph().output(bound->node, t.output);
    }
    default:
      bound = get(term_frame(id, frame), kTermSlot, id.index());
  }
  if (bound == nullptr) return std::nullopt;
  return bound->value;
}

bool Naive::scalar(VariableId id, const Scalar& found, Frame* frame) {
  Frame* home = variable_frame(id, frame);
  Scalar now;
  if (const Bound* bound = get(home, kVariableSlot, id.index())) {
    now = bound->kind == Bound::Kind::kDim ? Scalar::of(bound->dim)
                                           : Scalar::of(bound->attribute);
  }
  const auto before = now.kind;
  if (!judge_.unify(now, found)) return false;
  if (before == now.kind) return true;
  Bound bound;
  const bool dim = now.kind == Scalar::Kind::kDim;
  bound.kind = dim ? Bound::Kind::kDim : Bound::Kind::kAttribute;
  bound.dim = now.dim;
  bound.attribute = now.attribute;
  set(home, kVariableSlot, id.index(), bound);
  return true;
}

// --- Terms -------------------------------------------------------------------

bool Naive::term(const Goal& goal, std::size_t option, const Goal*& next) {
  const Term& t = pattern()[goal.term];
  switch (t.kind) {
    case TermKind::kVariable: return variable(t.variable, goal, false);
    case TermKind::kAny:
    case TermKind::kRest:
      if (goal.value) return true;
      return fail([&] {
        return Failure{goal.node, {}, t.line, place(goal), "a value",
                       "nothing"};
      });
    case TermKind::kAbsent:
      if (!goal.value) return true;
      return fail([&] {
        return Failure{goal.node, goal.value, t.line, place(goal), "nothing",
                       value_text(goal.value)};
      });
    case TermKind::kOutput: return output(goal, next);
    case TermKind::kNumbers:
      if (judge_.numbers(goal.value, t.numbers, t.scalar)) return true;
      return fail([&] {
        std::string expected = "the constant";
        for (double number : t.numbers) {
          std::string text = std::to_string(number);
          text.erase(text.find_last_not_of('0') + 1);
          if (text.back() == '.') text.pop_back();
          expected += " " + text;
        }
        return Failure{goal.node, goal.value, t.line, place(goal), expected,
                       value_text(goal.value)};
      });
    case TermKind::kEither: return either(goal, option, next);
    case TermKind::kMany: return many(goal, next);
    case TermKind::kHole: return hole(goal);
    case TermKind::kTranspose:
      if (!judge_.is_matrix_constant(goal.value)) {
        return fail([&] {
          return Failure{goal.node, goal.value, t.line, place(goal),
                         "a constant matrix", value_text(goal.value)};
        });
      }
      if (!known(goal.term, goal.frame)) {
        set(term_frame(goal.term, goal.frame), kTermSlot, goal.term.index(),
            value_bound(goal.value));
      }
      return facts_of(goal.term, goal.value, goal.frame) &&
             variable(pattern()[t.base].variable, goal, true);
    case TermKind::kContext: {
      Goal base = goal;
      base.term = t.base;
      next = then(base, next);
      return true;
    }
    case TermKind::kNever:
      if (goal.value) {
        pending_.push_back({.kind = Pending::Kind::kNeverAt,
                            .term = t.base,
                            .value = goal.value,
                            .frame = goal.frame});
      }
      return true;
  }
  return false;
}

bool Naive::variable(VariableId id, const Goal& goal, bool transposed) {
  const Term& t = pattern()[goal.term];
  const TermId subject = transposed ? t.base : goal.term;
  if (!goal.value) {
    return fail([&] {
      return Failure{goal.node, {}, t.line, place(goal),
                     "a value for '" + pattern()[id].name + "'", "nothing"};
    });
  }
  Frame* home = variable_frame(id, goal.frame);
  const Bound* bound = get(home, kVariableSlot, id.index());
  if (bound == nullptr) {
    set(home, kVariableSlot, id.index(), value_bound(goal.value, transposed));
    return facts_of(subject, goal.value, goal.frame);
  }
  if (judge_.same(bound->value, bound->transposed, goal.value, transposed)) {
    return true;
  }
  const ir::ValueId first = bound->value;
  return fail([&] {
    return Failure{goal.node, goal.value, t.line, place(goal),
                   "'" + pattern()[id].name + "', which is " +
                       value_text(first),
                   value_text(goal.value)};
  });
}

bool Naive::hole(const Goal& goal) {
  const std::uint32_t number = pattern()[goal.term].output;
  Frame* home = goal.frame;
  while (home->hole != number) home = home->parent;
  if (!goal.value) return false;
  if (const Bound* bound = get(home, kHoleSlot, number)) {
    return bound->value == goal.value;
  }
  set(home, kHoleSlot, number, value_bound(goal.value));
  set(home, kTermSlot, goal.term.index(), value_bound(goal.value));
  return facts_of(goal.term, goal.value, goal.frame);
}

bool Naive::output(const Goal& goal, const Goal*& next) {
  const Term& t = pattern()[goal.term];
  const NodePattern& p = pattern()[t.node];
  const ir::Graph& graph = view_.graph();
  const ir::NodeId node = graph.producer(goal.value);
  Frame* home = node_frame(t.node, goal.frame);
  if (const Bound* bound = get(home, kNodeSlot, t.node.index())) {
    const ir::ValueId wanted = graph.output(bound->node, t.output);
    if (goal.value && goal.value == wanted) {
      return facts_of(goal.term, goal.value, goal.frame);
    }
    return fail([&] {
      return Failure{goal.node, goal.value, p.line, place(goal),
                     value_text(wanted), value_text(goal.value)};
    });
  }
  const bool fits = node && !graph.node(node).removed &&
                    graph.op(node).type == p.type &&
                    graph.op(node).domain == p.domain &&
                    graph.value(goal.value).output_index == t.output &&
                    view_.readable(node);
  if (fits) return fresh_node(goal, node, next);
  // A node that was only tried for a later result is no miss.
  if (goal.index == kNoHole) return false;
  return fail([&] {
    std::string expected =
        p.domain.empty() ? p.type : p.domain + "::" + p.type;
    if (t.output > 0) {
      expected = "output " + std::to_string(t.output) + " of " + expected;
    }
    return Failure{goal.node ? goal.node : root_, goal.value, p.line,
                   place(goal), expected, value_text(goal.value)};
  });
}

bool Naive::fresh_node(const Goal& goal, ir::NodeId node, const Goal*& next) {
  const NodePatternId id = pattern()[goal.term].node;
  const NodePattern& p = pattern()[id];
  if (prepared_.top[id.index()]) {
    for (std::size_t i = 0; i < prepared_.top.size(); ++i) {
      if (!prepared_.top[i]) continue;
      const Bound* other = get(frames_[0].get(), kNodeSlot,
                               static_cast<std::uint32_t>(i));
      if (other != nullptr && other->node == node) return false;
    }
  }
  if (!attributes(p, node, goal.frame) ||
      (prepared_.analysis.nodes[id.index()].consumed &&
       !outputs_unread(p, node))) {
    return false;
  }
  set(node_frame(id, goal.frame), kNodeSlot, id.index(), node_bound(node));
  matched_.push_back(node);
  for (VariableId tag : p.tags) {
    set(variable_frame(tag, goal.frame), kVariableSlot, tag.index(),
        node_bound(node));
  }
  if (!facts_of(goal.term, goal.value, goal.frame)) return false;
  next = then({.aim = Aim::kInputs,
               .term = goal.term,
               .node = node,
               .index = id.index(),
               .frame = goal.frame},
              next);
  return true;
}

bool Naive::attributes(const NodePattern& p, ir::NodeId node, Frame* frame) {
  for (const AttributePattern& wanted : p.attributes) {
    const ir::Attribute* found = view_.attribute(node, wanted.name);
    const bool fits =
        wanted.kind == AttributePattern::Kind::kVariable
            ? scalar(wanted.variable, Scalar::of(found), frame)
            : Judge::literal(wanted, found) ||
                  view_.same_axis(node, wanted, found);
    if (fits) continue;
    return fail([&] {
      return Failure{node, {}, p.line, "attribute " + wanted.name + " of " +
                                           view_.graph().describe(node),
                     "another value", attribute_text(found)};
    });
  }
  if (p.open_attributes) return true;
  for (const ir::Attribute& a : view_.written(node)) {
    const bool mentioned = std::ranges::binary_search(
        p.attributes, a.name, {}, &AttributePattern::name);
    if (mentioned || view_.is_default(node, a)) continue;
    return fail([&] {
      return Failure{node, {}, p.line,
                     "attribute " + std::string(a.name) + " of " +
                         view_.graph().describe(node),
                     "its default, since the pattern does not mention it",
                     attribute_text(&a)};
    });
  }
  return true;
}

bool Naive::outputs_unread(const NodePattern& p, ir::NodeId node) {
  if (p.open_outputs) return true;
  const ir::Graph& graph = view_.graph();
  for (std::size_t i = p.output_count; i < graph.outputs(node).size(); ++i) {
    const ir::ValueId value = graph.output(node, i);
    if (!value || graph.reader_count(value) == 0) continue;
    return fail([&] {
      return Failure{node, value, p.line,
                     "output " + std::to_string(i) + " of " +
                         graph.describe(node),
                     "nobody reads it", "it is read"};
    });
  }
  return true;
}

bool Naive::inputs(const Goal& goal, std::size_t option, const Goal*& next) {
  const NodePattern& p = pattern().nodes()[goal.index];
  const std::vector<std::uint32_t>& slots =
      prepared_.permutations[goal.index][option];
  if (has_rest(pattern(), p)) {
    if (!bind_rest(goal, slots)) return false;
  } else if (!p.open_inputs) {
    for (std::size_t i = 0; i < view_.input_count(goal.node); ++i) {
      if (!view_.input(goal.node, i) ||
          std::ranges::find(slots, i) != slots.end()) {
        continue;
      }
      return fail([&] {
        return Failure{goal.node, view_.input(goal.node, i), p.line,
                       "input " + std::to_string(i) + " of " +
                           view_.graph().describe(goal.node),
                       "nothing", value_text(view_.input(goal.node, i))};
      });
    }
  }
  for (std::size_t i = slots.size(); i-- > 0;) {
    next = then({.aim = Aim::kTerm,
                 .term = p.inputs[i],
                 .value = view_.input(goal.node, slots[i]),
                 .node = goal.node,
                 .index = slots[i],
                 .frame = goal.frame},
                next);
  }
  return true;
}

bool Naive::bind_rest(const Goal& goal,
                      const std::vector<std::uint32_t>& slots) {
  const VariableId id =
      pattern()[pattern().nodes()[goal.index].inputs.back()].variable;
  if (!id) return true;
  Bound list;
  list.kind = Bound::Kind::kList;
  for (std::size_t i = 0; i < view_.input_count(goal.node); ++i) {
    if (std::ranges::find(slots, i) != slots.end()) continue;
    const ir::ValueId value = view_.input(goal.node, i);
    list.list.push_back(value ? value_bound(value) : Bound());
  }
  Frame* home = variable_frame(id, goal.frame);
  const Bound* bound = get(home, kVariableSlot, id.index());
  if (bound != nullptr) return *bound == list;
  set(home, kVariableSlot, id.index(), std::move(list));
  return true;
}

bool Naive::either(const Goal& goal, std::size_t option, const Goal*& next) {
  if (const auto value = known(goal.term, goal.frame)) {
    return *value == goal.value;
  }
  set(term_frame(goal.term, goal.frame), kTermSlot, goal.term.index(),
      value_bound(goal.value));
  if (!facts_of(goal.term, goal.value, goal.frame)) return false;
  Goal done = goal;
  done.aim = Aim::kAlternative;
  done.index = static_cast<std::uint32_t>(option);
  Goal fit = goal;
  fit.term = pattern()[goal.term].alternatives[option].term;
  next = then(fit, then(done, next));
  return true;
}

bool Naive::alternative(const Goal& goal) {
  const Alternative& chosen = pattern()[goal.term].alternatives[goal.index];
  for (pattern::FactId id : chosen.facts) {
    bool bound = false;
    if (!fact(id, goal.frame, bound)) return false;
    if (bound) continue;
    pending_.push_back(
        {.kind = Pending::Kind::kFact, .fact = id, .frame = goal.frame});
  }
  for (std::uint32_t i = 0; i < chosen.conditions.size(); ++i) {
    const TermId condition = chosen.conditions[i];
    const Term& t = pattern()[condition];
    const bool never = t.kind == TermKind::kNever;
    pending_.push_back(
        {.kind = never ? Pending::Kind::kNever : Pending::Kind::kContext,
         .term = never ? t.base : condition,
         .frame = goal.frame,
         .place = {goal.term, goal.index, i, true}});
  }
  return true;
}

bool Naive::many(const Goal& goal, const Goal*& next) {
  if (const auto value = known(goal.term, goal.frame)) {
    return *value == goal.value;
  }
  Frame* home = term_frame(goal.term, goal.frame);
  set(home, kTermSlot, goal.term.index(), value_bound(goal.value));
  if (!facts_of(goal.term, goal.value, goal.frame)) return false;
  Goal chain = goal;
  chain.aim = Aim::kChain;
  chain.frame = home;
  next = then(chain, next);
  return true;
}

bool Naive::chain(const Goal& goal, std::size_t option, const Goal*& next) {
  const Term& t = pattern()[goal.term];
  Goal part = goal;
  part.aim = Aim::kTerm;
  if (option == 1) {
    part.term = t.base;
    next = then(part, next);
    return true;
  }
  frames_.push_back(std::make_unique<Frame>());
  Frame* step = frames_.back().get();
  step->parent = goal.frame;
  step->depth = goal.frame->depth + 1;
  step->hole = t.output;
  Goal on = goal;
  on.aim = Aim::kNextStep;
  on.frame = step;
  part.term = t.step;
  part.frame = step;
  next = then(part, then(on, next));
  return true;
}

}  // namespace ruleengine::match
