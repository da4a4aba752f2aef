// Replaces what `match` returned by what `rewrite` returns. Internal to
// bindings/lua.
#pragma once

#include <optional>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// The results are the whole stack: one for each result of
// the pattern; in a group one for each member (or one list of them all), each a
// value or, where the pattern has several results, a table of them. A
// Diagnostic when there are too few or too many; a rejection when something
// still reads a result that became nil, or when nothing would change.
Result<std::optional<rewrite::Rejection>> replace_results(Host& host,
                                                          lua_State* state,
                                                          bool group);

}  // namespace ruleengine::lua
