// perm = {...}, axis = -1, to = "float": the attributes of a node pattern.
#include <lua.hpp>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/words/element_types.h"
#include "bindings/lua/words/float_word.h"
#include "bindings/lua/words/words_session.h"
#include "core/base/whole.h"
#include "core/ir/data_type.h"
#include "core/ops/attribute_meaning.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {
namespace {

using pattern::AttributePattern;
using pattern::NodePattern;

constexpr std::size_t kMostListElements = 4096;  // of a list attribute

int bad_attribute(lua_State* state, const std::string& name, int index) {
  Diagnostic error =
      wrong("attribute '" + printable(name, 60) + "' cannot have this value");
  error.expected =
      "a number, a string, a list of one of them, a parameter of "
      "`match`, or any";
  error.found = kind_at(state, index);
  if (lua_isboolean(state, index)) {
    error.hint = "ONNX has no booleans; write 1 or 0";
  }
  return Sandbox::fail(state, std::move(error));
}

void set_number(AttributePattern& attribute, double number) {
  if (is_whole(number)) {
    attribute.kind = AttributePattern::Kind::kInt;
    attribute.i = static_cast<std::int64_t>(number);
  } else {
    attribute.kind = AttributePattern::Kind::kFloat;
    attribute.f = number;
  }
}

// Cast{x, to = "float"}: an element type by its name.
bool is_element_type(const NodePattern& node, std::string_view name) {
  if (!ops::names_element_type(name)) return false;
  const ops::OpFacts* facts = ops::newest_op(node.domain, node.type);
  const auto* formal = facts == nullptr ? nullptr : facts->attribute(name);
  return formal != nullptr && formal->kind == ir::AttributeKind::kInt;
}

void set_text(lua_State* state, WordsSession& session, const NodePattern& node,
              AttributePattern& attribute, int index) {
  const std::string_view text = text_at(state, index);
  if (is_element_type(node, attribute.name)) {
    attribute.kind = AttributePattern::Kind::kInt;
    attribute.i = static_cast<std::int64_t>(check_element_type(state, text));
    return;
  }
  spend(state, session, text.size() * 2);
  attribute.kind = AttributePattern::Kind::kString;
  attribute.s = text;
}

void set_list(lua_State* state, WordsSession& session,
              AttributePattern& attribute, int index) {
  const std::size_t size = lua_objlen(state, index);
  if (size > kMostListElements) bad_attribute(state, attribute.name, index);
  spend(state, session, size * 32);
  const Host& host = Host::of(state);
  bool whole = !is_floats(host, state, index);
  for (std::size_t i = 1; i <= size; ++i) {
    lua_rawgeti(state, index, static_cast<int>(i));
    if (lua_type(state, -1) == LUA_TNUMBER) {
      attribute.floats.push_back(lua_tonumber(state, -1));
      whole = whole && is_whole(attribute.floats.back());
    } else if (const auto number = float_at(host, state, lua_gettop(state))) {
      attribute.floats.push_back(*number);
      whole = false;
    } else if (lua_type(state, -1) == LUA_TSTRING) {
      spend(state, session, 64 + lua_objlen(state, -1) * 2);
      attribute.strings.emplace_back(text_at(state, -1));
    }
    lua_pop(state, 1);
  }
  if (attribute.strings.size() == size && size > 0) {
    attribute.kind = AttributePattern::Kind::kStrings;
  } else if (attribute.floats.size() != size) {
    bad_attribute(state, attribute.name, index);
  } else if (whole) {
    attribute.kind = AttributePattern::Kind::kInts;
    for (const double number : attribute.floats) {
      attribute.ints.push_back(static_cast<std::int64_t>(number));
    }
    attribute.floats.clear();
  } else {
    attribute.kind = AttributePattern::Kind::kFloats;
  }
}

}  // namespace

ir::DataType check_element_type(lua_State* state, std::string_view name) {
  const ir::DataType type = element_type(name);
  if (type == ir::DataType::kUndefined) {
    Sandbox::fail(state,
                  "there is no element type '" + printable(name, 60) + "'", {},
                  {}, ir::data_type_hint(name));
  }
  return type;
}

AttributePattern check_attribute(lua_State* state, WordsSession& session,
                                 const NodePattern& node, std::string_view name,
                                 int index) {
  spend(state, session, 512 + name.size());
  AttributePattern attribute{.name = std::string(name)};
  if (is_any(state, index)) return attribute;
  if (const TermHandle* handle = to_term(state, index)) {
    check_handle_of(state, session, index, "an attribute");
    if (handle->kind != TermHandle::Kind::kVariable) {
      bad_attribute(state, attribute.name, index);
    }
    attribute.kind = AttributePattern::Kind::kVariable;
    attribute.variable = handle->variable;
    return attribute;
  }
  if (const auto number = float_at(Host::of(state), state, index)) {
    attribute.kind = AttributePattern::Kind::kFloat;
    attribute.f = *number;
    return attribute;
  }
  switch (lua_type(state, index)) {
    case LUA_TNUMBER:
      set_number(attribute, lua_tonumber(state, index));
      break;
    case LUA_TSTRING:
      set_text(state, session, node, attribute, index);
      break;
    case LUA_TTABLE:
      set_list(state, session, attribute, index);
      break;
    default:
      bad_attribute(state, attribute.name, index);
  }
  return attribute;
}

}  // namespace ruleengine::lua
