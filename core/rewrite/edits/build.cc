// Building nodes and constants, and reusing existing ones.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/ops/node_spec.h"
#include "core/ops/op_facts.h"
#include "core/rewrite/edits/same.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::Attribute;
using ir::Literal;
using ir::NodeId;
using ir::OperandId;
using ir::ValueId;

// The most readers of an input that are searched for an equal node.
constexpr int kMaxLook = 256;
class EqualNodeFinder {
 public:
  EqualNodeFinder(EditState& state, const NodeSpec& spec, ir::OpId op)
      : state_(state),
        graph_(state.graph),
        spec_(spec),
        op_(op),
        facts_(facts_of(state, spec.domain, spec.type)) {}

  // An existing node that computes the same; invalid if there is none.
  NodeId find() const {
    if (!is_shareable(state_, spec_.domain, spec_.type, spec_.inputs)) {
      return {};
    }
    const ValueId pivot = rarest_input();
    if (!pivot) return {};
    int looked = 0;
    for (OperandId u = graph_.first_use(pivot); u && looked < kMaxLook;
         u = graph_.next_use(u), ++looked) {
      const NodeId user = graph_.operand(u).user;
      if (is_same(user)) return user;
    }
    return {};
  }

 private:
  // Not a small constant: an equal constant may have the other node as its
  // reader.
  ValueId rarest_input() const {
    ValueId best;
    for (ValueId v : spec_.inputs) {
      if (!v) continue;
      const Literal* constant = written(state_, v);
      if (is_compared(constant)) continue;
      if (constant && state_.is_new(v)) continue;
      if (!best || graph_.value(v).use_count < graph_.value(best).use_count) {
        best = v;
      }
    }
    return best;
  }

  bool is_same(NodeId node) const {
    const ir::Node& n = graph_.node(node);
    if (n.op != op_ || n.output_count < spec_.output_count) return false;
    if (!encloses(graph_, n.block, state_.block)) return false;
    for (std::uint32_t i = 0; i < spec_.output_count; ++i) {
      if (!graph_.output(node, i)) return false;
    }
    const std::size_t count =
        std::max<std::size_t>(n.operand_count, spec_.inputs.size());
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId given =
          i < spec_.inputs.size() ? spec_.inputs[i] : ValueId();
      if (!same_input(state_, graph_.input(node, i), given)) return false;
    }
    return same_attributes(state_, facts_, n.attributes, spec_.attributes);
  }

  EditState& state_;
  ir::Graph& graph_;
  const NodeSpec& spec_;
  ir::OpId op_;
  const ops::OpFacts* facts_;
};

// Calls of the model's own functions keep their overload; the engine's ops get
// new bodies.
std::string_view overload_of(const ir::Graph& graph, const NodeSpec& spec) {
  if (!spec.like) return {};
  const ir::Op& op = graph.op(spec.like);
  if (!op.is(spec.domain, spec.type)) return {};
  return ops::newest_op(op.domain, op.type) == nullptr ? op.overload
                                                       : std::string_view();
}

std::vector<ValueId> first_outputs(const ir::Graph& graph, NodeId node,
                                   std::uint32_t count) {
  const auto all = graph.outputs(node).first(count);
  return {all.begin(), all.end()};
}

bool all_constant(EditState& state, const NodeSpec& spec) {
  if (spec.inputs.empty() || is_random(spec.type)) return false;
  return std::ranges::all_of(
      spec.inputs, [&](ValueId v) { return !v || state.facts.is_constant(v); });
}

// For instance "w_concat" for "w" packed by a Concat.
std::string folded_name(const ir::Graph& graph, const NodeSpec& spec) {
  std::string stem;
  for (ValueId v : spec.inputs) {
    if (v && !graph.name(v).empty()) {
      stem = std::string(graph.name(v)) + "_";
      break;
    }
  }
  for (char c : spec.type) {
    stem += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return stem;
}

// Replaces the latest node by constants, if all its inputs are constants. What
// an initializer held before keeps its name.
bool fold(EditState& state, const NodeSpec& spec, NodeId node) {
  std::vector<const Literal*> tensors;
  for (ValueId v : state.graph.outputs(node)) {
    tensors.push_back(state.facts.constant(v));
    if (tensors.back() == nullptr) return false;
  }
  const std::string stem = folded_name(state.graph, spec);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ValueId held = state.workspace->find_initializer(*tensors[i]);
    state.add_stem(state.graph.output(node, static_cast<std::uint32_t>(i)),
                   held ? std::string(state.graph.name(held)) : stem);
  }
  // Restores the reader counts of the inputs.
  for (ValueId v : spec.inputs) state.lose_reader(v);
  state.added.pop_back();
  state.log.fold_last(tensors);
  return true;
}

