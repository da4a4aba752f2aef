// m and ms: a match, and the matches of a group, as rule code sees them.
// Internal to bindings/lua.
#pragma once

#include <string>
#include <string_view>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

void make_match_metatables(Host& host, lua_State* state);

// Pushes m of the session's member `index`; ms of all members.
void push_match(Host& host, lua_State* state, std::size_t index);
void push_group(Host& host, lua_State* state);

// Pushes what `variable` of `pattern` stands for: a value, node, dimension,
// attribute, list, or record of a step; nil if its branch was not taken.
void push_bound(Host& host, lua_State* state, const pattern::Pattern& pattern,
                pattern::VariableId variable, const match::Bound& bound);

// The tag that names `node` in the session's only match; "" when none does.
std::string_view tag_of(const Host& host, ir::NodeId node);

// "did you mean 'm.x'?" for a name of the current match, 'op.X' for the name of
// an op; else "".
std::string match_name_hint(const Host& host, std::string_view word);

// For make_rules: the table of a pattern's variables, and the read-only object
// of a rule's options; both as registry references.
FunctionRef make_names(lua_State* state, const pattern::Pattern& pattern);
FunctionRef make_options(Host& host, lua_State* state, const LoadedRule& rule);

}  // namespace ruleengine::lua
