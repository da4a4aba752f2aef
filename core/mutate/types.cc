// Changes of element types and of the opset.

#include "core/mutate/draft.h"
#include "core/ops/op_facts.h"

namespace ruleengine::mutate {
namespace {

using ir::DataType;

constexpr int kOldestOpset = 9;

// All of these types become `to`.
template <typename Is>
void convert(Draft& draft, DataType to, Is is) {
  draft.retype([&](DataType& elem, std::vector<ir::Dim>&) {
    if (is(elem)) elem = to;
  });
  for (const Constant& each : draft.constants()) {
    if (!is(each.tensor->dtype)) continue;
    const auto numbers = numbers_of(*each.tensor);
    if (!numbers) continue;
    draft.set_tensor(
        each, make_tensor(draft.arena(), to, each.tensor->dims, *numbers));
  }
  for (const ir::NodeId node : draft.nodes()) {
    draft.change_attributes(node, [&](ir::Attribute& each) {
      if (!names_type(each) || !is(static_cast<DataType>(each.i))) return false;
      each.i = static_cast<std::int64_t>(to);
      return true;
    });
  }
}

bool change_floats(Draft& draft, Dice& dice) {
  const auto is = [](DataType elem) {
    return elem == DataType::kFloat || elem == DataType::kFloat16 ||
           elem == DataType::kBfloat16 || elem == DataType::kDouble;
  };
  convert(draft,
          dice.one_of({DataType::kFloat, DataType::kFloat16,
                       DataType::kBfloat16, DataType::kDouble}),
          is);
  return true;
}

// Of one input, and of what is cast to.
bool change_integers(Draft& draft, Dice& dice) {
  std::vector<ir::ValueId> found;
  for (const ir::ValueId v : draft.tensor_inputs()) {
    const DataType elem = draft.graph().value(v).declared->elem;
    if (ir::is_integer(elem) || elem == DataType::kBool) found.push_back(v);
  }
  const DataType to =
      dice.one_of({DataType::kInt64, DataType::kInt32, DataType::kInt32,
                   DataType::kInt64, DataType::kInt8, DataType::kUint8});
  if (found.empty() || dice.chance(0.3)) {
    const DataType from =
        to == DataType::kInt64 ? DataType::kInt32 : DataType::kInt64;
    convert(draft, to, [&](DataType elem) { return elem == from; });
    return true;
  }
  const ir::ValueId input = dice.choose(found);
  const auto dims = draft.graph().value(input).declared->dims;
  draft.set_type(input, to, {dims.begin(), dims.end()});
  return true;
}

// What a Cast makes.
bool change_cast(Draft& draft, Dice& dice) {
  std::vector<ir::NodeId> casts = draft.nodes();
  std::erase_if(casts, [&](ir::NodeId node) {
    return !draft.graph().op(node).standard("Cast");
  });
  if (casts.empty()) return false;
  draft.change_attributes(dice.choose(casts), [&](ir::Attribute& each) {
    if (!names_type(each)) return false;
    each.i = static_cast<std::int64_t>(
        dice.one_of({DataType::kFloat, DataType::kFloat16, DataType::kDouble,
                     DataType::kInt64, DataType::kInt32, DataType::kBool}));
    return true;
  });
  return true;
}

bool change_opset(Draft& draft, Dice& dice) {
  auto& imports = draft.model().opset_imports;
  const std::size_t at = imports.find("");
  if (at == imports.size()) return false;
  const auto count =
      static_cast<std::size_t>(ops::newest_opset("") - kOldestOpset + 1);
  imports.set_version(
      at, kOldestOpset + static_cast<std::int64_t>(dice.below(count)));
  return true;
}

constexpr Kind kTypeKinds[] = {
    {"the types of floats", change_floats, 4},
    {"the types of integers", change_integers, 2},
    {"a cast", change_cast},
    {"the opset", change_opset, 3},
};

}  // namespace

bool names_type(const ir::Attribute& attribute) {
  return attribute.kind == ir::AttributeKind::kInt &&
         (attribute.name == "to" || attribute.name == "dtype" ||
          attribute.name == "out_dtype");
}

std::span<const Kind> type_kinds() { return kTypeKinds; }

}  // namespace ruleengine::mutate
