// Changes of sizes: a size becomes another one, 0, 1 or a name, in all places
// or in one; an input gets another rank.
#include <algorithm>
#include <set>
#include <string>

#include "core/mutate/draft.h"

namespace ruleengine::mutate {
namespace {

using ir::Dim;
using ir::ValueId;

constexpr std::int64_t kLargest = 64;

std::vector<std::int64_t> known_sizes(Draft& draft) {
  std::set<std::int64_t> out;
  for (const ValueId v : draft.tensor_inputs()) {
    for (const Dim dim : draft.graph().value(v).declared->dims) {
      if (dim.known()) out.insert(dim.size());
    }
  }
  for (const Constant& each : draft.constants()) {
    out.insert(each.tensor->dims.begin(), each.tensor->dims.end());
  }
  return {out.begin(), out.end()};
}

std::vector<Dim> named_sizes(Draft& draft) {
  std::set<Dim> out;
  for (const ValueId v : draft.tensor_inputs()) {
    for (const Dim dim : draft.graph().value(v).declared->dims) {
      if (!dim.known() && draft.model().dims.is_single(dim)) out.insert(dim);
    }
  }
  return {out.begin(), out.end()};
}

// Whether a list of whole numbers with this one is about sizes or axes cannot
// be told, so it becomes the other one now and then.
void resize_numbers(Draft& draft, Dice& dice, std::int64_t from,
                    std::int64_t to) {
  for (const ir::NodeId node : draft.nodes()) {
    draft.change_attributes(node, [&](ir::Attribute& each) {
      if (each.kind == ir::AttributeKind::kInt && each.i == from &&
          each.name != "axis" && each.name != "to" && dice.chance(0.8)) {
        each.i = to;
        return true;
      }
      if (each.kind != ir::AttributeKind::kInts || each.name == "perm" ||
          each.name == "axes" || std::ranges::count(each.ints, from) == 0) {
        return false;
      }
      const auto numbers = draft.arena().copy(each.ints);
      std::ranges::replace(numbers, from, to);
      each.ints = numbers;
      return true;
    });
  }
}

void resize_constants(Draft& draft, Dice& dice, std::int64_t from,
                      std::int64_t to) {
  for (const Constant& each : draft.constants()) {
    auto numbers = numbers_of(*each.tensor);
    if (!numbers) continue;
    std::vector<std::int64_t> dims(each.tensor->dims.begin(),
                                   each.tensor->dims.end());
    std::ranges::replace(dims, from, to);
    const bool is_sizes = each.tensor->dtype == ir::DataType::kInt64 &&
                          std::ranges::count(*numbers, from) > 0;
    if (is_sizes && dice.chance(0.85)) {
      std::ranges::replace(*numbers, static_cast<double>(from),
                           static_cast<double>(to));
    } else if (std::ranges::equal(dims, each.tensor->dims)) {
      continue;
    }
    if (numbers->empty()) numbers->push_back(1);
    draft.set_tensor(
        each, make_tensor(draft.arena(), each.tensor->dtype, dims, *numbers));
  }
}

void resize_all(Draft& draft, Dice& dice, std::int64_t from, std::int64_t to) {
  draft.retype([&](ir::DataType&, std::vector<Dim>& dims) {
    std::ranges::replace(dims, Dim(from), Dim(to));
  });
  resize_constants(draft, dice, from, to);
  resize_numbers(draft, dice, from, to);
}

bool resize(Draft& draft, Dice& dice) {
  auto sizes = known_sizes(draft);
  if (sizes.empty()) return false;
  const std::int64_t from = dice.choose(sizes);
  const std::int64_t to =
      dice.chance(0.3)
          ? dice.choose(sizes)
          : dice.one_of<std::int64_t>({1, 2, 3, 4, 6, 8, 2 * from, from + 1});
  if (to == from || to > kLargest) return false;
  resize_all(draft, dice, from, to);
  return true;
}

bool empty(Draft& draft, Dice& dice) {
  const auto size = dice.pick(known_sizes(draft));
  if (size) resize_all(draft, dice, *size, 0);
  return size.has_value();
}

// An input whose declared axis is changed alone.
bool change_axis(Draft& draft, Dice& dice, Dim to) {
  const auto input = dice.pick(draft.tensor_inputs());
  if (!input) return false;
  const ir::Type* const old = draft.graph().value(*input).declared;
  std::vector<Dim> dims(old->dims.begin(), old->dims.end());
  if (dims.empty()) return false;
  Dim& dim = dice.choose(dims);
  if (dim == to) return false;
  dim = to;
  draft.set_type(*input, old->elem, std::move(dims));
  return true;
}

bool resize_one(Draft& draft, Dice& dice) {
  return change_axis(draft, dice, Dim(dice.one_of<std::int64_t>({1, 2, 3, 5})));
}

bool broadcast_axis(Draft& draft, Dice& dice) {
  return change_axis(draft, dice, Dim(1));
}

bool name_one(Draft& draft, Dice& dice) {
  return change_axis(
      draft, dice,
      draft.model().dims.symbol("N" + std::to_string(dice.below(3))));
}

// A number becomes a name in all inputs.
bool name_all(Draft& draft, Dice& dice) {
  const auto size = dice.pick(known_sizes(draft));
  if (!size) return false;
  const Dim from(*size);
  const Dim to = draft.model().dims.symbol("N" + std::to_string(dice.below(3)));
  bool is_changed = false;
  for (const ValueId input : draft.tensor_inputs()) {
    const ir::Type* const old = draft.graph().value(input).declared;
    std::vector<Dim> dims(old->dims.begin(), old->dims.end());
    if (std::ranges::count(dims, from) == 0) continue;
    std::ranges::replace(dims, from, to);
    draft.set_type(input, old->elem, std::move(dims));
    is_changed = true;
  }
  return is_changed;
}

// A name becomes a number, or another name.
bool number_all(Draft& draft, Dice& dice) {
  auto names = named_sizes(draft);
  if (names.empty()) return false;
  const Dim from = dice.choose(names);
  const Dim to = dice.chance(0.2)
                     ? dice.choose(names)
                     : Dim(dice.one_of<std::int64_t>({0, 1, 2, 3, 4, 8}));
  if (from == to) return false;
  draft.retype([&](ir::DataType&, std::vector<Dim>& dims) {
    std::ranges::replace(dims, from, to);
  });
  return true;
}

bool change_rank(Draft& draft, Dice& dice) {
  const auto input = dice.pick(draft.tensor_inputs());
  if (!input) return false;
  const ir::Type* const old = draft.graph().value(*input).declared;
  std::vector<Dim> dims(old->dims.begin(), old->dims.end());
  if (!dims.empty() && dice.chance(0.6)) {
    const auto lost = static_cast<std::ptrdiff_t>(
        dice.chance(0.6) ? 1 : 1 + dice.below(dims.size()));
    dims.erase(dims.begin(), dims.begin() + lost);
  } else {
    dims.insert(dims.begin(), Dim(dice.one_of<std::int64_t>({1, 1, 2, 3})));
  }
  draft.set_type(*input, old->elem, std::move(dims));
  return true;
}

constexpr Kind kSizeKinds[] = {
    {"a size", resize, 5},
    {"a size of 0", empty},
    {"the size of one axis", resize_one, 2},
    {"an axis of 1", broadcast_axis, 2},
    {"an axis of a named size", name_one},
    {"a named size", name_all, 2},
    {"the number of a named size", number_all, 2},
    {"a rank", change_rank, 3},
};

}  // namespace

std::span<const Kind> size_kinds() { return kSizeKinds; }

}  // namespace ruleengine::mutate
