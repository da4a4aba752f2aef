// What becomes of the results of callbacks. Internal to bindings/lua.
#pragma once

#include <string>

#include "bindings/lua/callbacks/callback.h"
#include "bindings/lua/session/handle.h"
#include "bindings/lua/words/replacement.h"

namespace ruleengine::lua {

// Replaces what `match` returned by what `rewrite` returns. The results are the
// whole stack: one for each result of the pattern; in a group one for each
// member (or one list of them all), each a value or, where the pattern has
// several results, a table of them. A Diagnostic when there are too few or too
// many; a rejection when something still reads a result that became nil, or
// when nothing would change.
Result<Ended> replace_results(Host& host, lua_State* state, bool group);

// Builds a Replacement in the place of one match, through the session's Edit,
// and pushes a value for each result. False after a fail() or reject().
// `computed` is the table of what `where` put onto m; 0: none.
bool push_replacement(Host& host, lua_State* state,
                      const Replacement& replacement, const match::Match& match,
                      FunctionRef computed);

// The key that `together` returns: writes all values on the stack. Equal keys
// give equal texts in every run. A Diagnostic if a value cannot be a key.
Status write_key(Host& host, lua_State* state, std::string& out);

}  // namespace ruleengine::lua
