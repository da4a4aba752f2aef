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

}  // namespace

std::string signature(const OpRow& row) {
  const std::string attributes = list_of(row.facts.attributes);
  return fmt::format("{}{}{} ({}) -> {}", row.type,
                     row.meaning != nullptr ? " *" : "",
                     attributes.empty() ? "" : fmt::format(" <{}>", attributes),
                     list_of(row.facts.inputs), list_of(row.facts.outputs));
}

}  // namespace ruleengine::ops
