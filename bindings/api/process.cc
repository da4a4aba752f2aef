#include "bindings/api/process.h"

#include "core/io/load.h"
#include "core/io/signals.h"

namespace ruleengine::api {

void handle_signals() {
  io::guard_mapping_faults();
  io::clean_up_on_signals();
}

}  // namespace ruleengine::api
