#include "core/match/run/runner.h"

#include <algorithm>
#include <cmath>

#include "core/ir/model.h"

// The search itself: cells, choices, blocks and trees.
namespace ruleengine::match {

Runner::Runner(const Program& program, ir::Graph& graph, ir::Facts& facts,
               std::shared_ptr<KnownOps> known)
    : code_(program.code()),
      graph_(graph),
      view_(graph, facts),
      checker_(graph, facts),
      known_(known ? std::move(known) : std::make_shared<KnownOps>(program)),
      ops_(known_->ops()),
      readers_(graph, ops_) {
  rule_epochs_.resize(code_.rules.size());
  frames_.push_back({0, 0, 0, kNone, kNone});
  registers_.assign(code_.frame_registers[0], kNone);
  scalars_.resize(code_.frame_scalars[0]);
  epochs_.resize(code_.segments.size());
  done_.resize(code_.segments.size());
  steps_.resize(code_.segments.size());
  known_->learn(graph.model().ops);
}

bool Runner::may_match(ir::NodeId root) {
  const std::size_t op = graph_.node(root).op.index();
  if (op >= ops_.size()) known_->learn(graph_.model().ops);
  return ops_[op] != kNone && !known_->starts(ops_[op]).empty();
}

void Runner::run(ir::NodeId root, const RuleMask& mask,
                 std::vector<Match>& out) {
  if (!may_match(root) || graph_.node(root).removed) return;
  // An edit may have added ops that the match meets further up.
  known_->learn(graph_.model().ops);
  view_.forget();
  if (times_matched_.size() < graph_.node_count()) {
    times_matched_.resize(graph_.node_count());
    times_consumed_.resize(graph_.node_count());
  }
  root_ = root;
  mask_ = &mask;
  out_ = &out;
  ++epoch_;
  const std::size_t first = out.size();
  for (std::uint32_t s : known_->starts(op_of(root))) {
    const Start& start = code_.starts[s];
    const ir::ValueId value = graph_.output(root, start.output);
    if (value) search(start, value);
  }
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, out.end(),
            [](const Match& a, const Match& b) { return a.rule < b.rule; });
}

void Runner::search(const Start& start, ir::ValueId root_value) {
  const Mark clean = mark();
  now_ = {};
  return_ = kNone;
  pending_floor_ = 0;
  segment_ = start.segment;
  set(make_reg(0, 0), root_value.index());
  const bool ready = branch(start.branch, 0, 0) || backtrack(0);
  if (ready) run_from(0);
  choices_.clear();
  undo_to(clean);
}

bool Runner::run_from(std::size_t floor) {
  for (;;) {
    const Cell& cell = code_.cells[pc_];
    bool goes_on = false;
    switch (execute(cell.instr)) {
      case Outcome::kNext:
        goes_on = advance(cell);
        break;
      case Outcome::kJump:
        goes_on = true;
        break;
      case Outcome::kFail:
        break;
      case Outcome::kStop:
        return true;
    }
    if (!goes_on && !backtrack(floor)) return false;
  }
}

bool Runner::advance(const Cell& cell) {
  if (cell.next != kNone) {
    pc_ = cell.next;
    return true;
  }
  return cell.branch != kNone && branch(cell.branch, 0, 0);
}

// --- Choices ----------------------------------------------------------------

Runner::Mark Runner::mark() const {
  return {trail_.size(),     scalar_trail_.size(), frames_.size(),
          registers_.size(), scalars_.size(),      returns_.size(),
          pending_.size(),   matched_.size(),      consumed_.size(),
          candidates_.size()};
}

