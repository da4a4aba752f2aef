// Callback words: the functions for `where`, `rewrite` and the other callbacks:
// need, refuse, assume, attempt, float. Every rule file sees them. While a rule
// file is being loaded, only `float` works; the others report an error.
#ifndef RULEENGINE_BINDINGS_LUA_CALLBACKS_CALLBACK_WORDS_H_
#define RULEENGINE_BINDINGS_LUA_CALLBACKS_CALLBACK_WORDS_H_

#include "bindings/lua/session/host.h"

namespace ruleengine::lua {

// Makes the state's Host, with the metatables of handles. May raise a Lua
// memory error.
Host& make_host(lua_State* state);
// Makes the Host and adds the words to the table on top of the stack. Called
// once for each state, under Sandbox::protect; may raise a Lua error.
void install_callback_words(lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_CALLBACKS_CALLBACK_WORDS_H_
