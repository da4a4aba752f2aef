// Words of ONNX text: names and strings in the form that is printed, and the
// kinds of attributes. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/ir/attribute.h"

namespace ruleengine::text {

// In quotes, with escapes: \\, \", and \xNN for a byte that is not visible.
std::string quoted_text(std::string_view text);
// In quotes if it is not an identifier, or would be read as a type or a number.
std::string name_text(std::string_view name);
// The field of TypeProto that holds such a type: "seq", "map", "optional",
// "sparse_tensor" or "opaque"; 0 for any other word.
std::uint32_t type_word(std::string_view word);
// "com.microsoft": names separated by points, in quotes if one of them is not
// an identifier.
std::string qualified_text(std::string_view name);
// "com.microsoft.Gelu:overload".
std::string op_text(std::string_view domain, std::string_view type,
                    std::string_view overload);

std::string_view kind_name(ir::AttributeKind kind);
// kUndefined when there is no such name.
ir::AttributeKind kind_from_name(std::string_view name);
std::span<const std::string_view> kind_names();

bool is_list(ir::AttributeKind kind);
// The kind of a list of such elements, and the reverse; kUndefined if there is
// none.
ir::AttributeKind list_of(ir::AttributeKind kind);
ir::AttributeKind element_kind(ir::AttributeKind list);
// "a, b": the text of each element, with commas.
template <typename List, typename Text>
std::string joined(const List& list, Text text) {
  std::string out, separator;
  for (const auto& each : list) {
    out += separator + text(each);
    separator = ", ";
  }
  return out;
}

// Whether ONNX text can express the attribute: false for sparse tensors.
bool has_words(const ir::Attribute& a);

}  // namespace ruleengine::text
