#include <algorithm>
#include <numeric>

#include "core/match/emitter.h"
#include "core/match/readers.h"

// What a pattern says beyond its first result: later results, conditions, what
// is judged at the end; and what is known before emitting begins.
namespace ruleengine::match {

using pattern::Alternative;
using pattern::FactId;
using pattern::NodePattern;
using pattern::NodePatternId;
using pattern::Term;
using pattern::TermId;
using pattern::TermKind;
using pattern::VariableId;
using pattern::VariableKind;

// --- Known beforehand ----------------------------------------------------------

void Emitter::find_late_subjects() {
  late_variables_.resize(pattern().variables().size());
  late_terms_.resize(pattern().terms().size());
  for (const Term& t : pattern().terms()) {
    for (const Alternative& alternative : t.alternatives) {
      for (FactId fact : alternative.facts) {
        const TermId subject = pattern()[fact].subject;
        late_terms_[subject.index()] = true;
        if (const VariableId v = pattern()[subject].variable) {
          late_variables_[v.index()] = true;
        }
      }
    }
  }
}

void Emitter::find_op_sets() {
  constexpr std::size_t kMostOps = 64;
  op_sets_.resize(pattern().terms().size());
  for (std::size_t i = 0; i < op_sets_.size(); ++i) {
    const Term& t = pattern().terms()[i];
    std::optional<OpSet>& set = op_sets_[i];
    const auto unite = [&](TermId part) {
      const auto& other = op_sets_[part.index()];
      if (!other || !set || set->ops.size() + other->ops.size() > kMostOps) {
        set.reset();
        return;
      }
      set->ops.insert(set->ops.end(), other->ops.begin(), other->ops.end());
      set->absent |= other->absent;
    };
    switch (t.kind) {
      case TermKind::kOutput: {
        const NodePattern& p = pattern()[t.node];
        set = OpSet{.ops = {out_.op(p.domain, p.type)}};
        break;
      }
      case TermKind::kAbsent:
        set = OpSet{.absent = true};
        break;
      case TermKind::kEither:
        set = OpSet();
        for (const Alternative& a : t.alternatives) unite(a.term);
        break;
      case TermKind::kMany:
        set = OpSet();
        unite(t.step);
        unite(t.base);
        break;
      case TermKind::kContext:
        set = op_sets_[t.base.index()];
        break;
      default:
        break;
    }
  }
}

// A term dominates another when every way to the other leads through it: what
// stands below it is upstream of its value, which it therefore cannot read.
void Emitter::find_dominators() {
  const std::size_t n = pattern().terms().size();
  constexpr std::uint32_t kTop = kNone - 1;  // above all results
  dominator_.assign(n, kNone);
  level_.assign(n, 0);
  const auto common = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      if (a == kTop || b == kTop) return kTop;
      (level_[a] > level_[b] ? a : b) = dominator_[level_[a] > level_[b] ? a : b];
    }
    return a;
  };
  const auto enter = [&](TermId term, std::uint32_t from) {
    std::uint32_t& d = dominator_[term.index()];
    d = d == kNone ? from : common(d, from);
  };
  for (TermId r : pattern().results()) enter(r, kTop);
  for (TermId c : pattern().conditions()) enter(c, kTop);
  for (std::size_t i = n; i-- > 0;) {
    if (dominator_[i] == kNone) continue;
    level_[i] = dominator_[i] == kTop ? 1 : level_[dominator_[i]] + 1;
    pattern::for_each_part(pattern(), TermId(i), [&](TermId part) {
      enter(part, static_cast<std::uint32_t>(i));
    });
  }
}

bool Emitter::dominated(NodePatternId node, TermId by) const {
  for (TermId output : outputs_[node.index()]) {
    std::uint32_t at = output.index();
    while (at < level_.size() && level_[at] > level_[by.index()]) {
      at = dominator_[at];
    }
    if (at != by.index()) return false;
  }
  return true;
}

// Ops of nodes that may still join the match and read this output.
std::uint32_t Emitter::future(TermId output) {
  constexpr std::size_t kMostNodes = 500;
  if (pattern().nodes().size() > kMostNodes) {
    return out_.op_set({.all = true});
  }
  const pattern::Reach& reach = prepared_.analysis.terms[output.index()];
  // The chain whose next steps stand upstream of this output as well.
  TermId chain;
  for (std::size_t i = 0; i < pattern().terms().size(); ++i) {
    const Term& t = pattern().terms()[i];
    if (t.kind != TermKind::kMany || reach.chains[t.output] == 0) continue;
    const bool inside = dominated(pattern()[output].node, TermId(i));
    const bool passes =
        pattern::passing(pattern(), t.output)[output.index()].passes;
    if (inside && passes) chain = TermId(i);
  }
  OpSet set;
  for (std::size_t i = 0; i < pattern().nodes().size(); ++i) {
    const NodePatternId node(i);
    if (!prepared_.analysis.nodes[i].consumed || node_certain_[i] ||
        dominated(node, output) || (chain && dominated(node, chain))) {
      continue;
    }
    const NodePattern& p = pattern()[node];
    set.ops.push_back(out_.op(p.domain, p.type));
  }
  return out_.op_set(std::move(set));
}

