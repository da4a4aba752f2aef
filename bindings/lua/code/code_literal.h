// Texts, numbers, names and small constants as Lua, for code_of and rebuild.
// Pure functions. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_CODE_CODE_LITERAL_H_
#define RULEENGINE_BINDINGS_LUA_CODE_CODE_LITERAL_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/arena.h"
#include "core/ir/attribute.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {

// "/model/Add" in quotes, with what is not ASCII as \ddd.
std::string code_text(std::string_view text);

// The kind that the value of an attribute has in Lua when no schema says.
ir::AttributeKind guessed_kind(const ir::Attribute& attribute);

// An attribute in words that read back to the same; none: it is `stored`.
// Graphs are not said here.
std::optional<std::string> code_attribute(const ir::Attribute& attribute,
                                          const ir::FormalAttribute* formal,
                                          ir::ExternalData* external);

// tensor("float", {2}, {1, 2}); none where it is too large or has no words.
std::optional<std::string> code_tensor_text(const ir::Tensor& tensor,
                                            ir::ExternalData* external);

// The tensor of these elements; nullptr when a type or a number does not do.
// Only types whose elements are numbers of Lua: the plain ones.
const ir::Tensor* code_tensor(Arena& arena, ir::DataType type,
                              std::span<const std::int64_t> dims,
                              std::span<const double> numbers);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_CODE_CODE_LITERAL_H_
