// The options that several verbs share; each verb adds its own. Parsing fills
// in one such struct, the verb reads only that, never argv.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bindings/api/execution.h"
#include "bindings/api/limits.h"
#include "bindings/api/rules.h"
#include "bindings/api/tune.h"

namespace ruleengine::cli {

// Of every verb.
struct Flags {
  std::string example;             // an example call of the verb, for hints
  std::vector<std::string> paths;  // rules and models, in any order
  bool json = false;               // of verbs that can answer as JSON
  api::Limits limits;              // without the deadline; see limits_of()
  double seconds = 0;              // --limit-time; 0: an hour for each model
  // The seconds count from here, for all models together.
  std::chrono::steady_clock::time_point started =
      std::chrono::steady_clock::now();
};

// Of verbs that run rules over models.
struct RuleFlags : Flags {
  std::vector<std::string> sets;   // RULE.OPTION=VALUE
  std::vector<std::string> first;  // rules to run before
  engine::RunOptions run;
};

// Of verbs that run models.
struct InputFlags {
  std::vector<std::string> dims;  // NAME=SIZE; run also: NAME=NAME
  api::ExecutionOptions how;
  std::optional<std::string> tolerance;  // ABS,REL; of verbs that compare
};

// Of verbs that measure.
struct TuningFlags {
  std::string runtime;
  double seconds = 0;          // 0: the default
  std::string record, replay;  // files of measurements
};

}  // namespace ruleengine::cli
