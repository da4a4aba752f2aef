// Changes of ops: another op of the same signature, other orders of inputs, and
// ops without effect between two others.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/mutate/draft.h"
#include "core/ops/node_spec.h"

namespace ruleengine::mutate {
namespace {

using ir::ValueId;
using Ops = std::span<const std::string_view>;

constexpr std::string_view kBinary[] = {"Add", "Sub", "Mul",
                                        "Div", "Max", "Min"};
constexpr std::string_view kUnary[] = {"Relu", "Tanh", "Sigmoid", "Neg",
                                       "Abs",  "Exp",  "Erf",     "Softplus",
                                       "Sqrt", "Sin",  "Gelu",    "Identity"};
constexpr std::string_view kSoftmax[] = {"Softmax", "LogSoftmax", "Hardmax"};
constexpr std::string_view kLogic[] = {"And", "Or", "Xor"};
constexpr std::string_view kOrder[] = {"Less", "LessOrEqual", "Greater",
                                       "GreaterOrEqual", "Equal"};
constexpr std::string_view kReduce[] = {"ReduceSum", "ReduceMean", "ReduceMax",
                                        "ReduceMin", "ReduceProd"};
constexpr Ops kKin[] = {kBinary, kUnary, kSoftmax, kLogic, kOrder, kReduce};

bool change_op(Draft& draft, Dice& dice) {
  struct Found {
    ir::NodeId node;
    Ops kin;
  };
  std::vector<Found> found;
  for (const ir::NodeId node : draft.nodes()) {
    const ir::Op& op = draft.graph().op(node);
    for (const Ops kin : kKin) {
      const bool has =
          op.domain.empty() && std::ranges::count(kin, op.type) > 0;
      if (has) found.push_back({node, kin});
    }
  }
  const auto one = dice.pick(found);
  if (!one) return false;
  const std::string_view type = dice.choose(one->kin);
  if (type == draft.graph().op(one->node).type) return false;
  draft.set_op(one->node, type);
  return true;
}

bool swap_inputs(Draft& draft, Dice& dice) {
  auto nodes = draft.nodes();
  std::erase_if(nodes, [&](ir::NodeId node) {
    return draft.graph().inputs(node).size() < 2;
  });
  const auto node = dice.pick(nodes);
  if (!node) return false;
  const std::size_t count = draft.graph().inputs(*node).size();
  const Edge a{*node, dice.below(count)}, b{*node, dice.below(count)};
  const ValueId first = draft.input(a), second = draft.input(b);
  if (first == second || !first || !second) return false;
  draft.set_input(a, second);
  draft.set_input(b, first);
  return true;
}

ValueId turned(Draft& draft, ir::BlockId block, ValueId value,
               std::span<const std::int64_t> perm) {
  const ValueId inputs[] = {value};
  return draft.add_node("Transpose", block, inputs,
                        {{.name = "perm",
                          .kind = ir::AttributeKind::kInts,
                          .ints = draft.arena().copy(perm)}});
}

bool insert(Draft& draft, Dice& dice) {
  const auto edge = dice.pick(draft.edges());
  if (!edge) return false;
  const ValueId value = draft.input(*edge);
  const ir::BlockId block = draft.graph().node(edge->node).block;
  const ir::Type* const type = draft.type(value);
  const bool is_tensor = type != nullptr && type->is_tensor();
  const std::size_t rank = is_tensor && type->has_shape ? type->rank() : 0;
  const ValueId inputs[] = {value};
  ValueId out;
  if (rank > 1 && dice.chance(0.4)) {
    std::vector<std::int64_t> perm(rank), back(rank);
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = 0; i + 1 < rank; ++i) {
      std::swap(perm[i], perm[i + dice.below(rank - i)]);
    }
    for (std::size_t i = 0; i < rank; ++i) {
      back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    }
    const ValueId middle = turned(draft, block, value, perm);
    out = turned(draft, block, middle, dice.chance(0.8) ? back : perm);
  } else if (is_tensor && dice.chance(0.4)) {
    out = draft.add_node("Cast", block, inputs,
                         {{.name = "to",
                           .kind = ir::AttributeKind::kInt,
                           .i = static_cast<std::int64_t>(type->elem)}});
  } else {
    out = draft.add_node(dice.chance(0.8) ? "Identity" : "Neg", block, inputs);
  }
  draft.set_input(*edge, out);
  return true;
}

// An optional input is absent, or the last one is gone.
bool leave_out(Draft& draft, Dice& dice) {
  auto edges = draft.edges();
  std::erase_if(edges, [](const Edge& each) { return each.input == 0; });
  const auto edge = dice.pick(edges);
  if (edge) draft.set_input(*edge, ValueId());
  return edge.has_value();
}

// An optional input that is absent is a constant of the type of an input that
// the op wants to have the same one.
bool give(Draft& draft, Dice& dice) {
  const auto node = dice.pick(draft.nodes());
  if (!node) return false;
  const ops::OpFacts* const facts = ops::facts_of(draft.graph(), *node);
  if (facts == nullptr) return false;
  std::vector<ValueId> inputs;
  for (const ir::Operand& each : draft.graph().inputs(*node)) {
    inputs.push_back(each.value);
  }
  std::vector<std::pair<std::size_t, ValueId>> found;  // the place, its like
  for (std::size_t i = 0; i < facts->inputs.size(); ++i) {
    const bool is_free = i >= inputs.size() || !inputs[i];
    if (!is_free || facts->inputs[i].arity != ops::Arity::kOptional) continue;
    for (std::size_t k = 0; k < std::min(inputs.size(), i); ++k) {
      const bool is_like =
          inputs[k] && facts->inputs[k].type == facts->inputs[i].type;
      if (is_like) found.emplace_back(i, inputs[k]);
    }
  }
  if (found.empty()) return false;
  const auto [place, like] = dice.choose(found);
  const ir::Type* const type = draft.type(like);
  if (!ir::is_ranked(type)) return false;
  std::vector<std::int64_t> dims;
  for (const ir::Dim dim : type->dims) {
    dims.push_back(dim.known() ? dim.size() : 1);
  }
  if (!ir::is_integer(type->elem)) {
    dims.erase(dims.begin(),
               dims.end() - static_cast<std::ptrdiff_t>(dice.below(
                                std::min<std::size_t>(dims.size(), 1) + 1)));
  }
  const double numbers[] = {dice.one_of({1.0, 1.0, 2.0, -1.0, 0.0})};
  const ir::Literal* const tensor =
      make_tensor(draft.arena(), type->elem, dims, numbers);
  if (tensor == nullptr) return false;
  if (inputs.size() <= place) inputs.resize(place + 1);
  inputs[place] = draft.add_initializer(tensor);
  draft.set_inputs(*node, inputs);
  return true;
}

constexpr Kind kOpKinds[] = {
    {"an op", change_op, 3},
    {"the order of inputs", swap_inputs, 2},
    {"an op between two others", insert, 3},
    {"an input that is left out", leave_out},
    {"an input that is given", give, 2},
};

}  // namespace

std::span<const Kind> op_kinds() { return kOpKinds; }

}  // namespace ruleengine::mutate