std::optional<Rejection> check_visible(EditState& state, const NodeSpec& spec) {
  for (ValueId v : spec.inputs) {
    if (!v) continue;
    const ir::Value& value = state.graph.value(v);
    const bool revivable = value.kind == ir::ValueKind::kInitializer;
    if (value.removed && !revivable) {
      return Rejection{
          "an input of the new " + std::string(spec.type) + " was removed",
          std::string(state.graph.name(v))};
    }
    if (!encloses(state.graph, value.block, state.block)) {
      return Rejection{"an input of the new " + std::string(spec.type) +
                           " is not visible in the block of the new node",
                       describe(state.graph, state.facts, v)};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Edit::Built> Edit::build(const NodeSpec& given) {
  EditState& s = *journal_;
  auto spec = ops::checked(s.graph.model(), given);
  if (!spec) return spec.error();
  if (s.in_function()) {
    // A function body has no initializers.
    for (ValueId& v : spec->inputs) {
      if (v && s.graph.value(v).kind == ir::ValueKind::kInitializer) {
        v = constant(s.graph.value(v).tensor, "");
      }
    }
  }
  if (auto r = check_visible(s, *spec)) return Built(*std::move(r));
  // Rules may concatenate lists of any length, so a list of one needs no
  // Concat.
  if (spec->domain.empty() && spec->type == "Concat" &&
      spec->inputs.size() == 1) {
    return Built(spec->inputs);
  }
  if (auto r = to_older_form(s, *spec)) return Built(*std::move(r));
  const ir::OpId op = s.graph.model().ops.intern(spec->domain, spec->type,
                                                 overload_of(s.graph, *spec));
  return build_written(s, *spec, op);
}

Edit::Built build_written(EditState& s, const NodeSpec& spec, ir::OpId op) {
  if (auto r = check_visible(s, spec)) return *std::move(r);
  const std::uint32_t count = spec.output_count;
  const auto carry = [&](const std::vector<ValueId>& outputs) {
    if (spec.like && !outputs.empty()) {
      s.carried.emplace_back(spec.like, outputs[0]);
    }
    return Edit::Built(outputs);
  };
  if (const NodeId same = EqualNodeFinder(s, spec, op).find()) {
    s.shared.push_back(same);
    return carry(first_outputs(s.graph, same, count));
  }
  const bool foldable = !s.in_function() && all_constant(s, spec);
  const auto attributes =
      s.graph.model().arena.copy(std::span<const Attribute>(spec.attributes));
  const NodeId node = s.add_node(op, s.block, spec.inputs, count, attributes);
  const auto outputs = first_outputs(s.graph, node, count);
  if (foldable && fold(s, spec, node)) return carry(outputs);
  if (spec.like) s.likes.emplace_back(node, spec.like);
  return carry(outputs);
}

bool Edit::repeats(ValueId old_value, ValueId new_value) const {
  const EditState& s = *journal_;
  return same_computation(s, old_value, new_value, [&](NodeId a, NodeId b) {
    return !s.is_new(a) && s.is_new(b);
  });
}

ValueId Edit::constant(const Literal* tensor, std::string_view name_hint) {
  EditState& s = *journal_;
  if (const ValueId v = s.workspace->find_constant(*tensor)) {
    if (encloses(s.graph, s.graph.value(v).block, s.block)) return v;
  }
  ValueId value;
  if (s.in_function()) {
    // A function body has no initializers.
    Arena& arena = s.graph.model().arena;
    const auto tensors = arena.array<const Literal*>(1);
    tensors[0] = tensor;
    const Attribute attribute{.name = "value",
                              .kind = ir::AttributeKind::kTensor,
                              .tensors = tensors};
    const ir::OpId op = s.graph.model().ops.intern("", "Constant");
    const NodeId node =
        s.add_node(op, ir::Graph::main_block(), {}, 1,
                   arena.copy(std::span<const Attribute>(&attribute, 1)));
    value = s.graph.output(node);
  } else {
    value = s.log.add_initializer(ir::Graph::main_block(), tensor);
    s.add_stem(value, std::string(name_hint));
  }
  s.workspace->add_constant(*tensor, value);
  return value;
}

ValueId Edit::transposed(ValueId constant) {
  EditState& s = *journal_;
  if (const ValueId v = s.workspace->find_transposed(constant)) return v;
  const Literal* tensor = s.facts.constant(constant);
  if (tensor == nullptr || tensor->dims.size() != 2 || s.in_function()) {
    static constexpr std::int64_t kSwap[] = {1, 0};
    const NodeSpec spec{
        .type = "Transpose",
        .inputs = {constant},
        .attributes = {
            {.name = "perm", .kind = ir::AttributeKind::kInts, .ints = kSwap}}};
    auto built = build(spec);
    if (built && built->index() == 0) return std::get<0>(*built)[0];
    s.reject("the constant cannot be transposed", constant);
    return constant;
  }
  Arena& arena = s.graph.model().arena;
  const auto dims = arena.array<std::int64_t>(2);
  dims[0] = tensor->dims[1];
  dims[1] = tensor->dims[0];
  const auto parts = arena.array<ir::LazyPart>(1);
  parts[0] = {tensor, true};
  const auto* lazy = arena.make<ir::Lazy>(ir::Lazy{parts, 0});
  const auto* swapped =
      arena.make<Literal>(Literal{.dtype = tensor->dtype,
                                  .storage = ir::Storage::kLazy,
                                  .dims = dims,
                                  .lazy = lazy});
  const ValueId value = s.log.add_initializer(ir::Graph::main_block(), swapped);
  s.add_stem(value, std::string(s.graph.name(constant)) + "_t");
  s.workspace->add_transposed(constant, value);
  return value;
}

}  // namespace ruleengine::rewrite