// --- Results and conditions ----------------------------------------------------

void Emitter::emit(std::uint32_t rule, Report& report) {
  const TermId first = pattern().results()[0];
  results_.push_back(new_reg(0));
  if (pattern()[first].kind == TermKind::kOutput) {
    precheck(first, results_[0]);
  }
  term(first, results_[0]);
  results();
  conditions();
  deferred();
  add({.op = Do::kAccept, .a = rule});
  this->report(report);
  for (std::uint32_t d = 0; d < registers_.size(); ++d) {
    if (registers_[d] + scalars_[d] > 0) {
      out_.need_frame(d, registers_[d], scalars_[d]);
    }
  }
  for (std::uint32_t output : prepared_.root_outputs) {
    std::vector<std::uint32_t> ops;
    for (const Top& top : tops(pattern(), first)) {
      if (top.output != output) continue;
      const NodePattern& p = pattern()[top.node];
      ops.push_back(out_.op(p.domain, p.type));
    }
    out_.add_rule(rule, sequences_[0], std::move(ops), output);
  }
}

void Emitter::results() {
  const std::vector<std::uint32_t> back = backjumps();
  std::vector<Reg> levels(pattern().results().size(), kNone);
  for (std::uint32_t i = 1; i < pattern().results().size(); ++i) {
    const TermId result = pattern().results()[i];
    const Term& t = pattern()[result];
    const Reg value = new_reg(0);
    results_.push_back(value);
    const bool bound =
        t.kind == TermKind::kOutput && node_certain_[t.node.index()];
    if (std::ranges::find(back, i) != back.end()) {
      levels[i] = new_reg(0);
      add({.op = Do::kLevel, .a = levels[i]});
    }
    const bool cuts = !bound && back[i] != kNone && levels[back[i]] != kNone;
    if (cuts) add({.op = Do::kCut, .a = i, .b = levels[back[i]]});
    if (bound) {
      add({.op = Do::kOutput, .a = node_reg(t.node), .b = t.output,
           .c = value});
      facts(result, {value});
    } else {
      add({.op = Do::kFind, .a = value,
           .b = search({.index = i}, result, false)});
    }
    if (!cuts) differ_values(i, 0);
    if (bound) continue;
    // What would fit, but is taken, is told from what does not fit at all.
    late_differ_ = cuts;
    if (t.kind == TermKind::kOutput && !node_touched_[t.node.index()]) {
      precheck(result, value);
    }
    term(result, value);
    late_differ_ = false;
    if (!cuts) continue;
    differ_values(i, back[i]);
    for (const Top& top : tops(pattern(), result)) differ(top.node, back[i]);
    add({.op = Do::kPlaced, .a = i});
  }
}

void Emitter::differ_values(std::uint32_t result, std::uint32_t from) {
  for (std::uint32_t j = 0; j < result; ++j) {
    add({.op = Do::kDifferValue, .a = results_[result], .b = results_[j],
         .c = j >= from});
  }
}

// For each result the earliest other one such that neither it nor those in
// between have anything to do with this one, beyond what the first result
// binds: when nothing fits here, other choices there are of no use. kNone:
// there is none.
std::vector<std::uint32_t> Emitter::backjumps() const {
  const std::size_t n = pattern().results().size();
  std::vector<std::uint32_t> back(n, kNone);
  if (n < 3) return back;
  std::vector<std::vector<bool>> terms(n), variables(n);
  for (std::size_t r = 1; r < n; ++r) {
    reached_from(pattern().results()[r], terms[r], variables[r]);
  }
  const auto meet = [](const std::vector<bool>& a, const std::vector<bool>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] && b[i]) return true;
    }
    return false;
  };
  for (std::uint32_t r = 2; r < n; ++r) {
    std::uint32_t first = r;
    while (first > 1 && !meet(terms[r], terms[first - 1]) &&
           !meet(variables[r], variables[first - 1])) {
      --first;
    }
    if (first < r) back[r] = first;
  }
  return back;
}

