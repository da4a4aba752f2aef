#include "bindings/lua/callbacks/match_value.h"

#include <algorithm>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "bindings/lua/words/words.h"
#include "core/base/suggest.h"

namespace ruleengine::lua {
namespace {

void push_variable(Host& host, lua_State* state, const Member& member,
                   std::uint32_t id) {
  const pattern::Variable& variable = pattern_of(host)->variables()[id];
  const match::Bound& bound = member.match->bound[id];
  const bool nothing = bound.kind == match::Bound::Kind::kNothing;
  const bool always_list = variable.repeated ||
                           variable.kind == pattern::VariableKind::kList ||
                           variable.kind == pattern::VariableKind::kSteps;
  if (nothing && always_list) return push_list(host, state, 0);
  if (nothing) host.session.not_taken.push_back(variable.name);
  push_bound(host, state, *pattern_of(host), pattern::VariableId(id), bound);
}

int push_options(Host& host, lua_State* state) {
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.session.frame->options);
  return 1;
}

int push_graph(Host& host, lua_State* state) {
  push_handle(host, state, {.kind = HandleKind::kGraph});
  return 1;
}

// --- m

const Member* member_of(Host& host, lua_State* state) {
  const Handle* handle =
      check_handle(host, state, 1, HandleKind::kMatch, "the match");
  return handle == nullptr ? nullptr : &host.session.members[handle->id];
}

int no_such_name(Host& host, lua_State* state) {
  const auto name = string_at(state, 2);
  if (!name) {
    return fail(host, "m is indexed by names only", "a name",
                kind_of(state, 2));
  }
  std::vector<std::string> known = host.session.frame->rule->computed;
  known.insert(known.end(), {"options", "graph"});
  if (pattern_of(host) != nullptr) {
    for (const pattern::Variable& v : pattern_of(host)->variables()) {
      known.push_back(v.name);
    }
  }
  return fail(host,
              "m." + printable(*name, 60) +
                  " is neither a variable of `match` nor set by `where`",
              {}, {}, suggestion(*name, known));
}

// What `where` computed (nil if this run did not set it; a null pointer stands
// for a nil that it set), m.options or m.graph; else an error.
int push_other(Host& host, lua_State* state, const Member& member) {
  if (*member.computed != 0) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, *member.computed);
    lua_pushvalue(state, 2);
    lua_rawget(state, -2);
    if (lua_islightuserdata(state, -1)) return lua_pushnil(state), 1;
    if (!lua_isnil(state, -1)) return 1;
  }
  const auto name = string_at(state, 2);
  if (name == "options") return push_options(host, state);
  if (name == "graph") return push_graph(host, state);
  const std::vector<std::string>& computed = host.session.frame->rule->computed;
  if (name && std::ranges::binary_search(computed, *name)) {
    return lua_pushnil(state), 1;
  }
  return no_such_name(host, state);
}

int match_index(Host& host, lua_State* state) {
  const Member* member = member_of(host, state);
  if (member == nullptr) return kFailed;
  const auto id = find_variable(host, state, 2);
  if (!id) return push_other(host, state, *member);
  push_variable(host, state, *member, *id);
  return 1;
}

int match_assign(Host& host, lua_State* state) {
  const Member* member = member_of(host, state);
  if (member == nullptr) return kFailed;
  const auto name = string_at(state, 2);
  if (!name) {
    return fail(host, "m is assigned by names only", "m.name = ...",
                kind_of(state, 2));
  }
  if (find_variable(host, state, 2) || *name == "options" || *name == "graph") {
    return fail(host,
                "m." + printable(*name, 60) + " is what the match found; " +
                    "it cannot be assigned",
                {}, {}, "choose another name");
  }
  if (*member->computed == 0) {
    lua_createtable(state, 0, 4);
    *member->computed = luaL_ref(state, LUA_REGISTRYINDEX);
  }
  lua_rawgeti(state, LUA_REGISTRYINDEX, *member->computed);
  lua_pushvalue(state, 2);
  if (lua_isnil(state, 3)) {
    lua_pushlightuserdata(state, nullptr);
  } else {
    lua_pushvalue(state, 3);
  }
  lua_rawset(state, -3);
  return 0;
}

int match_tostring(Host& host, lua_State* state) {
  const Member* member = member_of(host, state);
  if (member == nullptr) return kFailed;
  return push(state, "the match at " +
                         host.session.graph->describe(member->match->root));
}

// --- ms

// ms:all "w": m.w of every match, in order.
int all(Host& host, lua_State* state, const Handle&) {
  if (!string_at(state, 2)) {
    return fail(host, ":all wants the name of a variable", "ms:all \"w\"",
                kind_of(state, 2));
  }
  lua_settop(state, 2);
  const std::size_t count = host.session.members.size();
  const auto id = find_variable(host, state, 2);
  push_list(host, state, static_cast<int>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const Member& member = host.session.members[i];
    if (id) {
      push_variable(host, state, member, *id);
    } else if (push_other(host, state, member) < 0) {
      return kFailed;
    }
    if (lua_isnil(state, -1)) {
      return fail(host,
                  "ms:all \"" + printable(*string_at(state, 2), 60) +
                      "\": some of the matches do not have it",
                  {}, {}, "let `together` return whether the match has it");
    }
    lua_rawseti(state, 3, static_cast<int>(i) + 1);
    lua_settop(state, 3);
  }
  return 1;
}

