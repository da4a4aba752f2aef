// Callback words: the functions for `where`, `rewrite` and the other callbacks:
// need, refuse, assume, attempt, float, replace_pattern. Every rule file sees
// them. While a rule file is being loaded, only `float` works; the others
// report an error.
#pragma once

#include "bindings/lua/session/host.h"
#include "bindings/lua/words/words.h"

namespace ruleengine::lua {

// Makes the state's Host, with the metatables of handles. May raise a Lua
// memory error.
Host& make_host(lua_State* state);
// Makes the Host and adds the words to the table on top of the stack; `words`
// outlives the state. Called once for each state, under Sandbox::protect; may
// raise a Lua error.
void install_callback_words(lua_State* state, Words& words);

// --- The words with files of their own

// attempt(at, function() ... end): a part of a `pass` that is its own
// transaction, in the block of the node `at`. A `need` inside ends only that
// part and is reported at `at`; the same holds if the check of the whole part
// fails. If an earlier part removed `at`, nothing is called. Handles of what
// was built inside are invalid outside.
int attempt(Host& host, lua_State* state);

// replace_pattern(graph, pattern, replacement): works in a `pass`. Takes two
// functions with the same parameters, replaces every match, and returns a list
// of the matches.
int replace_pattern(Host& host, lua_State* state);

}  // namespace ruleengine::lua
