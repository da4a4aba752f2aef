#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <string>

#include "core/base/suggest.h"
#include "core/base/whole.h"
#include "core/ops/op_facts.h"
#include "core/ops/op_family.h"
#include "core/pattern/check.h"

namespace ruleengine::pattern {
namespace {

using ir::AttributeKind;
using ops::FormalAttribute;
using ops::OpFacts;
using Kind = AttributePattern::Kind;

Status unknown_op(const NodePattern& node) {
  std::vector<std::string_view> like = ops::similar_ops(node.domain, node.type);
  if (node.domain.empty() && like.empty()) {
    std::vector<std::string_view> classes;
    for (const ops::OpClass& each : ops::op_classes()) {
      classes.push_back(each.name);
    }
    const std::string_view near = nearest(node.type, classes);
    if (!near.empty()) like.push_back(near);
  }
  return Diagnostic{.kind = ErrorKind::kRule,
                    .what = "no op '" + node.op_text() + "'",
                    .hint = did_you_mean(like)};
}

// The kinds that patterns write, by AttributePattern::Kind.
constexpr AttributeKind kWritten[] = {
    AttributeKind::kInt,  AttributeKind::kFloat,  AttributeKind::kString,
    AttributeKind::kInts, AttributeKind::kFloats, AttributeKind::kStrings};

std::string_view wanted_text(AttributeKind kind) {
  return std::ranges::find(kWritten, kind) != std::end(kWritten)
             ? ir::kind_text(kind)
             : "a variable or `any`";
}

std::string_view found_text(Kind kind) {
  const auto i = static_cast<std::size_t>(kind);
  return i < std::size(kWritten) ? ir::kind_text(kWritten[i]) : "a variable";
}

bool is_empty_list(const AttributePattern& a) {
  return (a.kind == Kind::kInts && a.ints.empty()) ||
         (a.kind == Kind::kFloats && a.floats.empty()) ||
         (a.kind == Kind::kStrings && a.strings.empty());
}

// Converts 1 to 1.0 and 1.0 to 1, alone and in lists; {} becomes any empty
// list.
void adapt(AttributePattern& a, AttributeKind wanted) {
  if (a.kind == Kind::kInt && wanted == AttributeKind::kFloat) {
    a.kind = Kind::kFloat;
    a.f = static_cast<double>(a.i);
    a.i = 0;
  } else if (a.kind == Kind::kFloat && wanted == AttributeKind::kInt &&
             is_whole(a.f)) {
    a.kind = Kind::kInt;
    a.i = static_cast<std::int64_t>(a.f);
    a.f = 0;
  } else if (a.kind == Kind::kInts && wanted == AttributeKind::kFloats) {
    a.kind = Kind::kFloats;
    a.floats.assign(a.ints.begin(), a.ints.end());
    a.ints.clear();
  } else if (a.kind == Kind::kFloats && wanted == AttributeKind::kInts &&
             std::ranges::all_of(a.floats, is_whole)) {
    a.kind = Kind::kInts;
    for (double f : a.floats) a.ints.push_back(static_cast<std::int64_t>(f));
    a.floats.clear();
  } else if (is_empty_list(a)) {
    if (wanted == AttributeKind::kInts) a.kind = Kind::kInts;
    if (wanted == AttributeKind::kFloats) a.kind = Kind::kFloats;
    if (wanted == AttributeKind::kStrings) a.kind = Kind::kStrings;
  }
}

bool fits(Kind kind, AttributeKind wanted) {
  return kind == Kind::kVariable || kind == Kind::kAny ||
         kWritten[static_cast<std::size_t>(kind)] == wanted;
}

Status check_attribute(const NodePattern& node, AttributePattern& attribute,
                       const OpFacts& facts) {
  const FormalAttribute* formal = facts.attribute(attribute.name);
  if (formal == nullptr) {
    return Diagnostic{
        .kind = ErrorKind::kRule,
        .what = node.op_text() + " has no attribute '" + attribute.name + "'",
        .hint = ops::attribute_hint(facts, attribute.name)};
  }
  adapt(attribute, formal->kind);
  if (fits(attribute.kind, formal->kind)) return {};
  const std::string wanted(wanted_text(formal->kind));
  return Diagnostic{.kind = ErrorKind::kRule,
                    .what = "attribute '" + attribute.name + "' of " +
                            node.op_text() + " must be " + wanted,
                    .expected = wanted,
                    .found = std::string(found_text(attribute.kind))};
}

// A required attribute has no default, so a pattern must mention it.
Status check_required(const NodePattern& node, const OpFacts& facts) {
  if (node.open_attributes) return {};
  for (const FormalAttribute& formal : facts.attributes) {
    if (!formal.required ||
        std::ranges::binary_search(node.attributes, formal.name, {},
                                   &AttributePattern::name)) {
      continue;
    }
    const std::string name(formal.name);
    return Diagnostic{.kind = ErrorKind::kRule,
                      .what = "this " + node.op_text() +
                              " can never match: attribute '" + name +
                              "' is required",
                      .hint = "write `" + name + " = any`, or `attrs = any`"};
  }
  return {};
}

Status check_counts(const Pattern& pattern, const NodePattern& node,
                    const OpFacts& facts) {
  int written = static_cast<int>(node.inputs.size());
  const bool rest = !node.inputs.empty() &&
                    pattern[node.inputs.back()].kind == TermKind::kRest;
  if (rest) --written;
  const bool open = rest || node.open_inputs;
  if (written > facts.max_inputs || (!open && written < facts.min_inputs)) {
    Diagnostic problem =
        rule_error("wrong number of inputs of " + node.op_text());
    problem.expected = std::to_string(facts.min_inputs);
    if (facts.max_inputs == INT_MAX) {
      problem.expected += " or more";
    } else if (facts.max_inputs != facts.min_inputs) {
      problem.expected += " to " + std::to_string(facts.max_inputs);
    }
    problem.found = std::to_string(written);
    if (written > facts.max_inputs && !facts.attributes.empty()) {
      problem.hint = "attributes are named: op." + node.type + "{..., " +
                     std::string(facts.attributes[0].name) + " = ...}";
    }
    return problem;
  }
  if (static_cast<std::int64_t>(node.output_count) > facts.max_outputs) {
    return Diagnostic{
        .kind = ErrorKind::kRule,
        .what = "too many outputs of " + node.op_text(),
        .expected = "at most " + std::to_string(facts.max_outputs),
        .found = std::to_string(node.output_count)};
  }
  return {};
}

Status check_places(const Pattern& pattern, const NodePattern& node) {
  for (std::size_t i = 0; i + 1 < node.inputs.size(); ++i) {
    if (pattern[node.inputs[i]].kind == TermKind::kRest) {
      return rule_error("`rest` is not the last input of " + node.op_text());
    }
  }
  for (const auto& permutation : node.permutations) {
    std::vector<std::uint32_t> sorted = permutation;
    std::ranges::sort(sorted);
    const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
    if (twice || permutation.size() > node.inputs.size() ||
        (!sorted.empty() && sorted.back() >= 64)) {
      return Diagnostic{
          .kind = ErrorKind::kRule,
          .what =
              "a permutation of " + node.op_text() + " does not fit its inputs",
          .expected = "a different input slot for each written input"};
    }
  }
  for (std::size_t i = 1; i < node.attributes.size(); ++i) {
    if (node.attributes[i].name == node.attributes[i - 1].name) {
      return rule_error("attribute '" + node.attributes[i].name + "' of " +
                        node.op_text() + " is given twice");
    }
  }
  return {};
}

// What a class of ops says must hold for each of them; only how many inputs are
// written may fit some alone.
Status check_class(const Pattern& pattern, NodePattern& node) {
  node.open_attributes = true;
  Status counts;
  for (const ops::OpName& op : node.op_class->ops) {
    counts = check_counts(pattern, node, *ops::newest_op(op.domain, op.type));
    if (counts) break;
  }
  if (!counts) return counts;
  for (AttributePattern& attribute : node.attributes) {
    for (const ops::OpName& op : node.op_class->ops) {
      const OpFacts& facts = *ops::newest_op(op.domain, op.type);
      if (facts.attribute(attribute.name) == nullptr) {
        return Diagnostic{.kind = ErrorKind::kRule,
                          .what = "not every op of " + node.type +
                                  " has an attribute '" + attribute.name + "'",
                          .found = std::string(op.type) + ", which has none"};
      }
      Status status = check_attribute(node, attribute, facts);
      if (!status) return status;
    }
  }
  return {};
}

}  // namespace

Diagnostic rule_error(std::string what) {
  return {.kind = ErrorKind::kRule, .what = std::move(what)};
}

std::string literal_text(const AttributePattern& a) {
  switch (a.kind) {
    case Kind::kInt:
      return fmt::format("{}", a.i);
    case Kind::kFloat:
      return fmt::format("{}", a.f);
    case Kind::kString:
      return fmt::format("\"{}\"", printable(a.s));
    case Kind::kInts:
      return fmt::format("[{}]", fmt::join(a.ints, ", "));
    case Kind::kFloats:
      return fmt::format("[{}]", fmt::join(a.floats, ", "));
    case Kind::kStrings:
      return fmt::format("[{}]", fmt::join(a.strings, ", "));
    case Kind::kVariable:
    case Kind::kAny:
      return {};
  }
  return {};
}

Status check_node(const Pattern& pattern, NodePattern& node) {
  if (node.type.empty()) return rule_error("an op without a name");
  if (Status status = check_places(pattern, node); !status) return status;
  if (node.domain.empty()) node.op_class = ops::find_op_class(node.type);
  if (node.op_class != nullptr) return check_class(pattern, node);
  const OpFacts* facts = ops::newest_op(node.domain, node.type);
  if (facts == nullptr) {
    if (ops::known_domain(node.domain)) return unknown_op(node);
    return {};
  }
  if (Status status = check_counts(pattern, node, *facts); !status) {
    return status;
  }
  for (AttributePattern& attribute : node.attributes) {
    Status status = check_attribute(node, attribute, *facts);
    if (!status) return status;
  }
  return check_required(node, *facts);
}

}  // namespace ruleengine::pattern
