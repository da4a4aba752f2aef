#include <algorithm>

#include "core/ir/model.h"
#include "core/match/run/climber.h"
#include "core/match/run/runner.h"

// Searches for later results, what is judged at the end, and the match.
namespace ruleengine::match {

// --- Searches ---------------------------------------------------------------

std::optional<std::uint32_t> Runner::known(const Search& search) const {
  if (search.known == kNone) return std::nullopt;
  const std::uint32_t held = get(search.known);
  if (held == kNone) return std::nullopt;
  if (search.known_output == kNone) return held;
  const ir::ValueId out = graph_.output(ir::NodeId(held), search.known_output);
  return out ? out.index() : kNone;
}

std::uint32_t Runner::collect(const Search& search) {
  const auto begin = static_cast<std::uint32_t>(candidates_.size());
  for (ir::ValueId value : climb(code_.climbs[search.climb], graph_, view_,
                                 readers_, [&](Reg reg) { return get(reg); })) {
    const ir::NodeId node = graph_.producer(value);
    if (!node || graph_.node(node).removed ||
        (search.unmatched && times_matched_[node.index()] > 0)) {
      continue;
    }
    candidates_.push_back(value);
  }
  std::sort(candidates_.begin() + begin, candidates_.end(),
            [&](ir::ValueId a, ir::ValueId b) {
              const ir::Value& one = graph_.value(a);
              const ir::Value& two = graph_.value(b);
              return std::pair(one.producer, one.output_index) <
                     std::pair(two.producer, two.output_index);
            });
  candidates_.erase(std::unique(candidates_.begin() + begin, candidates_.end()),
                    candidates_.end());
  return begin;
}

Runner::Outcome Runner::candidate(std::uint32_t at, std::uint32_t end, Reg reg,
                                  bool behind) {
  if (at >= end) return Outcome::kFail;
  const std::uint32_t value = candidates_[at].index();
  if (at + 1 < end &&
      !choose(ChoiceKind::kCandidate, at + 1, end, reg, behind)) {
    return Outcome::kFail;
  }
  set(reg, value);
  return behind ? Outcome::kNext : Outcome::kJump;
}

Runner::Outcome Runner::find(const Instr& i) {
  const Search& search = code_.searches[i.b];
  if (const auto value = known(search)) {
    set(i.a, *value);
    return Outcome::kNext;
  }
  const Climb& climb = code_.climbs[search.climb];
  if (climb.rows.size() == 2 && climb.rows[1].kind == Climb::Kind::kUp) {
    const Climb::Row& below = climb.rows[0];
    if (below.kind == Climb::Kind::kRegister) {
      return reader(i, 0, value(below.a));
    }
    if (below.kind == Climb::Kind::kOutput && get(below.a) != kNone) {
      return reader(i, 0, graph_.output(node(below.a), below.b));
    }
  }
  const std::uint32_t begin = collect(search);
  return candidate(begin, static_cast<std::uint32_t>(candidates_.size()), i.a,
                   true);
}

// The usual search: one node above one value. Candidates are visited one by
// one.
Runner::Outcome Runner::reader(const Instr& i, std::uint32_t from,
                               ir::ValueId value) {
  if (!value) return Outcome::kFail;
  const Search& search = code_.searches[i.b];
  const Climb::Row& row = code_.climbs[search.climb].rows[1];
  const bool one_by_one = readers_.one_by_one(value);
  const auto all =
      one_by_one ? std::span<const Reader>() : readers_.of(value, row.b);
  const auto reader_at = [&](std::uint32_t at) -> std::optional<Reader> {
    if (one_by_one) return readers_.at(value, row.b, at);
    return at < all.size() ? std::optional(all[at]) : std::nullopt;
  };
  auto reader = reader_at(from);
  for (std::uint32_t at = from; reader; ++at) {
    const Reader tried = *reader;
    reader = reader_at(at + 1);
    const ir::NodeId node = tried.node;
    const ir::ValueId out = graph_.output(node, row.c);
    if (!out || !climbs(row, tried, view_.upgraded(graph_.node(node).op)) ||
        (search.unmatched && times_matched_[node.index()] > 0)) {
      continue;
    }
    if (reader && !choose(ChoiceKind::kReader, at + 1, value.index())) {
      return Outcome::kFail;
    }
    set(i.a, out.index());
    return Outcome::kNext;
  }
  return Outcome::kFail;
}

// Every candidate for a result failed, and none because another result had
// taken its nodes: other choices for independent results change nothing.
// Choices that other rules still need stay.
void Runner::cut(const Choice& choice) {
  const Attempts& attempts = attempts_[choice.a];
  if (attempts.placed || attempts.blocked != blocked_) return;
  const auto open_rules = [&](std::uint32_t segment) {
    return code_.segments[segment].rules - count(done_, segment);
  };
  const std::uint32_t here = open_rules(choice.segment);
  while (choices_.size() > choice.b &&
         open_rules(choices_.back().segment) == here) {
    choices_.pop_back();
  }
}

// --- Judged at the end ------------------------------------------------------

Runner::Subject Runner::subject(const Instr& i) const {
  const std::uint32_t held = get(i.a);
  Subject out;
  out.bound = held != kNone;
  if (!out.bound) return out;
  const auto kind = static_cast<LateFact::Subject>(i.c);
  if (kind == LateFact::Subject::kNodeOutput) {
    out.value = graph_.output(ir::NodeId(held), i.d);
    return out;
  }
  out.value = value_of(held);
  out.transposed =
      kind == LateFact::Subject::kVariable && (held & kTransposed) != 0;
  return out;
}

Runner::Outcome Runner::defer_fact(const Instr& i) {
  const Subject about = subject(i);
  if (!about.bound) {
    pending_.push_back({.fact = pc_, .frames = now_});
    return Outcome::kNext;
  }
  return fact(i.b, about.value, about.transposed) ? Outcome::kNext
                                                  : Outcome::kFail;
}

void Runner::open_table(std::uint32_t table) {
  table_ = table;
  const Table& rows = code_.tables[table];
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    if (rows[r].at_once) pending_.push_back({.row = r, .frames = now_});
  }
}

