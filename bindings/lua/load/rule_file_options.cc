// The options of rules and packs: their declarations, and values given as text.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <lua.hpp>
#include <utility>

#include "bindings/lua/load/rule_file_loader.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "bindings/lua/words/words.h"

namespace ruleengine::lua {
namespace {

std::optional<OptionValue> option_at(lua_State* state, int index,
                                     const RuleTable& table) {
  switch (lua_type(state, index)) {
    case LUA_TBOOLEAN:
      return lua_toboolean(state, index) != 0;
    case LUA_TNUMBER:
      return lua_tonumber(state, index);
    case LUA_TSTRING:
      return take_text(state, table, index, table.line);
    default:
      return {};
  }
}

// {"number"}: a type without a default.
std::optional<std::size_t> option_type_at(lua_State* state, int index,
                                          const RuleTable& table) {
  if (!lua_istable(state, index) || lua_objlen(state, index) != 1) return {};
  lua_rawgeti(state, index, 1);
  const std::string name = lua_type(state, -1) == LUA_TSTRING
                               ? take_text(state, table, -1, table.line)
                               : "";
  lua_pop(state, 1);
  for (std::size_t type = 0; type < std::variant_size_v<OptionValue>; ++type) {
    if (name == option_type_name(type)) return type;
  }
  return {};
}

}  // namespace

std::vector<std::string> names_of(const DeclaredOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, option] : options) names.push_back(name);
  return names;
}

const char* option_type_name(std::size_t type) {
  constexpr const char* kNames[] = {"boolean", "number", "string"};
  return kNames[type];
}

std::optional<OptionValue> option_from_text(std::string_view text,
                                            std::size_t type) {
  if (type == 0) {
    if (text == "true") return true;
    if (text == "false") return false;
    return {};
  }
  if (type == 2) return std::string(text);
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(number)) {
    return {};
  }
  return number;
}

DeclaredOptions read_options(lua_State* state, const RuleTable& table,
                             const char* word) {
  DeclaredOptions options;
  if (!lua_istable(state, -1)) {
    fail_at(state, table, table.scan.key_line(word, "options"),
            wrong("`options` is not a table"));
  }
  for (const std::string& name : string_keys(state, -1)) {
    DeclaredOption option{.line = table.scan.key_line(word, "options")};
    lua_getfield(state, -1, name.c_str());
    option.value = option_at(state, -1, table);
    const auto type =
        option.value ? option.value->index() : option_type_at(state, -1, table);
    if (!type || !is_lua_name(name)) {
      fail_at(state, table, option.line,
              wrong(fmt::format("option '{}'", printable(name, 60)),
                    "name = true, 0.5, \"text\", or without a default "
                    "{\"boolean\"}, {\"number\"}, {\"string\"}",
                    fmt::format("a {}", luaL_typename(state, -1))));
    }
    option.type = *type;
    lua_pop(state, 1);
    options.emplace(name, std::move(option));
  }
  return options;
}

}  // namespace ruleengine::lua
