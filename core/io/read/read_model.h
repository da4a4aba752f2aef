// Reads a whole ModelProto into context.model: header, opsets, graph,
// functions, and a check of what stays opaque. See context.h.
#pragma once

#include "core/io/read/context.h"
#include "core/io/read/read_graph.h"

namespace ruleengine::io {

bool read_model(Context& context);
// Checks the functions as a whole: names are unique, calls fit, there is no
// recursion, and the expansion of all calls is bounded.
bool check_functions(Context& context);

// Reads a FunctionProto and adds it to context.model.
bool read_function(Context& context, Bytes proto, Scope& scope);

}  // namespace ruleengine::io