Runner::Outcome Runner::drain(const Instr& i) {
  std::size_t at = get(i.a) == kNone ? pending_floor_ : get(i.a);
  for (; at < pending_.size(); ++at) {
    const Pending item = pending_[at];
    const Frames here = now_;
    if (item.fact != kNone) {
      now_ = item.frames;
      const Instr& late = code_.cells[item.fact].instr;
      const Subject about = subject(late);
      const bool holds =
          !about.bound || fact(late.b, about.value, about.transposed);
      now_ = here;
      if (!holds) return Outcome::kFail;
      continue;
    }
    const Deferred& row = code_.tables[table_][item.row];
    if (row.kind != Deferred::Kind::kContext) continue;
    set(i.a, static_cast<std::uint32_t>(at + 1));
    push_return(pc_, true);
    now_ = item.frames;
    pc_ = code_.blocks[row.block];
    const Search& search = code_.searches[row.search];
    if (const auto value = known(search)) {
      set(row.value, *value);
      return Outcome::kJump;
    }
    const std::uint32_t begin = collect(search);
    return candidate(begin, static_cast<std::uint32_t>(candidates_.size()),
                     row.value, false);
  }
  return Outcome::kNext;
}

bool Runner::nevers_hold() {
  for (std::size_t at = pending_floor_; at < pending_.size(); ++at) {
    const Pending item = pending_[at];
    if (item.row == kNone) continue;
    const Deferred& row = code_.tables[table_][item.row];
    if (row.kind == Deferred::Kind::kContext) continue;
    const Frames here = now_;
    now_ = item.frames;
    const bool there = fits(row, item);
    now_ = here;
    if (there || !alive(segment_)) return false;
  }
  return true;
}

bool Runner::fits(const Deferred& row, const Pending& pending) {
  if (row.kind == Deferred::Kind::kNeverAt) {
    return fits_at(row, pending.value);
  }
  const Search& search = code_.searches[row.search];
  if (known(search)) return true;
  const Mark before = mark();
  const std::uint32_t begin = collect(search);
  bool found = false;
  for (std::uint32_t c = begin; c < candidates_.size() && !found; ++c) {
    found = fits_at(row, candidates_[c].index());
  }
  undo_to(before);
  return found;
}

// A search of its own that leaves no bindings.
bool Runner::fits_at(const Deferred& row, std::uint32_t value) {
  const Mark before = mark();
  const auto pc = pc_, back = return_;
  const Frames frames = now_;
  const std::size_t floor = pending_floor_, choices = choices_.size();
  pending_floor_ = pending_.size();
  return_ = kNone;
  set(row.value, value);
  push_return(code_.fits, true);
  pc_ = code_.blocks[row.block];
  ++nested_;
  const bool found = run_from(choices);
  --nested_;
  choices_.resize(choices);
  undo_to(before);
  pc_ = pc;
  return_ = back;
  now_ = frames;
  pending_floor_ = floor;
  return found;
}

// --- Accepting --------------------------------------------------------------

bool Runner::closed_exactly(const Report& report, const Prepared& rule) {
  const auto read_outside = [&](ir::ValueId value) {
    if (graph_.value(value).block_output_count > 0) return true;
    for (ir::OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
      if (times_consumed_[graph_.operand(u).user.index()] == 0) return true;
    }
    return false;
  };
  for (const Frame& frame : frames_) {
    for (std::size_t n = 0; n < report.nodes.size(); ++n) {
      const Reg reg = report.nodes[n];
      if (reg == kNone || reg_depth(reg) != frame.depth ||
          !rule.analysis.nodes[n].consumed) {
        continue;
      }
      const std::uint32_t held = registers_[frame.registers + reg_index(reg)];
      if (held == kNone) continue;
      const NodePattern& p = rule.pattern->nodes()[n];
      const auto outputs = graph_.outputs(ir::NodeId(held));
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i] || (p.open_outputs && i >= p.output_count)) continue;
        const bool result = std::ranges::any_of(
            report.results, [&](Reg r) { return value(r) == outputs[i]; });
        if (!result && read_outside(outputs[i])) return false;
      }
    }
  }
  return true;
}

