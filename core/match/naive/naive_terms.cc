#include <algorithm>

#include "core/ir/model.h"
#include "core/match/naive/naive.h"

// The meaning of each kind of term.
namespace ruleengine::match {

namespace {

Bound value_bound(ir::ValueId value, bool transposed = false) {
  return {
      .kind = Bound::Kind::kValue, .transposed = transposed, .value = value};
}

Bound node_bound(ir::NodeId node) {
  return {.kind = Bound::Kind::kNode, .node = node};
}

}  // namespace

// --- Terms ------------------------------------------------------------------

bool Naive::term(const Goal& goal, std::size_t option, const Goal*& next) {
  const Term& t = pattern()[goal.term];
  switch (t.kind) {
    case TermKind::kVariable:
      return variable(t.variable, goal, false);
    case TermKind::kAny:
    case TermKind::kRest:
      return goal.value || fail_at(goal, "a value");
    case TermKind::kAbsent:
      return !goal.value || fail_at(goal, "nothing");
    case TermKind::kOutput:
      return output(goal, next);
    case TermKind::kNumbers:
      return checker_.numbers(goal.value, t.numbers, t.scalar) ||
             (goal.axes && view_.same_axes(goal.node, goal.index, goal.value,
                                           t.numbers, t.scalar)) ||
             fail_at(goal, numbers_text(t.numbers));
    case TermKind::kEither:
      return either(goal, option, next);
    case TermKind::kMany:
      return many(goal, next);
    case TermKind::kHole:
      return hole(goal);
    case TermKind::kTranspose:
      return transpose(goal);
    case TermKind::kContext: {
      Goal base = goal;
      base.term = t.base;
      base.axes = false;
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

bool Naive::transpose(const Goal& goal) {
  if (!checker_.is_matrix_constant(goal.value)) {
    return fail_at(goal, "a constant matrix");
  }
  if (!known(goal.term, goal.frame)) {
    set(term_frame(goal.term, goal.frame), kTermSlot, goal.term.index(),
        value_bound(goal.value));
  }
  return facts_of(goal.term, goal.value, goal.frame) &&
         variable(pattern()[pattern()[goal.term].base].variable, goal, true);
}

bool Naive::variable(VariableId id, const Goal& goal, bool transposed) {
  const Term& t = pattern()[goal.term];
  const TermId subject = transposed ? t.base : goal.term;
  if (!goal.value) {
    return fail([&] {
      return Failure{goal.node,
                     {},
                     t.line,
                     place(goal),
                     "a value for '" + pattern()[id].name + "'",
                     "nothing"};
    });
  }
  Frame* home = variable_frame(id, goal.frame);
  const Bound* bound = get(home, kVariableSlot, id.index());
  if (bound == nullptr) {
    set(home, kVariableSlot, id.index(), value_bound(goal.value, transposed));
    return facts_of(subject, goal.value, goal.frame);
  }
  if (checker_.same(bound->value, bound->transposed, goal.value, transposed)) {
    return true;
  }
  const ir::ValueId first = bound->value;
  return fail([&] {
    return Failure{
        goal.node,
        goal.value,
        t.line,
        place(goal),
        "'" + pattern()[id].name + "', which is " + value_text(first),
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
      return Failure{goal.node,   goal.value,         p.line,
                     place(goal), value_text(wanted), value_text(goal.value)};
    });
  }
  const bool fits = node && !graph.node(node).removed &&
                    p.fits(graph.op(node).domain, graph.op(node).type) &&
                    graph.value(goal.value).output_index == t.output &&
                    view_.readable(node);
  if (fits) return fresh_node(goal, node, next);
  // A node that was only tried for a later result is not a miss.
  if (goal.index == kTried) return false;
  return fail([&] {
    std::string expected = p.op_text();
    if (t.output > 0) {
      expected = "output " + std::to_string(t.output) + " of " + expected;
    }
    return Failure{goal.node ? goal.node : root_,
                   goal.value,
                   p.line,
                   place(goal),
                   expected,
                   value_text(goal.value),
                   goal.node ? Miss::Nearness::kSome : Miss::Nearness::kNoRoot};
  });
}

bool Naive::fresh_node(const Goal& goal, ir::NodeId node, const Goal*& next) {
  const NodePatternId id = pattern()[goal.term].node;
  const NodePattern& p = pattern()[id];
  if (prepared_.top[id.index()]) {
    for (std::size_t i = 0; i < prepared_.top.size(); ++i) {
      if (!prepared_.top[i]) continue;
      const Bound* other =
          get(frames_[0].get(), kNodeSlot, static_cast<std::uint32_t>(i));
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
    const bool fits = wanted.kind == AttributePattern::Kind::kVariable
                          ? scalar(wanted.variable, Scalar::of(found), frame)
                          : is_literal(view_, node, wanted, found);
    if (fits) continue;
    return fail([&] {
      return Failure{
          node,
          {},
          p.line,
          "attribute " + wanted.name + " of " + view_.graph().describe(node),
          wanted.kind == AttributePattern::Kind::kVariable
              ? letter_text(wanted.variable, frame)
              : literal_text(wanted),
          attribute_text(found),
          Miss::Nearness::kOpFits};
    });
  }
  if (p.open_attributes) return true;
  for (const ir::Attribute& a : view_.written(node)) {
    const bool mentioned = std::ranges::binary_search(p.attributes, a.name, {},
                                                      &AttributePattern::name);
    if (mentioned || view_.may_be_unnamed(node, a)) continue;
    return fail([&] {
      return Failure{node,
                     {},
                     p.line,
                     "attribute " + std::string(a.name) + " of " +
                         view_.graph().describe(node),
                     "its default, since the pattern does not mention it",
                     attribute_text(&a),
                     Miss::Nearness::kOpFits};
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
      return Failure{
          node,
          value,
          p.line,
          "output " + std::to_string(i) + " of " + graph.describe(node),
          "no reader",
          "a reader",
          Miss::Nearness::kOpFits};
    });
  }
  return true;
}

bool Naive::inputs(const Goal& goal, std::size_t option, const Goal*& next) {
  const NodePattern& p = pattern().nodes()[goal.index];
  const std::vector<std::uint32_t>& slots = slots_at(goal, option);
  if (has_rest(pattern(), p)) {
    if (!bind_rest(goal, slots)) return false;
  } else if (!p.open_inputs) {
    for (std::size_t i = 0; i < view_.input_count(goal.node); ++i) {
      if (!view_.input(goal.node, i) ||
          std::ranges::find(slots, i) != slots.end()) {
        continue;
      }
      return fail([&] {
        return Failure{goal.node,
                       view_.input(goal.node, i),
                       p.line,
                       "input " + std::to_string(i) + " of " +
                           view_.graph().describe(goal.node),
                       "nothing",
                       value_text(view_.input(goal.node, i))};
      });
    }
  }
  for (std::size_t i = slots.size(); i-- > 0;) {
    next = then({.aim = Aim::kTerm,
                 .term = p.inputs[i],
                 .value = view_.input(goal.node, slots[i]),
                 .node = goal.node,
                 .index = slots[i],
                 .axes = takes_axes(prepared_, NodePatternId(goal.index), i),
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
  Bound list{.kind = Bound::Kind::kList};
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
  fit.axes = goal.axes && keeps_axes(prepared_, goal.term);
  fit.term = pattern()[goal.term].alternatives[option].term;
  next = then(fit, then(done, next));
  return true;
}

bool Naive::alternative(const Goal& goal) {
  const Alternative& chosen = pattern()[goal.term].alternatives[goal.index];
  for (FactId id : chosen.facts) {
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
  chain.axes = false;
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
  step->chain = goal.term;
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
