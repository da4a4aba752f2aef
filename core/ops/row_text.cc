#include "core/ops/row_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace ruleengine::ops {
namespace {

// "Q, K, V, attn_mask?"
std::string list_of(std::span<const FormalValue> formals) {
  std::string out;
  for (const FormalValue& formal : formals) {
    out += out.empty() ? "" : ", ";
    out += formal.name;
    if (formal.arity == Arity::kOptional) out += "?";
    if (formal.arity == Arity::kVariadic) out += "...";
  }
  return out;
}

std::string default_of(const FormalAttribute& formal) {
  switch (formal.kind) {
    case ir::AttributeKind::kInt:
      return fmt::format("{}", formal.default_int);
    case ir::AttributeKind::kFloat:
      return fmt::format("{}", formal.default_float);
    case ir::AttributeKind::kInts:
      return fmt::format("[{}]", fmt::join(formal.default_ints, ","));
    case ir::AttributeKind::kFloats:
      return fmt::format("[{}]", fmt::join(formal.default_floats, ","));
    case ir::AttributeKind::kStrings:
      return fmt::format("[{}]", fmt::join(formal.default_strings, ","));
    default:
      return std::string(formal.default_string);
  }
}

// "num_heads, is_causal = 0, scale?"
std::string list_of(std::span<const FormalAttribute> formals) {
  std::string out;
  for (const FormalAttribute& formal : formals) {
    out += (out.empty() ? "" : ", ") + std::string(formal.name);
    if (formal.has_default) out += " = " + default_of(formal);
    if (!formal.has_default && !formal.required) out += "?";
  }
  return out;
}

std::string text_of(const OpFacts& op, std::string_view type,
                    std::string_view mark) {
  const std::string attributes = list_of(op.attributes);
  return fmt::format("{}{}{} ({}) -> {}", type, mark,
                     attributes.empty() ? "" : fmt::format(" <{}>", attributes),
                     list_of(op.inputs), list_of(op.outputs));
}

}  // namespace

std::string signature(const OpRow& row) {
  return text_of(row.facts, row.type, row.meaning != nullptr ? " *" : "");
}

std::string signature(const OpFacts& op) { return text_of(op, op.type, ""); }

}  // namespace ruleengine::ops
