// replace_pattern(graph, pattern, replacement): works in a `pass`. Takes two
// functions with the same parameters, replaces every match, and returns a list
// of the matches. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_CALLBACKS_REPLACE_PATTERN_H_
#define RULEENGINE_BINDINGS_LUA_CALLBACKS_REPLACE_PATTERN_H_

#include "bindings/lua/words/words.h"

namespace ruleengine::lua {

// Adds the word to the table on top of the stack; `words` outlives the state.
void install_replace_pattern(lua_State* state, Words& words);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_CALLBACKS_REPLACE_PATTERN_H_