bool Runner::accept(std::uint32_t rule) {
  if (!closed_exactly(code_.reports[rule], code_.rules[rule])) return false;
  out_->push_back(make_match(rule));
  rule_epochs_[rule] = epoch_;
  return true;
}

Match Runner::make_match(std::uint32_t rule) {
  const Report& report = code_.reports[rule];
  Match match;
  match.rule = rule;
  match.root = root_;
  match.bound.reserve(report.variables.size());
  for (std::uint32_t v = 0; v < report.variables.size(); ++v) {
    match.bound.push_back(bound(report, v, 0));
  }
  match.nodes.resize(report.nodes.size());
  for (const Frame& frame : frames_) {
    for (std::size_t n = 0; n < report.nodes.size(); ++n) {
      const Reg reg = report.nodes[n];
      if (reg == kNone || reg_depth(reg) != frame.depth) continue;
      const std::uint32_t held = registers_[frame.registers + reg_index(reg)];
      if (held == kNone) continue;
      match.nodes[n] = ir::NodeId(held);
      collect_unnamed(view_, *code_.rules[rule].pattern, NodePatternId(n),
                      match.nodes[n], match.unnamed);
    }
  }
  sort_unnamed(match.unnamed);
  match.consumed.append(consumed_);
  match.consumed.sort_unique();
  for (Reg result : report.results) match.results.push_back(value(result));
  return match;
}

Bound Runner::bound(const Report& report, std::uint32_t id,
                    std::uint32_t frame) {
  const Report::Variable& variable = report.variables[id];
  if (variable.depth == frames_[frame].depth) {
    const bool steps = variable.kind == Report::Variable::Kind::kSteps;
    return steps ? records(report, id, frame) : bound_here(variable, frame);
  }
  Bound list{.kind = Bound::Kind::kList};
  for (std::size_t f = frames_.size(); f-- > 1;) {
    if (frames_[f].parent != frame) continue;
    Bound one = bound(report, id, static_cast<std::uint32_t>(f));
    const bool empty = one.kind == Bound::Kind::kNothing ||
                       (variable.depth > frames_[f].depth && one.list.empty());
    if (!empty) list.list.push_back(std::move(one));
  }
  return list;
}

Bound Runner::records(const Report& report, std::uint32_t id,
                      std::uint32_t frame) {
  const Report::Variable& variable = report.variables[id];
  Bound list{.kind = Bound::Kind::kList};
  for (std::size_t f = frames_.size(); f-- > 1;) {
    if (frames_[f].parent != frame ||
        std::ranges::find(variable.chains, frames_[f].chain) ==
            variable.chains.end()) {
      continue;
    }
    Bound& record = list.list.emplace_back(Bound{.kind = Bound::Kind::kRecord});
    for (const std::uint32_t field : variable.fields) {
      record.list.push_back(
          bound(report, field, static_cast<std::uint32_t>(f)));
    }
  }
  return list;
}

Bound Runner::bound_here(const Report::Variable& variable,
                         std::uint32_t frame) {
  using Kind = Report::Variable::Kind;
  Bound out;
  for (Reg reg : variable.regs) {
    if (variable.kind == Kind::kScalar) {
      const Scalar& s = scalars_[frames_[frame].scalars + reg_index(reg)];
      if (s.kind == Scalar::Kind::kDim) {
        out.kind = Bound::Kind::kDim;
        out.dim = s.dim;
      } else if (s.kind == Scalar::Kind::kAttribute) {
        out.kind = Bound::Kind::kAttribute;
        out.attribute = view_.keep(s.attribute);
      }
      continue;
    }
    const std::uint32_t at = frames_[frame].registers + reg_index(reg);
    const std::uint32_t held = registers_[at];
    if (held == kNone) continue;
    if (variable.kind == Kind::kNode) {
      out.kind = Bound::Kind::kNode;
      out.node = ir::NodeId(held);
    } else if (variable.kind == Kind::kRest) {
      out.kind = Bound::Kind::kList;
      for (ir::ValueId v :
           rest_values(held, registers_[at + 1], registers_[at + 2])) {
        Bound& one = out.list.emplace_back();
        if (!v) continue;
        one.kind = Bound::Kind::kValue;
        one.value = v;
      }
    } else {
      out.kind = Bound::Kind::kValue;
      out.value = value_of(held);
      out.transposed =
          variable.kind == Kind::kReversed ||
          (variable.kind == Kind::kVariable && (held & kTransposed) != 0);
    }
  }
  return out;
}

}  // namespace ruleengine::match
