// What the verbs that rewrite models share.
#pragma once

#include "bindings/cli/options.h"

namespace ruleengine::cli {

// Rewrites the models of the options; returns the exit code.
int run_models(const Options& options);

}  // namespace ruleengine::cli