void Runner::undo_to(const Mark& mark) {
  while (trail_.size() > mark.trail) {
    registers_[trail_.back().index] = trail_.back().old;
    trail_.pop_back();
  }
  while (scalar_trail_.size() > mark.scalar_trail) {
    scalars_[scalar_trail_.back().index] = scalar_trail_.back().old;
    scalar_trail_.pop_back();
  }
  while (matched_.size() > mark.matched) {
    --times_matched_[matched_.back().index()];
    matched_.pop_back();
  }
  while (consumed_.size() > mark.consumed) {
    --times_consumed_[consumed_.back().index()];
    consumed_.pop_back();
  }
  frames_.resize(mark.frames);
  registers_.resize(mark.registers);
  scalars_.resize(mark.scalars);
  returns_.resize(mark.returns);
  pending_.resize(mark.pending);
  candidates_.resize(mark.candidates);
}

bool Runner::choose(ChoiceKind kind, std::uint32_t a, std::uint32_t b,
                    std::uint32_t c, bool behind) {
  if (++count(steps_, segment_) > limit) {
    if (!exhausted) {
      exhausted = {code_.segments[segment_].least_rule, root_};
    }
    finish_rules(segment_);
    return false;
  }
  choices_.push_back(
      {kind, behind, a, b, c, pc_, return_, segment_, now_, mark()});
  return true;
}

bool Runner::backtrack(std::size_t floor) {
  while (choices_.size() > floor) {
    const Choice choice = choices_.back();
    choices_.pop_back();
    undo_to(choice.mark);
    if (!alive(choice.segment)) continue;
    pc_ = choice.pc;
    return_ = choice.returns;
    segment_ = choice.segment;
    now_ = choice.frames;
    if (resume(choice)) return true;
  }
  return false;
}

bool Runner::resume(const Choice& choice) {
  const Cell& cell = code_.cells[pc_];
  Outcome outcome = Outcome::kFail;
  switch (choice.kind) {
    case ChoiceKind::kBranch:
      return branch(choice.a, choice.b, choice.c);
    case ChoiceKind::kOrder:
      outcome = inputs(cell.instr, choice.a);
      break;
    case ChoiceKind::kAlternative:
      outcome = either(cell.instr, choice.a);
      break;
    case ChoiceKind::kBase:
      outcome = chain_base(choice.a, ir::ValueId(choice.b));
      break;
    case ChoiceKind::kCandidate:
      outcome = candidate(choice.a, choice.b, choice.c, choice.behind);
      break;
    case ChoiceKind::kReader:
      outcome = reader(cell.instr, choice.a, ir::ValueId(choice.b));
      break;
    case ChoiceKind::kCut:
      cut(choice);
      break;
  }
  if (outcome == Outcome::kNext) return advance(cell);
  return outcome == Outcome::kJump;
}

// --- Blocks -----------------------------------------------------------------

void Runner::push_return(std::uint32_t cell, bool execute) {
  returns_.push_back({cell, execute, return_, now_});
  return_ = static_cast<std::uint32_t>(returns_.size() - 1);
}

void Runner::call(std::uint32_t block) {
  push_return(pc_, false);
  pc_ = code_.blocks[block];
}

Runner::Outcome Runner::leave() {
  const Return to = returns_[return_];
  return_ = to.parent;
  now_ = to.frames;
  pc_ = to.cell;
  if (to.execute) return Outcome::kJump;
  return advance(code_.cells[pc_]) ? Outcome::kJump : Outcome::kFail;
}

// --- Trees ------------------------------------------------------------------

std::uint32_t& Runner::count(std::vector<std::uint32_t>& counts,
                             std::uint32_t segment) {
  if (epochs_[segment] != epoch_) {
    epochs_[segment] = epoch_;
    done_[segment] = steps_[segment] = 0;
  }
  return counts[segment];
}

bool Runner::done(std::uint32_t segment) const {
  return epochs_[segment] == epoch_ &&
         done_[segment] >= code_.segments[segment].rules;
}

bool Runner::alive(std::uint32_t segment) const {
  for (std::uint32_t s = segment; s != kNone; s = code_.segments[s].parent) {
    if (done(s)) return false;
  }
  return true;
}

