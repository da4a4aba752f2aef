#include "core/match/naive/naive.h"

#include "core/ir/model.h"
#include "core/match/machine.h"
#include "core/ops/op_facts.h"

// The search, and the meaning of each kind of term.
namespace ruleengine::match {

namespace {

// The limit on goals in one search; beyond it the oracle gives up.
constexpr std::size_t kMostSteps = 20'000'000;

}  // namespace

Naive::Naive(const Prepared& prepared, ops::NewestNodes& view,
             Recorder* recorder)
    : prepared_(prepared),
      view_(view),
      checker_(view.graph(), view.facts()),
      recorder_(recorder) {}

std::optional<Match> Naive::run(ir::NodeId root) {
  root_ = root;
  frames_.push_back(std::make_unique<Frame>());
  Frame* frame = frames_[0].get();
  frame->hole = kNoHole;
  results_.resize(pattern().results().size());
  const Goal* goals = later_goals(frame);
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

const Naive::Goal* Naive::later_goals(Frame* frame) {
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
  for (auto i = static_cast<std::uint32_t>(results_.size()); --i > 0;) {
    goals = then({.aim = Aim::kResult, .index = i, .frame = frame}, goals);
  }
  return goals;
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
    at_ = goal;
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

// In a class of ops the inputs of those that commute may be swapped.
std::size_t Naive::orders_at(const Goal& goal) {
  const NodePattern& p = pattern().nodes()[goal.index];
  const ir::Op& op = view_.graph().op(goal.node);
  if (swaps_by_op(p) && !ops::is_commutative(op.domain, op.type)) return 1;
  return prepared_.permutations[goal.index].size();
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
      return orders_at(goal);
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
    case Aim::kTerm:
      return term(goal, option, next);
    case Aim::kInputs:
      return inputs(goal, option, next);
    case Aim::kAlternative:
      return alternative(goal);
    case Aim::kChain:
      return chain(goal, option, next);
    case Aim::kNextStep: {
      Frame* frame = goal.frame;
      const Bound* below = get(frame, kHoleSlot, pattern()[goal.term].output);
      if (below == nullptr) return false;
      next = then({.aim = Aim::kChain,
                   .term = goal.term,
                   .value = below->value,
                   .frame = frame->parent},
                  next);
      return true;
    }
    case Aim::kResult:
      return result(goal, option, next);
    case Aim::kFind:
      return find(goal, option, next);
    case Aim::kPending:
      return pending(goal, next);
    case Aim::kNevers:
      return nevers(goal);
    case Aim::kAccept:
      return accept();
  }
  return false;
}

// --- Bindings ---------------------------------------------------------------

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
  if (!checker_.unify(now, found)) return false;
  if (before == now.kind) return true;
  const bool dim = now.kind == Scalar::Kind::kDim;
  set(home, kVariableSlot, id.index(),
      {.kind = dim ? Bound::Kind::kDim : Bound::Kind::kAttribute,
       .dim = now.dim,
       .attribute = now.attribute});
  return true;
}

}  // namespace ruleengine::match
