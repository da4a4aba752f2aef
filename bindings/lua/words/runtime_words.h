// Runtime words: the functions for `where`, `rewrite` and the other callbacks:
// need, refuse, assume, attempt, float. Every rule file sees them. While a rule
// file is being loaded, only `float` works; the others report an error.
#ifndef RULEENGINE_BINDINGS_LUA_WORDS_RUNTIME_WORDS_H_
#define RULEENGINE_BINDINGS_LUA_WORDS_RUNTIME_WORDS_H_

struct lua_State;

namespace ruleengine::lua {

// Adds them to the table on top of the stack. Called once for each state, under
// Sandbox::protect; may raise a Lua error.
void install_runtime_words(lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_WORDS_RUNTIME_WORDS_H_
