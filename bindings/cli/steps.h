// `run --step`: asks about each rewrite.
#pragma once

#include "bindings/api/steps.h"

namespace ruleengine::cli {

// Shows a rewrite on stdout, and reads the answer from stdin. Its end answers
// "quit": that rewrite and all further ones are left out.
api::AskStep ask_on_terminal();

}  // namespace ruleengine::cli
