// Changes of constants: other numbers or shapes; one becomes an input, or an
// input becomes one.
#include <array>
#include <limits>

#include "core/mutate/draft.h"

namespace ruleengine::mutate {
namespace {

constexpr std::int64_t kMostDrawn = 4096;

double other_whole(double old, Dice& dice) {
  return dice.one_of({old + 1, old - 1, -old, 0.0, 1.0, old + 2});
}

double other_float(double old, Dice& dice) {
  if (dice.chance(0.03)) return std::numeric_limits<double>::quiet_NaN();
  if (dice.chance(0.05)) {
    const double endless = std::numeric_limits<double>::infinity();
    return dice.chance(0.7) ? -endless : endless;
  }
  const std::array near = {0.0,     1.0,      -1.0, -old, old * 1.01 + 0.001,
                           old * 2, old * 0.5};
  const std::size_t at = dice.below(near.size() + 1);
  return at < near.size() ? near[at]
                          : dice.one_of({1e4, -1e4, 1e9, -1e9, 0.5, 3.0});
}

// All elements, or one.
bool change_numbers(Draft& draft, Dice& dice) {
  const auto constant = dice.pick(draft.constants());
  if (!constant) return false;
  auto numbers = numbers_of(*constant->tensor);
  if (!numbers || numbers->empty()) return false;
  const ir::DataType elem = constant->tensor->dtype;
  const auto other = [&](double old) {
    if (elem == ir::DataType::kBool) return old == 0 ? 1.0 : 0.0;
    return ir::is_integer(elem) ? other_whole(old, dice)
                                : other_float(old, dice);
  };
  if (ir::is_integer(elem) && numbers->size() > 1 && dice.chance(0.4)) {
    double& first = dice.choose(*numbers);
    std::swap(first, dice.choose(*numbers));
  } else if (dice.chance(0.5) && numbers->size() > 1) {
    double& one = dice.choose(*numbers);
    one = other(one);
  } else if (ir::is_integer(elem)) {
    for (double& each : *numbers) each = other(each);
  } else {
    // The same way of change for all.
    const Dice same = dice;
    for (double& each : *numbers) {
      dice = same;
      each = other(each);
    }
  }
  return draft.set_tensor(
      *constant,
      make_tensor(draft.arena(), elem, constant->tensor->dims, *numbers));
}

// An axis more or less, or more elements along one.
bool change_shape(Draft& draft, Dice& dice) {
  const auto constant = dice.pick(draft.constants());
  if (!constant) return false;
  const auto numbers = numbers_of(*constant->tensor);
  if (!numbers || numbers->empty()) return false;
  std::vector<std::int64_t> dims(constant->tensor->dims.begin(),
                                 constant->tensor->dims.end());
  // Lists of axes and sizes have one axis in every op.
  const bool is_list =
      ir::is_integer(constant->tensor->dtype) && dims.size() == 1;
  if (is_list) {
    dims[0] = dims[0] == 1 ? 2 : dims[0] - 1;
  } else if (dims.empty() || dice.chance(0.3)) {
    dims.insert(dims.begin(), dice.one_of<std::int64_t>({1, 1, 2}));
  } else if (dims[0] == 1 && dice.chance(0.5)) {
    dims.erase(dims.begin());
  } else {
    std::int64_t& size = dice.choose(dims);
    size = size == 1 ? dice.one_of<std::int64_t>({2, 3, 4}) : 1;
  }
  return draft.set_tensor(
      *constant,
      make_tensor(draft.arena(), constant->tensor->dtype, dims, *numbers));
}

bool feed_constant(Draft& draft, Dice& dice) {
  auto constants = draft.constants();
  std::erase_if(constants,
                [](const Constant& each) { return each.node.valid(); });
  const auto constant = dice.pick(constants);
  if (constant) draft.make_input(*constant);
  return constant.has_value();
}

bool fix_input(Draft& draft, Dice& dice) {
  auto inputs = draft.tensor_inputs();
  if (inputs.size() < 2) return false;  // a constant graph tells little
  const ir::ValueId input = dice.choose(inputs);
  const ir::Type* const type = draft.graph().value(input).declared;
  std::vector<std::int64_t> dims;
  std::int64_t count = 1;
  for (const ir::Dim dim : type->dims) {
    if (!dim.known()) return false;
    dims.push_back(dim.size());
    count *= dim.size();
    if (count > kMostDrawn) return false;
  }
  const bool is_same = dice.chance(0.3);
  const double same = dice.one_of({0.0, 1.0, 0.5, 2.0, -1.0});
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& each : numbers) {
    each = is_same ? same : static_cast<double>(dice.below(65)) / 16 - 2;
  }
  const auto* tensor = make_tensor(draft.arena(), type->elem, dims, numbers);
  if (tensor == nullptr) return false;
  draft.make_initializer(input, tensor);
  return true;
}

constexpr Kind kConstantKinds[] = {
    {"the numbers of a constant", change_numbers, 5},
    {"the shape of a constant", change_shape, 2},
    {"a constant that is an input", feed_constant, 2},
    {"an input that is a constant", fix_input},
};

}  // namespace

std::span<const Kind> constant_kinds() { return kConstantKinds; }

}  // namespace ruleengine::mutate
