// attempt(at, function() ... end): a part of a `pass` that is a transaction of
// its own, in the block of the node `at`. A `need` inside ends that part alone,
// and is reported as met there; so is what the check of the whole part says. A
// node that went with an earlier part is not attempted. What it built is
// known to nobody outside. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_CALLBACKS_ATTEMPT_H_
#define RULEENGINE_BINDINGS_LUA_CALLBACKS_ATTEMPT_H_

#include "bindings/lua/callbacks/runtime.h"

namespace ruleengine::lua {

int attempt(Runtime& rt, lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_CALLBACKS_ATTEMPT_H_
