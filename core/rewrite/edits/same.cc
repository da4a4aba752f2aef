#include "core/rewrite/edits/same.h"
#include "core/ops/node_spec.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

namespace ruleengine::rewrite {
namespace {

using ir::Attribute;
using ir::Literal;
using ir::NodeId;
using ir::ValueId;

// Constants with more elements are not compared.
constexpr std::int64_t kMaxCompare = 64;

// Whether it is a Dropout that does not train, which is deterministic.
bool draws_nothing(EditState& state, std::string_view type,
                   std::span<const ValueId> inputs) {
  constexpr std::int64_t kTrainingSaid = 7, kTrainingAsked = 12;
  const std::int64_t opset = state.workspace->opset("");
  if (type != "Dropout" || opset < kTrainingSaid) return false;
  if (opset < kTrainingAsked || inputs.size() < 3) return true;
  const Literal* training = state.facts.constant(inputs[2]);
  if (training == nullptr) return false;
  const auto value =
      ir::to_ints(*training, state.graph.model().external.get(), 1);
  return value && value->size() == 1 && (*value)[0] == 0;
}

// Whether every attribute of `a` is in `b`, or at its default.
bool says_all(const EditState& state, const ops::OpFacts* op,
              std::span<const Attribute> a, std::span<const Attribute> b) {
  for (const Attribute& x : a) {
    if (!x.blocks.empty()) return false;
    const auto y = std::ranges::find(b, x.name, &Attribute::name);
    if (y != b.end()) {
      if (ir::same_value(x, *y, state.graph.model().external.get())) continue;
      return false;
    }
    const ops::FormalAttribute* formal =
        op == nullptr ? nullptr : op->attribute(x.name);
    if (formal == nullptr || !ops::is_default(*formal, x)) return false;
  }
  return true;
}

}  // namespace

bool is_random(std::string_view type) {
  static constexpr std::array<std::string_view, 7> kTypes = {
      "Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

bool is_shareable(EditState& state, std::string_view domain,
                  std::string_view type, std::span<const ValueId> inputs) {
  const ir::Op op{domain, type, {}};
  if (ops::newest_op(op.domain, op.type) == nullptr ||
      state.graph.model().find_function(op) != nullptr ||
      op.type.starts_with("_internal_")) {
    return false;
  }
  return !op.domain.empty() || !is_random(op.type) ||
         draws_nothing(state, op.type, inputs);
}

const Literal* written(const EditState& state, ValueId v) {
  const ir::Graph& graph = state.graph;
  if (const Literal* tensor = graph.direct_constant(v)) return tensor;
  const NodeId node = v ? graph.producer(v) : NodeId();
  if (!node || !graph.op(node).standard("Constant")) return nullptr;
  return state.facts.constant(v);
}

bool is_compared(const Literal* constant) {
  return constant != nullptr && constant->element_count() <= kMaxCompare;
}

bool same_input(const EditState& state, ValueId a, ValueId b) {
  if (a == b) return true;
  const Literal* x = written(state, a);
  const Literal* y = written(state, b);
  return is_compared(x) && is_compared(y) && x->dtype == y->dtype &&
         std::ranges::equal(x->dims, y->dims) &&
         ir::equal_bits(*x, *y, state.graph.model().external.get());
}

const ops::OpFacts* facts_of(const EditState& state, std::string_view domain,
                             std::string_view type) {
  return ops::find_op(domain, type,
                      static_cast<int>(state.workspace->opset(domain)));
}

bool same_attributes(const EditState& state, const ops::OpFacts* op,
                     std::span<const Attribute> a,
                     std::span<const Attribute> b) {
  return says_all(state, op, a, b) && says_all(state, op, b, a);
}

bool same_computation(const EditState& state, ValueId a, ValueId b,
                      const std::function<bool(NodeId, NodeId)>& may_match) {
  const ir::Graph& graph = state.graph;
  std::set<std::pair<ValueId, ValueId>> seen;
  std::vector<std::pair<ValueId, ValueId>> todo{{a, b}};
  while (!todo.empty()) {
    const auto [one, two] = todo.back();
    todo.pop_back();
    if (same_input(state, one, two) || !seen.emplace(one, two).second) continue;
    const NodeId x = one ? graph.producer(one) : NodeId();
    const NodeId y = two ? graph.producer(two) : NodeId();
    if (!x || !y || !may_match(x, y)) return false;
    const ir::Node& was = graph.node(x);
    const ir::Node& is = graph.node(y);
    const ir::Op& op = graph.op(x);
    if (was.op != is.op || was.block != is.block ||
        graph.value(one).output_index != graph.value(two).output_index ||
        !same_attributes(state, facts_of(state, op.domain, op.type),
                         was.attributes, is.attributes)) {
      return false;
    }
    const auto count = std::max(was.operand_count, is.operand_count);
    for (std::uint32_t i = 0; i < count; ++i) {
      todo.emplace_back(graph.input(x, i), graph.input(y, i));
    }
  }
  return true;
}

}  // namespace ruleengine::rewrite
