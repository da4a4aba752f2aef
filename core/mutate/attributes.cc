// Changes of attributes: another number, none, or one where the default was.
#include <algorithm>
#include <utility>

#include "core/mutate/draft.h"
#include "core/ops/node_spec.h"

namespace ruleengine::mutate {
namespace {

using ir::AttributeKind;

struct Place {
  ir::NodeId node;
  std::size_t attribute = 0;
};

// The attributes with numbers, or all.
std::vector<Place> places(Draft& draft, bool all) {
  std::vector<Place> out;
  for (const ir::NodeId node : draft.nodes()) {
    const auto list = draft.graph().node(node).attributes;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const AttributeKind kind = list[i].kind;
      const bool has_numbers = kind == AttributeKind::kInt ||
                               kind == AttributeKind::kFloat ||
                               kind == AttributeKind::kInts;
      if (list[i].ref.empty() && (all || has_numbers)) out.push_back({node, i});
    }
  }
  return out;
}

void change(Draft& draft, Dice& dice, ir::Attribute& attribute) {
  if (attribute.kind == AttributeKind::kInt) {
    const std::int64_t old = attribute.i;
    attribute.i = dice.one_of<std::int64_t>({old + 1, old - 1, 1 - old, 0});
  } else if (attribute.kind == AttributeKind::kFloat) {
    const float old = attribute.f;
    attribute.f =
        dice.one_of({-old, 0.0F, old * 0.5F, old * 3.0F, old * 1.01F, 1.0F});
  } else if (!attribute.ints.empty()) {
    const auto numbers = draft.arena().copy(attribute.ints);
    if (numbers.size() > 1 && dice.chance(0.7)) {
      std::int64_t& first = dice.choose(numbers);
      std::swap(first, dice.choose(numbers));
    } else {
      std::int64_t& one = dice.choose(numbers);
      one += dice.one_of<std::int64_t>({-1, 1, 2});
    }
    attribute.ints = numbers;
  }
}

bool change_number(Draft& draft, Dice& dice) {
  const auto at = dice.pick(places(draft, false));
  if (!at) return false;
  auto attributes = draft.attributes(at->node);
  change(draft, dice, attributes[at->attribute]);
  draft.set_attributes(at->node, std::move(attributes));
  return true;
}

// An axis is counted from the other end.
bool count_otherwise(Draft& draft, Dice& dice) {
  auto found = places(draft, false);
  std::erase_if(found, [&](const Place& each) {
    const auto& attribute =
        draft.graph().node(each.node).attributes[each.attribute];
    return attribute.name != "axis" || !draft.graph().input(each.node, 0);
  });
  const auto at = dice.pick(found);
  if (!at) return false;
  const ir::Type* const type = draft.type(draft.graph().input(at->node, 0));
  if (!ir::is_ranked(type)) return false;
  auto attributes = draft.attributes(at->node);
  std::int64_t& axis = attributes[at->attribute].i;
  const auto rank = static_cast<std::int64_t>(type->rank());
  axis += axis < 0 ? rank : -rank;
  draft.set_attributes(at->node, std::move(attributes));
  return true;
}

bool drop(Draft& draft, Dice& dice) {
  const auto at = dice.pick(places(draft, true));
  if (!at) return false;
  auto attributes = draft.attributes(at->node);
  attributes.erase(attributes.begin() +
                   static_cast<std::ptrdiff_t>(at->attribute));
  draft.set_attributes(at->node, std::move(attributes));
  return true;
}

bool add(Draft& draft, Dice& dice) {
  const auto node = dice.pick(draft.nodes());
  if (!node) return false;
  const ops::OpFacts* const facts = ops::facts_of(draft.graph(), *node);
  if (facts == nullptr) return false;
  auto attributes = draft.attributes(*node);
  std::vector<const ops::FormalAttribute*> free;
  for (const ops::FormalAttribute& formal : facts->attributes) {
    const bool is_given =
        std::ranges::count(attributes, formal.name, &ir::Attribute::name) > 0;
    const bool has_number = formal.kind == AttributeKind::kInt ||
                            formal.kind == AttributeKind::kFloat;
    if (!is_given && has_number) free.push_back(&formal);
  }
  if (free.empty()) return false;
  const ops::FormalAttribute& formal = *dice.choose(free);
  attributes.push_back({.name = formal.name,
                        .kind = formal.kind,
                        .f = dice.one_of({0.0F, 0.5F, 2.0F, -1.0F}),
                        .i = dice.one_of<std::int64_t>({0, 1, 2, -1, -2})});
  draft.set_attributes(*node, std::move(attributes));
  return true;
}

constexpr Kind kAttributeKinds[] = {
    {"an attribute", change_number, 5},
    {"an axis that is counted otherwise", count_otherwise},
    {"an attribute that is left out", drop, 2},
    {"an attribute that is given", add, 2},
};

}  // namespace

std::span<const Kind> attribute_kinds() { return kAttributeKinds; }

}  // namespace ruleengine::mutate
