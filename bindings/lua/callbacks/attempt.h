// attempt(at, function() ... end): a part of a `pass` that is its own
// transaction, in the block of the node `at`. A `need` inside ends only that
// part and is reported at `at`; the same holds if the check of the whole part
// fails. If an earlier part removed `at`, nothing is called. Handles of what
// was built inside are invalid outside. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_CALLBACKS_ATTEMPT_H_
#define RULEENGINE_BINDINGS_LUA_CALLBACKS_ATTEMPT_H_

#include "bindings/lua/session/host.h"

namespace ruleengine::lua {

int attempt(Host& host, lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_CALLBACKS_ATTEMPT_H_
