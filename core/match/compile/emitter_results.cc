#include <algorithm>

#include "core/match/compile/emitter.h"

// A rule from its first result to its last condition.
namespace ruleengine::match {

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
      const auto of_top = out_.ops(pattern()[top.node]);
      ops.insert(ops.end(), of_top.begin(), of_top.end());
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
      add({.op = Do::kOutput,
           .a = node_reg(t.node),
           .b = t.output,
           .c = value});
      facts(result, {value});
    } else {
      add({.op = Do::kFind,
           .a = value,
           .b = search({.index = i}, result, false)});
    }
    if (!cuts) differ_values(i, 0);
    if (bound) continue;
    // This distinguishes a candidate that fits but is taken from one that does
    // not fit.
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
    add({.op = Do::kDifferValue,
         .a = results_[result],
         .b = results_[j],
         .c = j >= from});
  }
}

// For each result the earliest other one such that neither it nor those in
// between depend on this one, apart from what the first result binds: when
// nothing fits here, other choices there do not help. kNone: there is none.
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
  const auto use = [&](VariableId v) {
    if (v && !variable_certain_[v.index()]) variables[v.index()] = true;
  };
  const auto use_letters = [&](const std::vector<FactId>& facts) {
    for (FactId fact : facts) {
      for (const auto& dim : pattern()[fact].dims) use(dim.letter);
    }
  };
  pattern::walk(pattern(), {root}, [&](TermId id) {
    const Term& t = pattern()[id];
    use(t.variable);
    use_letters(prepared_.facts[id.index()]);
    for (const Alternative& a : t.alternatives) use_letters(a.facts);
    if (t.kind == TermKind::kOutput) {
      if (node_certain_[t.node.index()]) return false;
      for (const auto& a : pattern()[t.node].attributes) use(a.variable);
    }
    terms[id.index()] = t.kind == TermKind::kOutput ||
                        t.kind == TermKind::kEither ||
                        t.kind == TermKind::kMany;
    return true;
  });
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
    later_.push_back({Deferred::Kind::kNever,
                      t.base,
                      {.index = i, .condition = true},
                      true});
  }
  if (later_.empty() && !facts_deferred_) return;
  // Compiled now that it is known what is certain; may defer more.
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

}  // namespace ruleengine::match
