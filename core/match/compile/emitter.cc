#include "core/match/compile/emitter.h"

#include <algorithm>

// Terms, nodes and facts.
namespace ruleengine::match {

Emitter::Emitter(Assembler& out, const Prepared& prepared)
    : out_(out), prepared_(prepared), sequences_(1) {
  const std::size_t nodes = pattern().nodes().size();
  const std::size_t terms = pattern().terms().size();
  const std::size_t variables = pattern().variables().size();
  node_regs_.assign(nodes, kNone);
  term_regs_.assign(terms, kNone);
  variable_regs_.assign(variables, kNone);
  node_ops_.resize(nodes);
  node_certain_.resize(nodes);
  node_touched_.resize(nodes);
  head_done_.resize(nodes);
  variable_touched_.resize(variables);
  variable_certain_.resize(variables);
  node_blocks_.assign(nodes, kNone);
  term_blocks_.assign(terms, kNone);
  chains_.resize(terms);
  registers_.assign(pattern::kMaxChainNesting + 2, 0);
  scalars_ = registers_;
  outputs_.resize(nodes);
  for (std::size_t i = 0; i < terms; ++i) {
    const Term& t = pattern().terms()[i];
    const bool reached =
        prepared.analysis.terms[i].depth != pattern::kUnreached;
    if (t.kind == TermKind::kOutput && reached) {
      outputs_[t.node.index()].push_back(TermId(i));
    }
  }
  find_late_subjects();
  find_op_sets();
  find_dominators();
}

// --- Registers --------------------------------------------------------------

std::uint32_t Emitter::depth(TermId term) const {
  return prepared_.analysis.terms[term.index()].depth;
}

std::uint32_t Emitter::depth(NodePatternId node) const {
  return prepared_.analysis.nodes[node.index()].depth;
}

Reg Emitter::new_reg(std::uint32_t depth, std::uint32_t count) {
  const Reg reg = make_reg(depth, registers_[depth]);
  registers_[depth] += count;
  return reg;
}

Reg Emitter::node_reg(NodePatternId node) {
  Reg& reg = node_regs_[node.index()];
  if (reg == kNone) reg = new_reg(depth(node));
  return reg;
}

Reg Emitter::term_reg(TermId term) {
  Reg& reg = term_regs_[term.index()];
  if (reg == kNone) reg = new_reg(depth(term));
  return reg;
}

Reg Emitter::variable_reg(VariableId variable) {
  Reg& reg = variable_regs_[variable.index()];
  if (reg == kNone) {
    const bool list = pattern()[variable].kind == VariableKind::kList;
    reg = new_reg(prepared_.analysis.variables[variable.index()], list ? 3 : 1);
  }
  return reg;
}

Reg Emitter::scalar_reg(VariableId variable) {
  Reg& reg = variable_regs_[variable.index()];
  if (reg == kNone) {
    const std::uint32_t depth = prepared_.analysis.variables[variable.index()];
    reg = make_reg(depth, scalars_[depth]++);
  }
  return reg;
}

Reg Emitter::hole_reg(std::uint32_t hole, std::uint32_t depth) {
  const auto [at, is_new] = hole_regs_.try_emplace({hole, depth}, kNone);
  if (is_new) at->second = new_reg(depth);
  return at->second;
}

// --- Prechecks --------------------------------------------------------------

Emitter::Done Emitter::precheck(TermId id, Reg value, const Axes* axes) {
  const Term& t = pattern()[id];
  switch (t.kind) {
    case TermKind::kAny:
      add({.op = Do::kPresent, .a = value});
      return true;
    case TermKind::kAbsent:
      add({.op = Do::kAbsent, .a = value});
      return true;
    case TermKind::kNumbers:
      numbers(id, value, axes);
      return true;
    case TermKind::kVariable:
      if (const auto& known = variable_certain_[t.variable.index()]) {
        add({.op = Do::kSame,
             .a = value,
             .b = known->reg,
             .d = known->transposed});
        return true;
      }
      return false;
    case TermKind::kOutput:
      return precheck_output(id, value);
    case TermKind::kEither:
    case TermKind::kMany:
      if (const auto& set = op_sets_[id.index()]) {
        add({.op = Do::kOps, .a = value, .b = out_.op_set(*set)});
      }
      return false;
    case TermKind::kContext:
      precheck(t.base, value);
      return false;
    default:
      return false;
  }
}

Emitter::Done Emitter::precheck_output(TermId id, Reg value) {
  const NodePatternId node = pattern()[id].node;
  if (node_certain_[node.index()]) {
    output(id, value);
    return true;
  }
  // Only a node that is named at one place may begin early: a shared node must
  // be matched in full where the oracle reaches it first.
  const bool once = prepared_.analysis.nodes[node.index()].ways == 1;
  if (!node_touched_[node.index()] && once) {
    head(id, value);
    head_done_[node.index()] = true;
  } else {
    add({.op = Do::kOps, .a = value, .b = out_.op_set(*op_sets_[id.index()])});
  }
  return false;
}

// --- Terms ------------------------------------------------------------------

void Emitter::term(TermId id, Reg value, const Axes* axes) {
  const Term& t = pattern()[id];
  switch (t.kind) {
    case TermKind::kAny:
    case TermKind::kAbsent:
    case TermKind::kNumbers:
      precheck(id, value, axes);
      break;
    case TermKind::kVariable:
      variable(t.variable, id, value, false);
      break;
    case TermKind::kOutput:
      output(id, value);
      break;
    case TermKind::kEither:
    case TermKind::kMany:
      compound(id, value, axes);
      break;
    case TermKind::kHole: {
      const Reg hole = hole_reg(t.output, depth(id));
      add({.op = Do::kPresent, .a = value});
      add({.op = Do::kEnter, .a = hole, .b = value, .c = kNone});
      facts(id, {value});
      break;
    }
    case TermKind::kTranspose:
      add({.op = Do::kMatrix, .a = value});
      if (late_terms_[id.index()]) {
        add({.op = Do::kMove, .a = value, .b = term_reg(id)});
      }
      facts(id, {value});
      variable(pattern()[t.base].variable, t.base, value, true);
      break;
    case TermKind::kContext:
      term(t.base, value);
      break;
    case TermKind::kNever:
      never(id, value);
      break;
    case TermKind::kRest:
      break;
  }
}

void Emitter::numbers(TermId id, Reg value, const Axes* axes) {
  const Term& t = pattern()[id];
  Instr instr{
      .op = Do::kNumber, .a = value, .b = out_.numbers({t.scalar, t.numbers})};
  if (axes != nullptr) {
    instr.op = Do::kAxes;
    instr.c = node_reg(axes->node);
    instr.d = prepared_.permutations[axes->node.index()][0][axes->input];
  }
  add(instr);
}

void Emitter::variable(VariableId id, TermId subject, Reg value,
                       bool transposed) {
  auto& certain = variable_certain_[id.index()];
  if (certain) {
    add({.op = Do::kSame,
         .a = value,
         .b = certain->reg,
         .c = transposed,
         .d = certain->transposed});
    return;
  }
  const bool first = !variable_touched_[id.index()];
  variable_touched_[id.index()] = true;
  if (first && main() && !late_variables_[id.index()]) {
    add({.op = Do::kPresent, .a = value});
    certain = Certain{value, transposed};
  } else {
    add({.op = Do::kBind, .a = variable_reg(id), .b = value, .c = transposed});
  }
  facts(subject, {value, transposed});
}

// --- Compound terms ---------------------------------------------------------

void Emitter::compound(TermId id, Reg value, const Axes* axes) {
  const bool shared =
      prepared_.analysis.terms[id.index()].ways > 1 || late_terms_[id.index()];
  const auto body = [&](Reg v) {
    if (pattern()[id].kind == TermKind::kEither)
      either(id, v, axes);
    else
      many(id, v);
  };
  if (!shared) {
    body(value);
    return;
  }
  const Reg own = term_reg(id);
  if (term_blocks_[id.index()] == kNone) {
    const std::uint32_t made = block([&] { body(own); });
    term_blocks_[id.index()] = made;
  }
  add({.op = Do::kEnter, .a = own, .b = value, .c = term_blocks_[id.index()]});
}

void Emitter::either(TermId id, Reg value, const Axes* axes) {
  facts(id, {value});
  if (!keeps_axes(prepared_, id)) axes = nullptr;
  const auto& alternatives = pattern()[id].alternatives;
  Branches branches;
  for (std::uint32_t i = 0; i < alternatives.size(); ++i) {
    const auto& set = op_sets_[alternatives[i].term.index()];
    const std::uint32_t body = block([&] { alternative(id, i, value, axes); });
    branches.alternatives.push_back({body, set ? out_.op_set(*set) : kNone});
  }
  add({.op = Do::kEither, .a = value, .b = out_.branches(std::move(branches))});
}

void Emitter::alternative(TermId id, std::uint32_t index, Reg value,
                          const Axes* axes) {
  const Alternative& chosen = pattern()[id].alternatives[index];
  term(chosen.term, value, axes);
  for (FactId fact : chosen.facts) late_fact(fact);
  for (std::uint32_t i = 0; i < chosen.conditions.size(); ++i) {
    const Term& t = pattern()[chosen.conditions[i]];
    add({.op = Do::kDefer,
         .a = static_cast<std::uint32_t>(later_.size()),
         .b = kNone});
    later_.push_back({t.kind == TermKind::kNever ? Deferred::Kind::kNever
                                                 : Deferred::Kind::kContext,
                      t.base,
                      {id, index, i, true}});
  }
}

void Emitter::many(TermId id, Reg value) {
  facts(id, {value});
  const Term& t = pattern()[id];
  Chain chain;
  chain.depth = depth(id);
  chain.hole = hole_reg(t.output, chain.depth + 1);
  chain.step_value = new_reg(chain.depth + 1);
  chain.base_value = new_reg(chain.depth);
  const auto& step_ops = op_sets_[t.step.index()];
  const auto& base_ops = op_sets_[t.base.index()];
  chain.step_ops = step_ops ? out_.op_set(*step_ops) : kNone;
  chain.base_ops = base_ops ? out_.op_set(*base_ops) : kNone;
  chain.step = block([&] { term(t.step, chain.step_value); });
  chain.base = block([&] { term(t.base, chain.base_value); });
  chains_[id.index()].push_back(out_.chain(chain));
  add({.op = Do::kMany, .a = value, .b = chains_[id.index()].back()});
}

void Emitter::never(TermId id, Reg value) {
  add({.op = Do::kDefer,
       .a = static_cast<std::uint32_t>(later_.size()),
       .b = value});
  later_.push_back({Deferred::Kind::kNeverAt, pattern()[id].base, {}});
}

// --- Facts ------------------------------------------------------------------

std::uint32_t Emitter::fact(FactId id) {
  Fact fact = pattern()[id];
  for (Fact::DimPattern& dim : fact.dims) {
    if (dim.letter) dim.letter = VariableId(scalar_reg(dim.letter));
  }
  return out_.fact(std::move(fact));
}

void Emitter::facts(TermId term, Certain value) {
  for (FactId id : prepared_.facts[term.index()]) {
    add({.op = Do::kFact,
         .a = value.reg,
         .b = fact(id),
         .c = value.transposed});
  }
}

void Emitter::late_fact(FactId id) {
  const TermId subject = pattern()[id].subject;
  const Term& t = pattern()[subject];
  Instr instr{.op = Do::kDeferFact, .b = fact(id)};
  using Subject = LateFact::Subject;
  if (t.kind == TermKind::kVariable) {
    instr.a = variable_reg(t.variable);
    instr.c = static_cast<std::uint32_t>(Subject::kVariable);
  } else if (t.kind == TermKind::kOutput) {
    instr.a = node_reg(t.node);
    instr.c = static_cast<std::uint32_t>(Subject::kNodeOutput);
    instr.d = t.output;
  } else if (t.kind == TermKind::kHole) {
    instr.a = hole_reg(t.output, depth(subject));
  } else {
    instr.a = term_reg(subject);
  }
  facts_deferred_ = true;
  add(instr);
}

}  // namespace ruleengine::match
