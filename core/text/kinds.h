// The kinds of attributes as ONNX text spells them. Pure functions.
#ifndef RULEENGINE_CORE_TEXT_KINDS_H_
#define RULEENGINE_CORE_TEXT_KINDS_H_

#include <span>
#include <string_view>

#include "core/ir/attribute.h"

namespace ruleengine::text {

std::string_view kind_name(ir::AttributeKind kind);
// kUndefined when there is no such name.
ir::AttributeKind kind_from_name(std::string_view name);
std::span<const std::string_view> kind_names();

bool is_list(ir::AttributeKind kind);
// The kind of a list of such elements, and the reverse; kUndefined if there is
// none.
ir::AttributeKind list_of(ir::AttributeKind kind);
ir::AttributeKind element_kind(ir::AttributeKind list);
// Whether ONNX text can express the attribute: false for sparse tensors.
bool has_words(const ir::Attribute& a);

}  // namespace ruleengine::text

#endif  // RULEENGINE_CORE_TEXT_KINDS_H_
