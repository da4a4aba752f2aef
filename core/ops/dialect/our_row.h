// What the rows of the engine's own ops are written with. Internal to
// core/ops/dialect.
#pragma once

#include <climits>

#include "core/ops/dialect.h"
#include "core/ops/families.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {

using ir::AttributeKind;

constexpr FormalValue in(std::string_view name, std::string_view type = "T") {
  return {name, Arity::kSingle, type};
}
constexpr FormalValue opt(std::string_view name, std::string_view type = "T") {
  return {name, Arity::kOptional, type};
}

constexpr FormalAttribute attr(std::string_view name, AttributeKind kind) {
  return {.name = name, .kind = kind};
}
constexpr FormalAttribute need(std::string_view name, AttributeKind kind) {
  return {.name = name, .kind = kind, .required = true};
}
constexpr FormalAttribute with(std::string_view name, int value) {
  return {.name = name,
          .kind = AttributeKind::kInt,
          .has_default = true,
          .default_int = value};
}
constexpr FormalAttribute permission(std::string_view name, int usual) {
  FormalAttribute made = with(name, usual);
  made.permits = true;
  return made;
}
constexpr FormalAttribute with(std::string_view name, float value) {
  return {.name = name,
          .kind = AttributeKind::kFloat,
          .has_default = true,
          .default_float = value};
}
constexpr FormalAttribute with(std::string_view name,
                               std::span<const std::int64_t> value) {
  return {.name = name,
          .kind = AttributeKind::kInts,
          .has_default = true,
          .default_ints = value};
}

// The minimum count, as the standard counts it: up to the last required one.
constexpr int least(std::span<const FormalValue> formals) {
  int count = 0;
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].arity == Arity::kSingle) count = static_cast<int>(i) + 1;
  }
  return count;
}
constexpr int most(std::span<const FormalValue> formals) {
  if (!formals.empty() && formals.back().arity == Arity::kVariadic) {
    return INT_MAX;
  }
  return static_cast<int>(formals.size());
}

// `row` with its name and what its inputs, outputs and attributes are.
constexpr OpRow ours(std::string_view domain, std::string_view type,
                     std::span<const FormalValue> inputs,
                     std::span<const FormalValue> outputs,
                     std::span<const FormalAttribute> attributes, OpRow row) {
  row.domain = domain;
  row.type = type;
  row.facts = {domain,         type,          1,
               false,          least(inputs), most(inputs),
               least(outputs), most(outputs), inputs,
               outputs,        attributes};
  return row;
}

inline constexpr AttributeKind kInt = AttributeKind::kInt;
inline constexpr AttributeKind kInts = AttributeKind::kInts;
inline constexpr AttributeKind kFloat = AttributeKind::kFloat;
inline constexpr AttributeKind kString = AttributeKind::kString;
inline constexpr std::string_view kInt64 = "tensor(int64)";

inline constexpr FormalValue kX[] = {in("X")};
inline constexpr FormalValue kY[] = {in("Y")};
inline constexpr FormalValue kOutput[] = {in("output")};

using Shape = std::vector<ir::Dim>;

// All outputs are.
bool all_like_first(const NodeView& v, Outputs out);

// A file may declare one leading 1 more or less: then nothing is said.
void loosely(const NodeView& v, Outputs out);

// Of heads, or their size: a node that does not say it has 0.
ir::Dim count(std::int64_t n);

ir::Dim product(const NodeView& v, ir::Dim a, ir::Dim b);

// The product of matrices at the places of these inputs, which 'transA' and
// 'transB' may turn.
void set_gemm(const NodeView& v, std::size_t left, std::size_t right,
              Inferred& out);

// The element type that the attribute says.
ir::DataType out_dtype(const NodeView& v);

// The broadcast of a shape with an input, which no file need declare: of
// unknown rank it is taken for a scalar or for the last axis, as it should be.
void widen(const NodeView& v, std::size_t input, Inferred& out);

// The type that the standard's op of that name would have; false where its rule
// does not know.
inline bool like_standard(std::string_view type, const NodeView& v,
                          Outputs out) {
  return find_row("", type)->types.infer(v, out);
}

}  // namespace ruleengine::ops