int group_index(Host& host, lua_State* state) {
  if (check_handle(host, state, 1, HandleKind::kGroup, "ms") == nullptr) {
    return kFailed;
  }
  if (lua_type(state, 2) == LUA_TNUMBER) {
    const double i = lua_tonumber(state, 2);
    const auto count = static_cast<double>(host.session.members.size());
    if (i < 1 || i > count ||
        i != static_cast<double>(static_cast<std::size_t>(i))) {
      return lua_pushnil(state), 1;
    }
    push_match(host, state, static_cast<std::size_t>(i) - 1);
    return 1;
  }
  const std::optional<int> field = find_field(host, state, HandleKind::kGroup);
  if (!field) return kFailed;
  if (*field == kMethod) return 1;
  return *field == 0 ? push_options(host, state) : push_graph(host, state);
}

int group_length(Host& host, lua_State* state) {
  if (check_handle(host, state, 1, HandleKind::kGroup, "ms") == nullptr) {
    return kFailed;
  }
  lua_pushnumber(state, static_cast<double>(host.session.members.size()));
  return 1;
}

constexpr Field kGroupFields[] = {
    {"options", nullptr},
    {"graph", nullptr},
    {"all", nullptr, method<HandleKind::kGroup, all>}};

// --- options

int options_index(Host& host, lua_State* state) {
  lua_pushvalue(state, 2);
  lua_rawget(state, lua_upvalueindex(2));
  if (lua_islightuserdata(state, -1)) lua_pushnil(state);  // not set
  if (lua_gettop(state) > 3 || !lua_isnil(state, -1)) return 1;
  const auto name = string_at(state, 2);
  if (!name) {
    return fail(host, "options are indexed by names", {}, kind_of(state, 2));
  }
  const std::vector<std::string> known =
      string_keys(state, lua_upvalueindex(2));
  return fail(host, "the rule has no option '" + printable(*name, 60) + "'", {},
              {}, suggestion(*name, known));
}

int options_assign(Host& host, lua_State*) {
  return fail(host, "options cannot be assigned", {}, {},
              "the caller of the rule sets them");
}

void push_option(lua_State* state, const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    lua_pushboolean(state, static_cast<int>(*flag));
  } else if (const auto* number = std::get_if<double>(&value)) {
    lua_pushnumber(state, *number);
  } else {
    push(state, std::get<std::string>(value));
  }
}

}  // namespace

void make_match_metatables(Host& host, lua_State* state) {
  make_metatable(host, state, HandleKind::kMatch, entry<match_index>, {},
                 {{"__newindex", entry<match_assign>},
                  {"__tostring", entry<match_tostring>}});
  make_metatable(host, state, HandleKind::kGroup, entry<group_index>,
                 kGroupFields, {{"__len", entry<group_length>}});
}

void push_match(Host& host, lua_State* state, std::size_t index) {
  push_handle(
      host, state,
      {.kind = HandleKind::kMatch, .id = static_cast<std::uint32_t>(index)});
}

void push_group(Host& host, lua_State* state) {
  push_handle(host, state, {.kind = HandleKind::kGroup});
}

std::string_view tag_of(const Host& host, ir::NodeId node) {
  if (host.session.members.size() != 1 || pattern_of(host) == nullptr) {
    return {};
  }
  const std::vector<pattern::Variable>& all = pattern_of(host)->variables();
  const match::Match& match = *host.session.members[0].match;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const match::Bound& bound = match.bound[i];
    if (bound.kind == match::Bound::Kind::kNode && bound.node == node) {
      return all[i].name;
    }
  }
  return {};
}

std::string match_name_hint(const Host& host, std::string_view word) {
  const Session& session = host.session;
  if (session.stage == Stage::kNone || session.members.empty()) return {};
  const std::vector<std::string>& computed = session.frame->rule->computed;
  bool known = word == "options" || word == "graph" ||
               std::ranges::binary_search(computed, word);
  if (const pattern::Pattern* pattern = pattern_of(host)) {
    known = known || std::ranges::any_of(
                         pattern->variables(),
                         [&](const auto& each) { return each.name == word; });
  }
  if (!known) return hint_of_op(word);
  const bool list =
      session.stage == Stage::kRewrite && session.frame->rule->together != 0;
  const std::string name = (list ? "ms[1]." : "m.") + std::string(word);
  const std::string_view view = name;
  return did_you_mean({&view, 1});
}

FunctionRef make_names(lua_State* state, const pattern::Pattern& pattern) {
  const std::vector<pattern::Variable>& all = pattern.variables();
  lua_createtable(state, 0, static_cast<int>(all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    lua_pushinteger(state, static_cast<lua_Integer>(i) + 1);
    lua_setfield(state, -2, all[i].name.c_str());
  }
  return luaL_ref(state, LUA_REGISTRYINDEX);
}

FunctionRef make_options(Host& host, lua_State* state, const LoadedRule& rule) {
  lua_newuserdata(state, 0);
  lua_createtable(state, 0, 3);
  lua_createtable(state, 0, static_cast<int>(rule.options.size()));
  for (const std::string& name : rule.unset_options) {
    lua_pushlightuserdata(state, nullptr);
    lua_setfield(state, -2, name.c_str());
  }
  for (const auto& [name, value] : rule.options) {
    push_option(state, value);
    lua_setfield(state, -2, name.c_str());
  }
  set_function(state, host, "__index", entry<options_index>, 1);
  set_function(state, host, "__newindex", entry<options_assign>);
  hide_metatable(state);
  lua_setmetatable(state, -2);
  return luaL_ref(state, LUA_REGISTRYINDEX);
}

}  // namespace ruleengine::lua
