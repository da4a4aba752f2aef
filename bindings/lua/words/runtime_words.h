// Runtime words: the words that `where`, `rewrite` and the other callbacks see
// beside the sandbox's: need, refuse, assume, attempt, float. They are words of
// every rule file, and all but the last say so when they are used while it is
// being loaded.
#ifndef RULEENGINE_BINDINGS_LUA_WORDS_RUNTIME_WORDS_H_
#define RULEENGINE_BINDINGS_LUA_WORDS_RUNTIME_WORDS_H_

struct lua_State;

namespace ruleengine::lua {

// Adds them to the table on top of the stack. Called once for each state, under
// Sandbox::protect; may raise a Lua error.
void install_runtime_words(lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_WORDS_RUNTIME_WORDS_H_
