// What is known about each op without asking the ONNX library: formal inputs,
// outputs and attributes with their defaults, for every version of every op of
// "" and ai.onnx.ml (a table made from the library's schemas at build time,
// since its registry takes 30 ms to fill) and of our own (core/ops/op_row.h).
// All data is constant and lives as long as the program; thread-safe. The
// answer for an unknown op is nullptr. Domain "ai.onnx" means "" everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/attribute.h"

namespace ruleengine::ops {

enum class Arity : std::uint8_t { kSingle, kOptional, kVariadic };

struct FormalValue {
  std::string_view name;
  Arity arity = Arity::kSingle;
  // A type constraint ("T": the same type wherever it occurs in this op) or a
  // type ("tensor(int64)").
  std::string_view type;
  // Bit 1 << DataType for each element type that is allowed; 0: not known.
  std::uint32_t elems = 0;
};

// Only the default of the attribute's own kind is valid, and only where
// has_default is set. Default values of type tensor are not stored.
struct FormalAttribute {
  std::string_view name;
  ir::AttributeKind kind = ir::AttributeKind::kUndefined;
  bool required = false;
  bool has_default = false;
  // Another value than the default only permits more results. So nobody need
  // name it: a pattern that does not still fits, and a rule may drop it.
  bool permits = false;
  float default_float = 0;
  std::int64_t default_int = 0;
  std::string_view default_string;
  std::span<const std::int64_t> default_ints;
  std::span<const float> default_floats;
  std::span<const std::string_view> default_strings;
};

struct OpFacts {
  std::string_view domain;
  std::string_view type;
  int since_version = 0;
  bool deprecated = false;
  int min_inputs = 0;
  int max_inputs = 0;  // INT_MAX when variadic
  int min_outputs = 0;
  int max_outputs = 0;
  std::span<const FormalValue> inputs;
  std::span<const FormalValue> outputs;
  std::span<const FormalAttribute> attributes;  // sorted by name

  const FormalAttribute* attribute(std::string_view name) const;
  bool permits(std::string_view attribute) const;  // see FormalAttribute
  // The formal at a position; the last one repeats if it is variadic.
  const FormalValue* input(std::size_t place) const;
  const FormalValue* output(std::size_t place) const;
};

// The attribute with its default, which it has.
ir::Attribute default_attribute(const FormalAttribute& formal);
std::vector<ir::Attribute> default_attributes(const OpFacts& op);

// The version in force at `opset`: the newest with since_version <= opset.
const OpFacts* find_op(std::string_view domain, std::string_view type,
                       int opset);
const OpFacts* oldest_op(std::string_view domain, std::string_view type);
const OpFacts* newest_op(std::string_view domain, std::string_view type);

// The attribute in the version in force at `opset`, or the newest one's where
// that has none yet: what came later leaves the meaning as it was by its
// default. nullptr where no version has it.
const FormalAttribute* find_attribute(std::string_view domain,
                                      std::string_view type, int opset,
                                      std::string_view name);

// What an attribute says: as it is written, or by the default of its schema;
// 0 or "" where there is neither, or it is of another kind. Both may be
// nullptr.
std::int64_t int_of(const ir::Attribute* written,
                    const FormalAttribute* formal);
std::string_view string_of(const ir::Attribute* written,
                           const FormalAttribute* formal);

// Sorted by domain, type, since_version.
std::span<const OpFacts* const> all_ops();
// The newest version of each op, sorted by domain and type.
std::vector<const OpFacts*> newest_ops();

// One of ours, with no ops but those that are known.
bool is_own_domain(std::string_view domain);
bool known_domain(std::string_view domain);
int newest_opset(std::string_view domain);  // 0 for an unknown domain

// "Did you mean": similar types of that domain, best first, at most 3.
std::vector<std::string_view> similar_ops(std::string_view domain,
                                          std::string_view type);

// Hints for a name that is not an attribute (not an input) of the op: that it
// is an input (an attribute), a similar name, or a list of the names. `more`
// are names that are allowed beside the attributes.
std::string attribute_hint(const OpFacts& op, std::string_view name,
                           std::span<const std::string_view> more = {});
std::string input_hint(const OpFacts& op, std::string_view name);

// Whether the inputs may be given in any order.
bool is_commutative(std::string_view domain, std::string_view type);

}  // namespace ruleengine::ops
