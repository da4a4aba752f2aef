// find, match, gmatch and gsub over bounded patterns.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <lua.hpp>
#include <string>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_globals.h"
#include "bindings/lua/sandbox/sandbox_meter.h"
#include "bindings/lua/sandbox/strings_pattern.h"

namespace ruleengine::lua {
namespace {

using Found = TextPattern::Found;

TextPattern compile(lua_State* state, int argument, bool anchors) {
  Result<TextPattern> pattern =
      TextPattern::compile(check_text(state, argument), anchors);
  if (!pattern) Sandbox::fail(state, pattern.error());
  return *std::move(pattern);
}

std::optional<Found> find_in(lua_State* state, const TextPattern& pattern,
                             std::string_view text, std::size_t from) {
  Result<std::optional<Found>> found = pattern.find(
      text, from,
      [state](std::size_t steps) { Sandbox::charge(state, steps); });
  if (!found) Sandbox::fail(state, found.error());
  return *found;
}

void push_capture(lua_State* state, std::string_view text,
                  const TextPattern::Capture& capture) {
  if (capture.position) {
    lua_pushinteger(state, static_cast<lua_Integer>(capture.begin) + 1);
  } else {
    push(state, text.substr(capture.begin, capture.size));
  }
}

std::string_view matched(std::string_view text, const Found& found) {
  return text.substr(found.begin, found.end - found.begin);
}

// Pushes all captures, or the whole match if there are none.
int push_captures(lua_State* state, std::string_view text, const Found& found,
                  bool whole) {
  if (found.captures == 0) {
    if (!whole) return 0;
    return push(state, matched(text, found));
  }
  luaL_checkstack(state, found.captures, "too many captures");
  for (int i = 0; i < found.captures; ++i) {
    push_capture(state, text, found.capture[static_cast<std::size_t>(i)]);
  }
  return found.captures;
}

// Argument 3 as an offset; none if it is after the end.
std::optional<std::size_t> start(lua_State* state, std::size_t size) {
  double at = luaL_optnumber(state, 3, 1);
  if (std::isnan(at)) at = 1;
  if (at < 0) at += static_cast<double>(size) + 1;
  if (at < 1) at = 1;
  if (at > static_cast<double>(size) + 1) return {};
  return static_cast<std::size_t>(at) - 1;
}

int find_plain(lua_State* state, std::string_view text, std::string_view word,
               std::size_t from) {
  Sandbox::charge(state, text.size());
  // memmem is linear for any word; string_view::find is not.
  const void* at = word.empty() ? text.data() + from
                                : memmem(text.data() + from, text.size() - from,
                                         word.data(), word.size());
  if (at == nullptr) {
    lua_pushnil(state);
    return 1;
  }
  const auto begin = static_cast<const char*>(at) - text.data();
  lua_pushinteger(state, begin + 1);
  lua_pushinteger(state, begin + static_cast<lua_Integer>(word.size()));
  return 2;
}

int search(lua_State* state, bool positions) {
  const std::string_view text = check_text(state, 1);
  const std::string_view word = check_text(state, 2);
  const std::optional<std::size_t> from = start(state, text.size());
  if (!from) {
    lua_pushnil(state);
    return 1;
  }
  if (positions && (lua_toboolean(state, 4) != 0 ||
                    word.find_first_of("^$*+?.([%-") == word.npos)) {
    return find_plain(state, text, word, *from);
  }
  const TextPattern pattern = compile(state, 2, true);
  const std::optional<Found> found = find_in(state, pattern, text, *from);
  if (!found) {
    lua_pushnil(state);
    return 1;
  }
  if (!positions) return push_captures(state, text, *found, true);
  lua_pushinteger(state, static_cast<lua_Integer>(found->begin) + 1);
  lua_pushinteger(state, static_cast<lua_Integer>(found->end));
  return 2 + push_captures(state, text, *found, false);
}

int find(lua_State* state) { return search(state, true); }
int match(lua_State* state) { return search(state, false); }

// Upvalues: text, pattern, position to continue at.
int next_match(lua_State* state) {
  const std::string_view text = text_at(state, lua_upvalueindex(1));
  const auto from =
      static_cast<std::size_t>(lua_tonumber(state, lua_upvalueindex(3)));
  if (from > text.size()) return 0;
  const TextPattern pattern = compile(state, lua_upvalueindex(2), false);
  const std::optional<Found> found = find_in(state, pattern, text, from);
  const std::size_t on =
      !found ? text.size() + 1 : found->end + (found->end == found->begin);
  lua_pushnumber(state, static_cast<double>(on));
  lua_replace(state, lua_upvalueindex(3));
  return found ? push_captures(state, text, *found, true) : 0;
}

int gmatch(lua_State* state) {
  check_text(state, 1);
  compile(state, 2, false);
  lua_settop(state, 2);
  lua_pushnumber(state, 0);
  lua_pushcclosure(state, &next_match, 3);
  return 1;
}

// --- gsub ---

void append(lua_State* state, std::string& result, std::string_view more) {
  if (result.size() + more.size() > kMaxBlock) too_long(state);
  Sandbox::charge(state, more.size());
  result.append(more);
}

// Pushes capture `index` (0: the whole match).
void push_part(lua_State* state, std::string_view text, const Found& found,
               int index) {
  if (index == 0 || (index == 1 && found.captures == 0)) {
    push(state, matched(text, found));
  } else if (index > found.captures) {
    luaL_error(state, "no capture %%%d", index);
  } else {
    push_capture(state, text,
                 found.capture[static_cast<std::size_t>(index) - 1]);
  }
}

void append_template(lua_State* state, std::string& result,
                     std::string_view text, const Found& found) {
  const std::string_view replacement = check_text(state, 3);
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    const std::size_t plain =
        std::min(replacement.find('%', i), replacement.size());
    append(state, result, replacement.substr(i, plain - i));
    i = plain;
    if (i == replacement.size()) return;
    if (++i == replacement.size()) {
      luaL_error(state, "the replacement ends with %%");
    }
    const char digit = replacement[i];
    if (digit < '0' || digit > '9') {
      append(state, result, {&digit, 1});
      continue;
    }
    push_part(state, text, found, digit - '0');
    append(state, result, check_text(state, -1));
    lua_pop(state, 1);
  }
}

// One replacement, by the kind of argument 3.
void append_replaced(lua_State* state, std::string& result,
                     std::string_view text, const Found& found) {
  const int type = lua_type(state, 3);
  if (type == LUA_TSTRING || type == LUA_TNUMBER) {
    append_template(state, result, text, found);
    return;
  }
  if (type == LUA_TFUNCTION) {
    lua_pushvalue(state, 3);
    const int count = push_captures(state, text, found, true);
    lua_call(state, count, 1);
  } else {
    push_part(state, text, found, 1);
    lua_gettable(state, 3);
  }
  if (lua_toboolean(state, -1) == 0) {
    append(state, result, matched(text, found));
  } else if (lua_isstring(state, -1) != 0) {
    append(state, result, check_text(state, -1));
  } else {
    luaL_error(state, "a replacement is a %s", luaL_typename(state, -1));
  }
  lua_pop(state, 1);
}

int gsub(lua_State* state) {
  const std::string_view text = check_text(state, 1);
  const TextPattern pattern = compile(state, 2, true);
  const int type = lua_type(state, 3);
  luaL_argcheck(state,
                type == LUA_TNUMBER || type == LUA_TSTRING ||
                    type == LUA_TFUNCTION || type == LUA_TTABLE,
                3, "string, function or table expected");
  const double most =
      luaL_optnumber(state, 4, static_cast<double>(text.size()) + 1);
  Nested nested(state);
  std::string result;
  std::size_t at = 0;
  int count = 0;
  while (count < most) {
    const std::optional<Found> found = find_in(state, pattern, text, at);
    if (!found) break;
    append(state, result, text.substr(at, found->begin - at));
    append_replaced(state, result, text, *found);
    Sandbox::charge(state, 32);
    ++count;
    at = found->end;
    if (found->end == found->begin) {
      if (at < text.size()) append(state, result, text.substr(at, 1));
      if (++at > text.size()) break;
    }
    if (pattern.anchored()) break;
  }
  if (at < text.size()) append(state, result, text.substr(at));
  push(state, result);
  lua_pushinteger(state, count);
  return 2;
}

}  // namespace

const luaL_Reg kPatternFunctions[] = {{"find", find},
                                      {"match", match},
                                      {"gmatch", gmatch},
                                      {"gsub", gsub},
                                      {nullptr, nullptr}};

}  // namespace ruleengine::lua
