#include <algorithm>

#include "core/match/compile/emitter.h"

// How later results and conditions are searched, and how a match is read.
namespace ruleengine::match {

// --- Searches ---------------------------------------------------------------

std::uint32_t Emitter::search(const Place& place, TermId term, bool unmatched) {
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
  const bool bound =
      anchor.bound.bound(id) || (t.variable && anchor.bound.bound(t.variable));
  const Climb::Row row =
      bound ? bound_row(id) : unbound_row(anchor, id, climb, known);
  climb.rows.push_back(row);
  return known[id] = static_cast<std::uint32_t>(climb.rows.size() - 1);
}

// Where the climb starts.
Climb::Row Emitter::bound_row(TermId id) {
  const Term& t = pattern()[id];
  if (t.kind == TermKind::kOutput) {
    return {.kind = Climb::Kind::kOutput, .a = node_reg(t.node), .b = t.output};
  }
  Reg reg = kNone;
  if (t.kind == TermKind::kVariable) {
    const auto& certain = variable_certain_[t.variable.index()];
    reg = certain ? certain->reg : variable_reg(t.variable);
  } else {
    reg = t.kind == TermKind::kHole ? hole_reg(t.output, depth(id))
                                    : term_reg(id);
  }
  return {.kind = Climb::Kind::kRegister, .a = reg};
}

Climb::Row Emitter::unbound_row(const Anchor& anchor, TermId id, Climb& climb,
                                std::map<TermId, std::uint32_t>& known) {
  const Term& t = pattern()[id];
  const auto below = [&](TermId part) {
    return climb_row(anchor, part, climb, known);
  };
  switch (t.kind) {
    case TermKind::kOutput:
      return node_row(anchor, id, climb, known);
    case TermKind::kEither: {
      std::vector<std::uint32_t> parts;
      for (const Alternative& a : t.alternatives)
        parts.push_back(below(a.term));
      return union_row(parts, climb);
    }
    case TermKind::kMany: {
      const std::uint32_t base = below(t.base), step = below(t.step);
      return {.kind = Climb::Kind::kChain,
              .a = base,
              .b = step,
              .c = t.output,
              .holes = climb.rows[base].holes |
                       (climb.rows[step].holes & ~(1u << t.output))};
    }
    case TermKind::kContext:
    case TermKind::kTranspose:
      return union_row({below(t.base)}, climb);
    case TermKind::kHole:
      return {
          .kind = Climb::Kind::kHole, .c = t.output, .holes = 1u << t.output};
    default:
      return union_row({}, climb);
  }
}

Climb::Row Emitter::node_row(const Anchor& anchor, TermId id, Climb& climb,
                             std::map<TermId, std::uint32_t>& known) {
  const Term& t = pattern()[id];
  const NodePattern& p = pattern()[t.node];
  if (p.inputs.empty()) return union_row({}, climb);
  const std::size_t input = climbed_input(prepared_, anchor, t.node);
  Climb::Row row{.kind = Climb::Kind::kUp,
                 .a = climb_row(anchor, p.inputs[input], climb, known),
                 .b = 0,
                 .c = t.output};
  row.holes = climb.rows[row.a].holes;
  for (std::uint32_t s : slots_of(prepared_, t.node, input)) {
    row.slots |= slot_bit(s);
  }
  std::vector<std::uint32_t> parts;
  for (const std::uint32_t op : out_.ops(p)) {
    row.b = op;
    if (p.op_class == nullptr) return row;
    parts.push_back(static_cast<std::uint32_t>(climb.rows.size()));
    climb.rows.push_back(row);
  }
  return union_row(parts, climb);
}

Climb::Row Emitter::union_row(const std::vector<std::uint32_t>& parts,
                              Climb& climb) {
  Climb::Row row{.kind = Climb::Kind::kUnion};
  row.a = static_cast<std::uint32_t>(climb.list.size());
  climb.list.insert(climb.list.end(), parts.begin(), parts.end());
  row.b = static_cast<std::uint32_t>(climb.list.size());
  for (std::uint32_t part : parts) row.holes |= climb.rows[part].holes;
  return row;
}

// --- Report -----------------------------------------------------------------

Report::Variable Emitter::report_variable(VariableId id) {
  using Kind = Report::Variable::Kind;
  Report::Variable out;
  const pattern::Variable& variable = pattern()[id];
  const std::uint32_t depth = prepared_.analysis.variables[id.index()];
  if (depth == pattern::kUnreached) return out;
  if (variable.kind == VariableKind::kSteps) return report_steps(id);
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
    case VariableKind::kScalar:
      out.kind = Kind::kScalar;
      break;
    case VariableKind::kList:
      out.kind = Kind::kRest;
      break;
    default:
      out.kind = Kind::kVariable;
  }
  return out;
}

Report::Variable Emitter::report_steps(VariableId id) {
  Report::Variable out;
  out.kind = Report::Variable::Kind::kSteps;
  out.depth = prepared_.analysis.variables[id.index()];
  for (std::size_t i = 0; i < pattern().terms().size(); ++i) {
    const auto& tags = pattern().terms()[i].tags;
    if (std::ranges::find(tags, id) == tags.end()) continue;
    out.chains.insert(out.chains.end(), chains_[i].begin(), chains_[i].end());
  }
  for (VariableId field : pattern()[id].fields) {
    out.fields.push_back(field.index());
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
