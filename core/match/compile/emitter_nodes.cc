#include <string>

#include "core/match/compile/emitter.h"

// Nodes: tests of the node itself, and its inputs.
namespace ruleengine::match {

void Emitter::output(TermId id, Reg value) {
  const Term& t = pattern()[id];
  const std::size_t n = t.node.index();
  if (node_certain_[n] && !head_done_[n]) {
    add({.op = Do::kSameNode,
         .a = value,
         .c = t.output,
         .d = node_reg(t.node)});
    facts(id, {value});
    return;
  }
  if (head_done_[n]) {
    head_done_[n] = false;
    tail(id);
    return;
  }
  const bool once = prepared_.analysis.nodes[n].ways == 1;
  if (!node_touched_[n] && (main() || once)) {
    head(id, value);
    tail(id);
    return;
  }
  const NodePattern& p = pattern()[t.node];
  if (node_blocks_[n] == kNone) {
    node_touched_[n] = true;
    const std::uint32_t body = block([&] {
      head_tests(id);
      tail(id);
    });
    node_blocks_[n] = body;
  }
  const bool consumed = prepared_.analysis.nodes[n].consumed;
  add({.op = Do::kEnterNode,
       .a = value,
       .b = out_.op(p),
       .c = t.output,
       .d = node_reg(t.node),
       .e = consumed ? kMarkConsumed : 0,
       .f = node_blocks_[n]});
  if (outputs_[n].size() > 1) facts(id, {value});
}

void Emitter::head(TermId id, Reg value) {
  const Term& t = pattern()[id];
  const NodePattern& p = pattern()[t.node];
  const std::size_t n = t.node.index();
  const bool consumed = prepared_.analysis.nodes[n].consumed;
  add({.op = Do::kNode,
       .a = value,
       .b = out_.op(p),
       .c = t.output,
       .d = node_reg(t.node),
       .e = consumed ? kMarkConsumed : 0});
  node_touched_[n] = true;
  if (main()) node_certain_[n] = true;
  head_tests(id);
}

void Emitter::head_tests(TermId id) {
  const Term& t = pattern()[id];
  const NodePattern& p = pattern()[t.node];
  const std::size_t n = t.node.index();
  const Reg node = node_reg(t.node);
  if (!late_differ_) differ(t.node, 0);
  std::vector<std::string> mentioned;
  for (const AttributePattern& a : p.attributes) {
    mentioned.push_back(a.name);
    if (a.kind == AttributePattern::Kind::kVariable ||
        a.kind == AttributePattern::Kind::kAny) {
      continue;
    }
    add({.op = Do::kLiteral, .a = node, .b = out_.literal(a)});
  }
  if (!p.open_attributes) {
    add({.op = Do::kPlain,
         .a = node,
         .b = out_.name_list(std::move(mentioned))});
  }
  if (!prepared_.analysis.nodes[n].consumed) return;
  if (!p.open_outputs) {
    add({.op = Do::kUnread, .a = node, .b = p.output_count});
  }
  // A node that is, or may be, a result may have other readers. (With a single
  // result every other node is further down.)
  const bool single = pattern().results().size() == 1;
  for (TermId result : pattern().results()) {
    for (const Top& top : tops(pattern(), result)) {
      const NodePattern& other = pattern()[top.node];
      if (top.node == t.node || (!single && other.shares_op(p))) {
        return;
      }
    }
  }
  // In a shared block it is unknown which of several outputs is entered.
  if (outputs_[n].size() > 1 && !main()) return;
  add({.op = Do::kClosed, .a = node, .b = t.output, .c = future(id)});
}

// The producers of two results differ. A failure because of a result from
// `from` on is recorded: another choice there may free the node.
void Emitter::differ(NodePatternId id, std::uint32_t from) {
  if (!prepared_.top[id.index()]) return;
  for (std::uint32_t r = 0; r < pattern().results().size(); ++r) {
    for (const Top& top : tops(pattern(), pattern().results()[r])) {
      const std::size_t other = top.node.index();
      if (top.node == id || !prepared_.top[other] || !node_touched_[other]) {
        continue;
      }
      add({.op = Do::kDiffer,
           .a = node_reg(id),
           .b = node_reg(top.node),
           .c = r >= from});
    }
  }
}

void Emitter::tail(TermId id) {
  const Term& t = pattern()[id];
  const NodePattern& p = pattern()[t.node];
  const Reg node = node_reg(t.node);
  for (const AttributePattern& a : p.attributes) {
    if (a.kind != AttributePattern::Kind::kVariable) continue;
    add({.op = Do::kScalar,
         .a = node,
         .b = out_.name(a.name),
         .c = scalar_reg(a.variable)});
  }
  const bool several = node_blocks_[t.node.index()] == kNone && !main() &&
                       outputs_[t.node.index()].size() > 1 &&
                       prepared_.analysis.nodes[t.node.index()].ways > 1;
  if (!several && !prepared_.facts[id.index()].empty()) {
    const Reg value = new_reg(depth(t.node));
    add({.op = Do::kOutput, .a = node, .b = t.output, .c = value});
    facts(id, {value});
  }
  inputs(t.node);
}

void Emitter::inputs(NodePatternId id) {
  const NodePattern& p = pattern()[id];
  const auto& orders = prepared_.permutations[id.index()];
  const std::size_t written = written_inputs(pattern(), p);
  const bool tail = has_rest(pattern(), p);
  bool sizes_differ = false;
  for (const auto& order : orders) {
    sizes_differ |= order.size() != orders[0].size();
  }
  const std::uint32_t operand = out_.inputs({.orders = orders,
                                             .open = p.open_inputs || tail,
                                             .by_op = swaps_by_op(p)});
  Reg which = kNone;
  const bool listed = tail && pattern()[p.inputs.back()].variable;
  if (sizes_differ || (listed && orders.size() > 1)) {
    which = new_reg(depth(id));
  }
  const Reg first = new_reg(depth(id), static_cast<std::uint32_t>(written));
  add({.op = Do::kInputs,
       .a = node_reg(id),
       .b = operand,
       .c = first,
       .d = which});
  if (listed) rest(id, operand, which);
  if (sizes_differ) {
    inputs_by_size(id, first, which, operand);
  } else {
    input_terms(id, first, orders[0].size());
  }
}

void Emitter::inputs_by_size(NodePatternId id, Reg first, Reg which,
                             std::uint32_t operand) {
  std::vector<std::uint32_t> blocks;
  // A shared subpattern in several sizes is named at several places.
  for (const auto& order : prepared_.permutations[id.index()]) {
    if (blocks.size() <= order.size()) blocks.resize(order.size() + 1, kNone);
    std::uint32_t& of_size = blocks[order.size()];
    if (of_size != kNone) continue;
    of_size = block([&] {
      for (std::size_t i = 0; i < order.size(); ++i) {
        term(pattern()[id].inputs[i], first + static_cast<Reg>(i));
      }
    });
  }
  add({.op = Do::kBySize,
       .a = which,
       .b = operand,
       .c = out_.block_list(std::move(blocks))});
}

void Emitter::input_terms(NodePatternId id, Reg first, std::size_t count) {
  const auto& terms = pattern()[id].inputs;
  std::vector<Done> done;
  for (const bool only_prunes : {true, false}) {
    for (std::size_t i = 0; i < count; ++i) {
      const Reg reg = first + static_cast<Reg>(i);
      const Axes place{id, i};
      const Axes* const axes = takes_axes(prepared_, id, i) ? &place : nullptr;
      if (only_prunes) {
        done.push_back(precheck(terms[i], reg, axes));
      } else if (!done[i]) {
        term(terms[i], reg, axes);
      }
    }
  }
}

void Emitter::rest(NodePatternId id, std::uint32_t operand, Reg which) {
  const VariableId variable = pattern()[pattern()[id].inputs.back()].variable;
  add({.op = Do::kRest,
       .a = variable_reg(variable),
       .b = operand,
       .c = node_reg(id),
       .f = which});
}

}  // namespace ruleengine::match
