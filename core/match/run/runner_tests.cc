#include <algorithm>

#include "core/ir/model.h"
#include "core/match/run/runner.h"
#include "core/ops/op_facts.h"

// The instructions that test, bind and choose.
namespace ruleengine::match {

Runner::Outcome Runner::execute(const Instr& i) {
  switch (i.op) {
    case Do::kEnterNode:
      return enter_node(i);
    case Do::kEnter:
      return enter_term(i);
    case Do::kInputs:
      return inputs(i, 0);
    case Do::kBySize: {
      const Inputs& operand = code_.inputs[i.b];
      call(code_.block_lists[i.c][operand.orders[get(i.a)].size()]);
      return Outcome::kJump;
    }
    case Do::kEither:
      return either(i, 0);
    case Do::kMany:
      push_return(pc_, false);
      return chain(i.b, value(i.a));
    case Do::kNextStep:
      return chain(i.a, value(code_.chains[i.a].hole));
    case Do::kFind:
      return find(i);
    case Do::kDeferFact:
      return defer_fact(i);
    case Do::kDrain:
      return drain(i);
    case Do::kNevers:
      return nevers_hold() ? Outcome::kNext : Outcome::kFail;
    case Do::kAccept:
      if (accept(i.a)) finish_rules(segment_);
      return Outcome::kFail;  // continue with the other rules
    case Do::kReturn:
      return leave();
    case Do::kFits:
      return Outcome::kStop;
    default:
      return test(i);
  }
}

Runner::Outcome Runner::test(const Instr& i) {
  const bool node = i.op <= Do::kClosed;
  const bool holds = node                ? test_node(i)
                     : i.op <= Do::kFact ? test_value(i)
                                         : act(i);
  return holds ? Outcome::kNext : Outcome::kFail;
}

bool Runner::test_node(const Instr& i) {
  switch (i.op) {
    case Do::kNode:
      return bind_node(value(i.a), i.b, i.c, i.d, i.e);
    case Do::kSameNode:
      return value(i.a) && value(i.a) == graph_.output(node(i.d), i.c);
    case Do::kDiffer:
    case Do::kDifferValue:
      if (get(i.a) >= kNoValue || get(i.a) != get(i.b)) return true;
      if (i.c != 0) ++blocked_;
      return false;
    case Do::kLiteral: {
      const AttributePattern& wanted = code_.literals[i.b];
      const ir::Attribute* found = view_.attribute(node(i.a), wanted.name);
      return is_literal(view_, node(i.a), wanted, found);
    }
    case Do::kScalar:
      return scalar(i.c,
                    Scalar::of(view_.attribute(node(i.a), code_.names[i.b])));
    case Do::kPlain:
      return plain(node(i.a), code_.name_lists[i.b]);
    case Do::kUnread:
      return unread(node(i.a), i.b);
    case Do::kClosed:
      if (closed(i)) return true;
      ++blocked_;
      return false;
    default:
      return false;
  }
}

bool Runner::test_value(const Instr& i) {
  switch (i.op) {
    case Do::kPresent:
      return get(i.a) < kNoValue;
    case Do::kAbsent:
      return get(i.a) == kNoValue;
    case Do::kNumber: {
      const auto& [scalar, numbers] = code_.numbers[i.b];
      return checker_.numbers(value(i.a), numbers, scalar);
    }
    case Do::kAxes: {
      const auto& [scalar, numbers] = code_.numbers[i.b];
      const ir::ValueId found = value(i.a);
      return checker_.numbers(found, numbers, scalar) ||
             view_.same_axes(node(i.c), i.d, found, numbers, scalar);
    }
    case Do::kOps:
      return in_set(value(i.a), i.b);
    case Do::kMatrix:
      return checker_.is_matrix_constant(value(i.a));
    case Do::kSame:
      return get(i.a) < kNoValue &&
             checker_.same(value(i.b), i.d != 0, value(i.a), i.c != 0);
    case Do::kBind:
      return bind(i.a, value(i.b), i.c != 0);
    case Do::kFact:
      return fact(i.b, value(i.a), i.c != 0);
    default:
      return false;
  }
}

// Instructions that write registers or record something, but do not test.
bool Runner::act(const Instr& i) {
  switch (i.op) {
    case Do::kMove:
      set(i.b, get(i.a));
      return true;
    case Do::kOutput: {
      const ir::ValueId out = graph_.output(node(i.a), i.b);
      set(i.c, out ? out.index() : kNone);
      return true;
    }
    case Do::kRest:
      return rest(i);
    case Do::kDefer: {
      const std::uint32_t value = i.b == kNone ? kNone : get(i.b);
      if (value != kNoValue) {
        pending_.push_back({.row = i.a, .value = value, .frames = now_});
      }
      return true;
    }
    case Do::kTable:
      open_table(i.a);
      return true;
    case Do::kLevel:
      set(i.a, static_cast<std::uint32_t>(choices_.size()));
      return true;
    case Do::kCut:
      if (attempts_.size() <= i.a) attempts_.resize(i.a + 1);
      attempts_[i.a] = {false, blocked_};
      return choose(ChoiceKind::kCut, i.a, get(i.b));
    case Do::kPlaced:
      attempts_[i.a].placed = true;
      return true;
    default:
      return false;
  }
}

// --- Nodes ------------------------------------------------------------------

bool Runner::bind_node(ir::ValueId value, std::uint32_t op,
                       std::uint32_t output, Reg reg, std::uint32_t marks) {
  const ir::NodeId node = graph_.producer(value);
  if (!node || !is_op(node, op) || graph_.value(value).output_index != output ||
      graph_.node(node).removed || !view_.readable(node)) {
    return false;
  }
  set(reg, node.index());
  matched_.push_back(node);
  ++times_matched_[node.index()];
  if ((marks & kMarkConsumed) != 0) {
    consumed_.push_back(node);
    ++times_consumed_[node.index()];
  }
  return true;
}

Runner::Outcome Runner::enter_node(const Instr& i) {
  const std::uint32_t known = get(i.d);
  if (known != kNone) {
    // A later result that is an absent output.
    if (get(i.a) == kNone) return Outcome::kNext;
    const ir::ValueId wanted = graph_.output(ir::NodeId(known), i.c);
    return value(i.a) && value(i.a) == wanted ? Outcome::kNext : Outcome::kFail;
  }
  if (!bind_node(value(i.a), i.b, i.c, i.d, i.e)) return Outcome::kFail;
  call(i.f);
  return Outcome::kJump;
}

Runner::Outcome Runner::enter_term(const Instr& i) {
  if (get(i.a) != kNone) {
    return get(i.a) == get(i.b) ? Outcome::kNext : Outcome::kFail;
  }
  set(i.a, get(i.b));
  if (i.c == kNone) return Outcome::kNext;
  call(i.c);
  return Outcome::kJump;
}

bool Runner::plain(ir::NodeId node, const std::vector<std::string>& mentioned) {
  return std::ranges::all_of(view_.written(node), [&](const auto& a) {
    return std::ranges::find(mentioned, a.name) != mentioned.end() ||
           view_.may_be_unnamed(node, a);
  });
}

bool Runner::unread(ir::NodeId node, std::uint32_t from) const {
  const auto outputs = graph_.outputs(node);
  for (std::size_t i = from; i < outputs.size(); ++i) {
    if (outputs[i] && graph_.reader_count(outputs[i]) > 0) return false;
  }
  return true;
}

bool Runner::closed(const Instr& i) const {
  const ir::ValueId value = graph_.output(node(i.a), i.b);
  // Under `never` nothing is consumed, so other readers do not matter.
  if (!value || nested_ > 0) return true;
  if (graph_.value(value).block_output_count > 0) return false;
  const OpSet& later = code_.op_sets[i.c];
  int looked_at = 0;
  for (ir::OperandId u = graph_.first_use(value); u; u = graph_.next_use(u)) {
    if (++looked_at > 64 || later.all) break;  // accept() checks all
    const ir::NodeId user = graph_.operand(u).user;
    if (times_consumed_[user.index()] == 0 &&
        !std::ranges::binary_search(later.ops, op_of(user))) {
      return false;
    }
  }
  return true;
}

bool Runner::is_op(ir::NodeId node, std::uint32_t op) const {
  if ((op & kOpSet) == 0) return op_of(node) == op;
  return std::ranges::binary_search(code_.op_sets[op & ~kOpSet].ops,
                                    op_of(node));
}

bool Runner::in_set(ir::ValueId value, std::uint32_t set) const {
  const OpSet& wanted = code_.op_sets[set];
  if (!value) return wanted.absent;
  const ir::NodeId node = graph_.producer(value);
  return node && std::ranges::binary_search(wanted.ops, op_of(node));
}

// --- Variables and facts ----------------------------------------------------

bool Runner::bind(Reg variable, ir::ValueId value, bool transposed) {
  if (!value) return false;
  const std::uint32_t known = get(variable);
  if (known == kNone) {
    set(variable, value.index() | (transposed ? kTransposed : 0));
    return true;
  }
  return checker_.same(value_of(known), (known & kTransposed) != 0, value,
                       transposed);
}

bool Runner::scalar(Reg reg, const Scalar& found) {
  const std::uint32_t at =
      frames_[now_[reg_depth(reg)]].scalars + reg_index(reg);
  const Scalar before = scalars_[at];
  if (!checker_.unify(scalars_[at], found)) return false;
  if (before.kind != scalars_[at].kind) {
    scalar_trail_.push_back({at, before});
  }
  return true;
}

bool Runner::fact(std::uint32_t fact, ir::ValueId value, bool transposed) {
  if (!value) return true;  // facts hold for an absent value
  return checker_.fact(code_.facts[fact], value, transposed,
                       [&](VariableId letter, ir::Dim dim) {
                         return scalar(letter.index(), Scalar::of(dim));
                       });
}

std::vector<ir::ValueId> Runner::rest_values(std::uint32_t node,
                                             std::uint32_t inputs,
                                             std::uint32_t order) {
  std::vector<ir::ValueId> out;
  const ir::NodeId id(node);
  const auto& slots = code_.inputs[inputs].orders[order];
  for (std::size_t i = 0; i < view_.input_count(id); ++i) {
    if (std::ranges::find(slots, i) == slots.end()) {
      out.push_back(view_.input(id, i));
    }
  }
  return out;
}

bool Runner::rest(const Instr& i) {
  const std::uint32_t order = i.f == kNone ? 0 : get(i.f);
  if (get(i.a) != kNone) {
    return rest_values(get(i.a), get(i.a + 1), get(i.a + 2)) ==
           rest_values(get(i.c), i.b, order);
  }
  set(i.a, get(i.c));
  set(i.a + 1, i.b);
  set(i.a + 2, order);
  return true;
}

// --- Choices ----------------------------------------------------------------

bool Runner::order_fits(ir::NodeId node, const Inputs& inputs,
                        const std::vector<std::uint32_t>& order) {
  if (inputs.open) return true;
  const bool upgraded = view_.upgraded(graph_.node(node).op);
  const auto operands = graph_.inputs(node);
  const std::size_t count =
      upgraded ? view_.input_count(node) : operands.size();
  for (std::size_t i = 0; i < count; ++i) {
    const ir::ValueId v = upgraded ? view_.input(node, i) : operands[i].value;
    if (v && std::ranges::find(order, i) == order.end()) return false;
  }
  return true;
}

std::size_t Runner::orders_for(const ir::Op& op, const Inputs& inputs) {
  const bool all = !inputs.by_op || ops::is_commutative(op.domain, op.type);
  return all ? inputs.orders.size() : 1;
}

Runner::Outcome Runner::inputs(const Instr& i, std::uint32_t from) {
  const Inputs& operand = code_.inputs[i.b];
  const ir::NodeId id = node(i.a);
  const std::size_t orders = orders_for(graph_.op(id), operand);
  for (std::uint32_t k = from; k < orders; ++k) {
    const auto& order = operand.orders[k];
    if (!order_fits(id, operand, order)) continue;
    if (k + 1 < orders && !choose(ChoiceKind::kOrder, k + 1)) {
      return Outcome::kFail;
    }
    load(i, id, order);
    if (i.d != kNone) set(i.d, k);
    return Outcome::kNext;
  }
  return Outcome::kFail;
}

void Runner::load(const Instr& i, ir::NodeId id,
                  const std::vector<std::uint32_t>& order) {
  const bool upgraded = view_.upgraded(graph_.node(id).op);
  const std::uint32_t at = index(i.c);
  for (std::uint32_t n = 0; n < order.size(); ++n) {
    trail_.push_back({at + n, registers_[at + n]});
    registers_[at + n] =
        raw(upgraded ? view_.input(id, order[n]) : graph_.input(id, order[n]));
  }
}

Runner::Outcome Runner::either(const Instr& i, std::uint32_t from) {
  const auto& all = code_.branches[i.b].alternatives;
  const ir::ValueId here = value(i.a);
  const auto next = [&](std::uint32_t k) {
    while (k < all.size() && all[k].ops != kNone && !in_set(here, all[k].ops)) {
      ++k;
    }
    return k;
  };
  const std::uint32_t k = next(from);
  if (k == all.size()) return Outcome::kFail;
  const std::uint32_t other = next(k + 1);
  if (other < all.size() && !choose(ChoiceKind::kAlternative, other)) {
    return Outcome::kFail;
  }
  call(all[k].block);
  return Outcome::kJump;
}

std::uint32_t Runner::new_frame(std::uint32_t chain) {
  const std::uint32_t below = code_.chains[chain].depth, depth = below + 1;
  frames_.push_back({depth, static_cast<std::uint32_t>(registers_.size()),
                     static_cast<std::uint32_t>(scalars_.size()), now_[below],
                     chain});
  registers_.resize(registers_.size() + code_.frame_registers[depth], kNone);
  scalars_.resize(scalars_.size() + code_.frame_scalars[depth]);
  return static_cast<std::uint32_t>(frames_.size() - 1);
}

// The chain's return address is on top: one more step at `value`, or the base.
Runner::Outcome Runner::chain(std::uint32_t id, ir::ValueId value) {
  const Chain& chain = code_.chains[id];
  now_ = returns_[return_].frames;
  if (!value || (chain.step_ops != kNone && !in_set(value, chain.step_ops))) {
    return chain_base(id, value);
  }
  const bool base = chain.base_ops == kNone || in_set(value, chain.base_ops);
  if (base && !choose(ChoiceKind::kBase, id, raw(value))) {
    return Outcome::kFail;
  }
  now_[chain.depth + 1] = new_frame(id);
  set(chain.step_value, value.index());
  push_return(code_.next_steps[id], true);
  pc_ = code_.blocks[chain.step];
  return Outcome::kJump;
}

Runner::Outcome Runner::chain_base(std::uint32_t id, ir::ValueId value) {
  const Chain& chain = code_.chains[id];
  now_ = returns_[return_].frames;
  set(chain.base_value, raw(value));
  pc_ = code_.blocks[chain.base];
  return Outcome::kJump;
}

}  // namespace ruleengine::match
