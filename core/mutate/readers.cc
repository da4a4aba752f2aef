// Changes of who reads what: values get more readers, become outputs, or stand
// where others stood.
#include <algorithm>

#include "core/ir/shapes.h"
#include "core/mutate/draft.h"

namespace ruleengine::mutate {
namespace {

using ir::ValueId;

bool same_type(const ir::Type* a, const ir::Type* b) {
  return ir::is_ranked(a) && ir::is_ranked(b) && ir::same_type(*a, *b);
}

bool is_output(Draft& draft, ValueId value) {
  return std::ranges::count(draft.outputs(), value) > 0;
}

bool show_inner(Draft& draft, Dice& dice) {
  auto inner = draft.inner_values();
  std::erase_if(inner, [&](ValueId v) { return is_output(draft, v); });
  const auto value = dice.pick(inner);
  if (value) draft.add_output(*value);
  return value.has_value();
}

bool read_inner(Draft& draft, Dice& dice) {
  const auto value = dice.pick(draft.inner_values());
  if (!value) return false;
  const ir::Type* const type = draft.type(*value);
  const bool is_float =
      type != nullptr && type->is_tensor() && ir::is_float(type->elem);
  const std::string_view op =
      is_float ? dice.one_of<std::string_view>({"Neg", "Relu", "Identity"})
               : "Identity";
  const ValueId inputs[] = {*value};
  draft.add_output(draft.add_node(op, ir::Graph::main_block(), inputs));
  return true;
}

bool drop_output(Draft& draft, Dice& dice) {
  if (draft.outputs().size() < 2) return false;
  draft.drop_output(dice.below(draft.outputs().size()));
  return true;
}

bool join_inputs(Draft& draft, Dice& dice) {
  auto inputs = draft.tensor_inputs();
  if (inputs.size() < 2) return false;
  const ValueId kept = dice.choose(inputs);
  std::erase_if(inputs, [&](ValueId v) {
    return v == kept || !same_type(draft.graph().value(v).declared,
                                   draft.graph().value(kept).declared);
  });
  if (inputs.empty()) return false;
  const ValueId gone = dice.choose(inputs);
  draft.move_readers(gone, kept);
  draft.remove_input(gone);
  return true;
}

// An input of a node is another value, most often one of the same type.
bool rewire(Draft& draft, Dice& dice) {
  const auto edge = dice.pick(draft.edges());
  if (!edge) return false;
  const ValueId old = draft.input(*edge);
  std::vector<ValueId> all = draft.inner_values();
  for (const ValueId v : draft.tensor_inputs()) all.push_back(v);
  for (const Constant& each : draft.constants()) {
    if (!each.node) all.push_back(each.value);
  }
  std::erase(all, old);
  if (dice.chance(0.8)) {
    const ir::Type* const type = draft.type(old);
    std::erase_if(all,
                  [&](ValueId v) { return !same_type(type, draft.type(v)); });
  }
  const auto value = dice.pick(all);
  if (value) draft.set_input(*edge, *value);
  return value.has_value();
}

constexpr Kind kReaderKinds[] = {
    {"an inner value that is an output", show_inner, 3},
    {"an inner value that is read twice", read_inner, 3},
    {"an output that is left out", drop_output},
    {"two inputs that are one", join_inputs, 2},
    {"an input of a node", rewire, 3},
};

}  // namespace

std::span<const Kind> reader_kinds() { return kReaderKinds; }

}  // namespace ruleengine::mutate
