// For programs that own their process: what the library asks of it.
#pragma once

#include "core/io/load.h"

namespace ruleengine::api {

// Installs signal handlers, once. A signal that ends the process first removes
// unfinished files. Reading a mapped file that was cut short is an error
// instead of SIGBUS.
void handle_signals();

// The second of these alone.
using io::guard_mapping_faults;

}  // namespace ruleengine::api
