#include "bindings/lua/callbacks/match_value.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/lua/nodes/attribute_value.h"
#include "bindings/lua/rule_file.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "core/base/suggest.h"

namespace ruleengine::lua {
namespace {

using match::Bound;
using pattern::Pattern;
using pattern::VariableId;

// Whether the rule's own pattern binds the name once for the match.
bool bound_once(const Host& host, std::string_view name) {
  const auto& pattern = host.session.frame->rule->pattern;
  return pattern &&
         std::ranges::any_of(pattern->variables(), [&](const auto& v) {
           return v.name == name && !v.repeated;
         });
}

// __index of a record: nil for a name that this step does not bind, an error
// for a name that no step binds. Upvalues behind the first: the name of the
// chain, and a table whose keys are the names that steps bind.
int no_field(Host& host, lua_State* state) {
  const auto name = string_at(state, 2);
  const std::string step =
      "a step of m." + std::string(*string_at(state, lua_upvalueindex(2)));
  if (!name) {
    return fail(host, step + " has names only", "a name", kind_of(state, 2));
  }
  lua_pushvalue(state, 2);
  lua_rawget(state, lua_upvalueindex(3));
  if (!lua_isnil(state, -1)) return lua_pushnil(state), 1;
  const std::string what =
      step + " has no field '" + printable(*name, 60) + "'";
  if (bound_once(host, *name)) {
    return fail(host, what, {}, {},
                "it is bound outside of the steps: m." + std::string(*name));
  }
  return fail(host, what, {}, {},
              suggestion(*name, string_keys(state, lua_upvalueindex(3))));
}

int refuse_field(Host& host, lua_State*) {
  return fail(host, "a step of the match cannot be assigned to", {}, {},
              "m.name = x keeps a value for `rewrite`");
}

// The metatable of the records of a chain.
void push_record_metatable(Host& host, lua_State* state, const Pattern& pattern,
                           VariableId chain) {
  lua_createtable(state, 0, 3);
  set_function(state, host, "__newindex", entry<refuse_field>);
  push(state, pattern[chain].name);
  lua_createtable(state, 0, static_cast<int>(pattern[chain].fields.size()));
  for (const VariableId field : pattern[chain].fields) {
    push(state, pattern[field].name);
    lua_pushboolean(state, 1);
    lua_rawset(state, -3);
  }
  set_function(state, host, "__index", entry<no_field>, 2);
  hide_metatable(state);
}

void push_record(Host& host, lua_State* state, const Pattern& pattern,
                 VariableId chain, const Bound& bound) {
  const std::vector<VariableId>& fields = pattern[chain].fields;
  lua_createtable(state, 0, static_cast<int>(fields.size()));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = pattern[fields[i]].name;
    if (bound.list[i].kind == Bound::Kind::kNothing) {
      host.session.not_taken.push_back(name);
      continue;
    }
    push(state, name);
    push_bound(host, state, pattern, fields[i], bound.list[i]);
    lua_rawset(state, -3);
  }
}

// Recursive, as deep as `many` is nested in the pattern.
void push_bound_list(Host& host, lua_State* state, const Pattern& pattern,
                     VariableId variable, const Bound& bound) {
  luaL_checkstack(state, 16, "lists in lists");
  push_list(host, state, static_cast<int>(bound.list.size()));
  const int list = lua_gettop(state);
  const bool records =
      !bound.list.empty() && bound.list.front().kind == Bound::Kind::kRecord;
  if (records) push_record_metatable(host, state, pattern, variable);
  for (std::size_t i = 0; i < bound.list.size(); ++i) {
    if (records) {
      push_record(host, state, pattern, variable, bound.list[i]);
      lua_pushvalue(state, list + 1);
      lua_setmetatable(state, -2);
    } else {
      push_bound(host, state, pattern, variable, bound.list[i]);
    }
    lua_rawseti(state, list, static_cast<int>(i) + 1);
  }
  lua_settop(state, list);
}

}  // namespace

void push_bound(Host& host, lua_State* state, const Pattern& pattern,
                VariableId variable, const Bound& bound) {
  switch (bound.kind) {
    case Bound::Kind::kNothing:
    case Bound::Kind::kRecord:  // only in lists
      return lua_pushnil(state);
    case Bound::Kind::kValue:
      return push_constant(host, state, bound.value, bound.transposed);
    case Bound::Kind::kNode:
      return push_node(host, state, bound.node);
    case Bound::Kind::kDim:
      return push_dim(host, state, bound.dim);
    case Bound::Kind::kAttribute:
      return push_attribute(host, state, *bound.attribute);
    case Bound::Kind::kList:
      return push_bound_list(host, state, pattern, variable, bound);
  }
}

}  // namespace ruleengine::lua