// What `root` may bind that is not certain yet.
void Emitter::reached_from(TermId root, std::vector<bool>& terms,
                           std::vector<bool>& variables) const {
  terms.assign(pattern().terms().size(), false);
  variables.assign(pattern().variables().size(), false);
  std::vector<bool> seen(terms.size());
  const auto use = [&](VariableId v) {
    if (v && !variable_certain_[v.index()]) variables[v.index()] = true;
  };
  std::vector<TermId> todo{root};
  while (!todo.empty()) {
    const TermId id = todo.back();
    todo.pop_back();
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    const Term& t = pattern()[id];
    use(t.variable);
    for (FactId fact : prepared_.facts[id.index()]) {
      for (const auto& dim : pattern()[fact].dims) use(dim.letter);
    }
    for (const Alternative& a : t.alternatives) {
      for (FactId fact : a.facts) {
        for (const auto& dim : pattern()[fact].dims) use(dim.letter);
      }
    }
    if (t.kind == TermKind::kOutput) {
      if (node_certain_[t.node.index()]) continue;
      for (const auto& a : pattern()[t.node].attributes) use(a.variable);
    }
    terms[id.index()] = t.kind == TermKind::kOutput ||
                        t.kind == TermKind::kEither ||
                        t.kind == TermKind::kMany;
    pattern::for_each_part(pattern(), id,
                           [&](TermId part) { todo.push_back(part); });
  }
}

void Emitter::conditions() {
  for (std::uint32_t i = 0; i < pattern().conditions().size(); ++i) {
    const Term& t = pattern()[pattern().conditions()[i]];
    if (t.kind == TermKind::kNever) continue;
    const Reg value = new_reg(0);
    const Place place{.index = i, .condition = true};
    add({.op = Do::kFind, .a = value, .b = search(place, t.base, true)});
    term(t.base, value);
  }
}

void Emitter::deferred() {
  for (std::uint32_t i = 0; i < pattern().conditions().size(); ++i) {
    const Term& t = pattern()[pattern().conditions()[i]];
    if (t.kind != TermKind::kNever) continue;
    later_.push_back({Deferred::Kind::kNever, t.base,
                      {.index = i, .condition = true}, true});
  }
  if (later_.empty() && !facts_deferred_) return;
  // Compiled now, when what is certain is known; may defer more.
  Table table;
  for (std::size_t i = 0; i < later_.size(); ++i) {
    const Later later = later_[i];
    Deferred row{.kind = later.kind, .at_once = later.at_once};
    const std::uint32_t depth = this->depth(later.term);
    row.value = new_reg(depth);
    const bool never = later.kind != Deferred::Kind::kContext;
    row.block = block([&] {
      if (later.kind != Deferred::Kind::kNeverAt) {
        row.search = search(later.place, later.term, true);
      }
      term(later.term, row.value);
      if (!never) return;
      add({.op = Do::kDrain, .a = new_reg(depth)});
      add({.op = Do::kNevers});
    });
    table.push_back(row);
  }
  add({.op = Do::kTable, .a = out_.table(std::move(table))});
  add({.op = Do::kDrain, .a = new_reg(0)});
  add({.op = Do::kNevers});
}

// --- Searches ------------------------------------------------------------------

std::uint32_t Emitter::search(const Place& place, TermId term,
                              bool unmatched) {
  const Anchor& anchor = prepared_.anchors.at(place);
  Search search;
  search.unmatched = unmatched;
  search.climb = climb(anchor, term);
  while (pattern()[term].kind == TermKind::kContext) {
    term = pattern()[term].base;
  }
  const Term& t = pattern()[term];
  if (t.kind == TermKind::kOutput) {
    if (node_touched_[t.node.index()]) {
      search.known = node_reg(t.node);
      search.known_output = t.output;
    }
  } else if (term_regs_[term.index()] != kNone) {
    search.known = term_reg(term);
  }
  return out_.search(search);
}

std::uint32_t Emitter::climb(const Anchor& anchor, TermId term) {
  Climb climb;
  std::map<TermId, std::uint32_t> known;
  climb_row(anchor, term, climb, known);
  return out_.climb(std::move(climb));
}