// All rules below `segment` fitted, are masked, or were given up.
void Runner::finish_rules(std::uint32_t segment) {
  const std::uint32_t more =
      code_.segments[segment].rules - count(done_, segment);
  for (std::uint32_t s = segment; s != kNone; s = code_.segments[s].parent) {
    count(done_, s) += more;
  }
}

bool Runner::enter(const Child& child) {
  if (done(child.segment)) return false;
  const std::uint32_t rule = code_.segments[child.segment].rule;
  if (rule == kNone) return true;
  // A rule whose root has several outputs may have fitted at another output.
  const bool masked = !mask_->empty() && !(*mask_)[rule];
  if (masked || rule_epochs_[rule] == epoch_) {
    finish_rules(child.segment);
    return false;
  }
  return true;
}

Runner::Range Runner::matching(const Group& group) {
  const std::vector<Child>& all = group.children;
  // A single child does its own test.
  if (all.size() == 1 && group.kind != Group::Kind::kOps) return {0, 1};
  const auto range = [&](auto begin, auto end) {
    return Range{static_cast<std::size_t>(begin - all.begin()),
                 static_cast<std::size_t>(end - all.begin())};
  };
  switch (group.kind) {
    case Group::Kind::kOne:
      return {0, all.size()};
    case Group::Kind::kOps: {
      const ir::NodeId producer = graph_.producer(value(group.reg));
      if (!producer) return {};
      const auto found =
          std::ranges::equal_range(all, op_of(producer), {}, &Child::op);
      return range(found.begin(), found.end());
    }
    case Group::Kind::kNumbers: {
      const auto number = checker_.number(value(group.reg));
      if (!number) return {};
      // A little wider than the test itself, since numbers have a tolerance.
      const double reach =
          std::isfinite(number->value)
              ? std::abs(number->value) * number->tolerance * 1.2
              : 0;
      const auto low = std::ranges::lower_bound(all, number->value - reach, {},
                                                &Child::number);
      const auto high = std::ranges::upper_bound(all, number->value + reach, {},
                                                 &Child::number);
      return low < high ? range(low, high) : Range{};
    }
    case Group::Kind::kLiterals: {
      const ir::Attribute* a = view_.attribute(node(group.reg), group.name);
      const std::string key = a == nullptr ? "" : literal_key(*a);
      const auto found = std::ranges::equal_range(all, key, {}, &Child::key);
      return range(found.begin(), found.end());
    }
  }
  return {};
}

bool Runner::branch(std::uint32_t fork, std::uint32_t group,
                    std::uint32_t child) {
  const Branch& groups = code_.forks[fork];
  for (; group < groups.size(); ++group, child = 0) {
    const Range range = matching(groups[group]);
    for (std::size_t at = range.begin + child; at < range.end; ++at) {
      const Child& next = groups[group].children[at];
      if (!enter(next)) continue;
      const bool more = at + 1 < range.end;
      if (more || group + 1 < groups.size()) {
        const auto later = static_cast<std::uint32_t>(at + 1 - range.begin);
        if (!choose(ChoiceKind::kBranch, fork, more ? group : group + 1,
                    more ? later : 0)) {
          return false;
        }
      }
      segment_ = next.segment;
      pc_ = next.cell;
      return true;
    }
  }
  return false;
}

// --- Machine ----------------------------------------------------------------

struct Machine::State : Runner {
  using Runner::Runner;
};

Machine::Machine(const Program& program, ir::Graph& graph, ir::Facts& facts,
                 std::shared_ptr<KnownOps> known)
    : state_(std::make_unique<State>(program, graph, facts, std::move(known))) {
}
Machine::~Machine() = default;

void Machine::run(ir::NodeId root, const RuleMask& mask,
                  std::vector<Match>& out) {
  state_->run(root, mask, out);
}

bool Machine::may_match(ir::NodeId root) const {
  return state_->may_match(root);
}

std::optional<Machine::Exhausted> Machine::exhausted() const {
  return state_->exhausted;
}

void Machine::set_limit(std::uint32_t choices) { state_->limit = choices; }

}  // namespace ruleengine::match
