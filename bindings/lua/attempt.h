// attempt(at, function() ... end): a part of a `pass` that is a transaction of
// its own. A `need` inside ends that part alone, and is reported as met at the
// node `at`; so is what the check of the whole part says. What it built is
// known to nobody outside. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_ATTEMPT_H_
#define RULEENGINE_BINDINGS_LUA_ATTEMPT_H_

#include "bindings/lua/runtime.h"

namespace ruleengine::lua {

int attempt(Runtime& rt, lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_ATTEMPT_H_