std::uint32_t Emitter::climb_row(const Anchor& anchor, TermId id, Climb& climb,
                                 std::map<TermId, std::uint32_t>& known) {
  if (const auto at = known.find(id); at != known.end()) return at->second;
  const Term& t = pattern()[id];
  Climb::Row row{.kind = Climb::Kind::kUnion};
  const bool bound = anchor.bound.bound(id) ||
                     (t.variable && anchor.bound.bound(t.variable));
  if (bound && t.kind == TermKind::kVariable) {
    const auto& certain = variable_certain_[t.variable.index()];
    row = {.kind = Climb::Kind::kRegister,
           .a = certain ? certain->reg : variable_reg(t.variable)};
  } else if (bound && t.kind == TermKind::kOutput) {
    row = {.kind = Climb::Kind::kOutput, .a = node_reg(t.node), .b = t.output};
  } else if (bound && t.kind == TermKind::kHole) {
    row = {.kind = Climb::Kind::kRegister, .a = hole_reg(t.output, depth(id))};
  } else if (bound) {
    row = {.kind = Climb::Kind::kRegister, .a = term_reg(id)};
  } else if (t.kind == TermKind::kOutput) {
    const NodePattern& p = pattern()[t.node];
    if (!p.inputs.empty()) {
      const std::size_t input = climbed_input(prepared_, anchor, t.node);
      row = {.kind = Climb::Kind::kUp,
             .a = climb_row(anchor, p.inputs[input], climb, known),
             .b = out_.op(p.domain, p.type),
             .c = t.output};
      row.holes = climb.rows[row.a].holes;
      for (std::uint32_t s : slots_of(prepared_, t.node, input)) {
        row.slots |= Readers::slot_bit(s);
      }
    }
  } else if (t.kind == TermKind::kEither) {
    std::vector<std::uint32_t> parts;
    for (const Alternative& a : t.alternatives) {
      parts.push_back(climb_row(anchor, a.term, climb, known));
      row.holes |= climb.rows[parts.back()].holes;
    }
    row.a = static_cast<std::uint32_t>(climb.list.size());
    climb.list.insert(climb.list.end(), parts.begin(), parts.end());
    row.b = static_cast<std::uint32_t>(climb.list.size());
  } else if (t.kind == TermKind::kMany) {
    const std::uint32_t base = climb_row(anchor, t.base, climb, known);
    row = {.kind = Climb::Kind::kChain, .a = base, .c = t.output};
    row.b = climb_row(anchor, t.step, climb, known);
    row.holes = climb.rows[base].holes |
                (climb.rows[row.b].holes & ~(1u << t.output));
  } else if (t.kind == TermKind::kContext ||
             t.kind == TermKind::kTranspose) {
    const std::uint32_t base = climb_row(anchor, t.base, climb, known);
    row.a = static_cast<std::uint32_t>(climb.list.size());
    climb.list.push_back(base);
    row.b = row.a + 1;
    row.holes = climb.rows[base].holes;
  } else if (t.kind == TermKind::kHole) {
    row = {.kind = Climb::Kind::kHole, .c = t.output};
    row.holes = 1u << t.output;
  }
  climb.rows.push_back(row);
  return known[id] = static_cast<std::uint32_t>(climb.rows.size() - 1);
}

// --- Report --------------------------------------------------------------------

Report::Variable Emitter::report_variable(VariableId id) {
  using Kind = Report::Variable::Kind;
  Report::Variable out;
  const pattern::Variable& variable = pattern()[id];
  const std::uint32_t depth = prepared_.analysis.variables[id.index()];
  if (depth == pattern::kUnreached) return out;
  out.depth = depth;
  if (variable.kind == VariableKind::kNode) {
    out.kind = Kind::kNode;
    for (std::size_t i = 0; i < pattern().nodes().size(); ++i) {
      const auto& tags = pattern().nodes()[i].tags;
      const bool tagged = std::ranges::find(tags, id) != tags.end();
      if (tagged && node_regs_[i] != kNone) out.regs.push_back(node_regs_[i]);
    }
    return out;
  }
  if (const auto& certain = variable_certain_[id.index()]) {
    out.kind = certain->transposed ? Kind::kReversed : Kind::kPlain;
    out.regs = {certain->reg};
    return out;
  }
  if (variable_regs_[id.index()] == kNone) {
    if (depth > 0) out.kind = Kind::kVariable;  // an empty list
    return out;
  }
  out.regs = {variable_regs_[id.index()]};
  switch (variable.kind) {
    case VariableKind::kScalar: out.kind = Kind::kScalar; break;
    case VariableKind::kList: out.kind = Kind::kRest; break;
    default: out.kind = Kind::kVariable;
  }
  return out;
}

void Emitter::report(Report& report) {
  for (std::size_t i = 0; i < pattern().variables().size(); ++i) {
    report.variables.push_back(report_variable(VariableId(i)));
  }
  report.nodes = node_regs_;
  report.results = results_;
}

}  // namespace ruleengine::match
