// Texts, numbers, names and small constants as Lua, for code_of and rebuild.
// Pure functions. Internal to bindings/lua.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/arena.h"
#include "core/ir/attribute.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {

// "/model/Add" in quotes; bytes that are not ASCII as \ddd.
std::string code_text(std::string_view text);

// "op.Softmax", "op["com.example"].Swish"; an overload after a colon.
std::string code_op(const ir::Op& op);
// A key of a table: name, or ["a name"].
std::string code_key(std::string_view name);

// In long brackets that the text does not close.
std::string code_long_text(std::string_view text);

// The kind that rebuild reads for the attribute's value if there is no schema.
ir::AttributeKind guessed_kind(const ir::Attribute& attribute);

// An attribute as Lua that reads back as the same; none if it must be `stored`.
// Not for graphs.
std::optional<std::string> code_attribute(const ir::Attribute& attribute,
                                          const ops::FormalAttribute* formal,
                                          ir::ExternalData* external);

// tensor("float", {2}, {1, 2}); none if it is too large or of a type that Lua
// cannot express.
std::optional<std::string> code_tensor_text(const ir::Literal& tensor,
                                            ir::ExternalData* external);

// The tensor of these elements; nullptr if the type or a number is not
// possible. Only for types whose elements are Lua numbers.
const ir::Literal* code_tensor(Arena& arena, ir::DataType type,
                               std::span<const std::int64_t> dims,
                               std::span<const double> numbers);

}  // namespace ruleengine::lua
