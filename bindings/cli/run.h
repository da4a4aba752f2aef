// What the verbs that rewrite models share.
#pragma once

#include <string>
#include <vector>

#include "bindings/api/rewrite.h"
#include "bindings/cli/line.h"
#include "bindings/cli/options.h"

namespace ruleengine::cli {

struct RunFlags : RuleFlags {
  std::string output;
  std::string report;  // a file
  std::string verify;  // "", "model", "lenient" or "local"
  InputFlags in;
  TuningFlags tuning;
  engine::FixedSizes fixed;  // what --dims makes of the model
  bool share_data = false;
  bool dry_run = false;
  bool step = false, watch = false;
  bool require_match = false;
  bool if_faster = false, bench = false;
  bool every_target = false;  // to measure, if the target is auto
  int jobs = 1;
  bool quiet = false, verbose = false;
};

// --target with the names of all targets.
void add_target(VerbLine& verb, RunFlags& flags, const std::string& what);
// The options that all of them have.
void add_run_options(VerbLine& verb, RunFlags& flags);

// Rejects options that are wrong by themselves or beside others.
void check_options(const RunFlags& flags);

// Rewrites the models; returns the exit code.
int run_models(const RunFlags& given);

// `run --step`: shows a rewrite on stdout, and reads the answer from stdin. Its
// end answers "quit": that rewrite and all further ones are left out.
api::AskStep ask_on_terminal();

}  // namespace ruleengine::cli
