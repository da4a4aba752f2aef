// For programs that own their process: what the library asks of it.
#pragma once

#include "core/io/load.h"
#include "core/io/signals.h"

namespace ruleengine::api {

// Once: reading a mapped file that was cut short is then an error instead of
// SIGBUS.
using io::guard_mapping_faults;
// Once: a signal that ends the process then first removes unfinished files.
using io::clean_up_on_signals;

}  // namespace ruleengine::api
