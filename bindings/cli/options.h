// The options of every verb, as the command line gives them. Parsing fills one
// Options; the verbs read only that, never argv.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/fixed_sizes.h"

namespace ruleengine::cli {

struct Options {
  std::string example;             // an example call of the verb, for hints
  std::vector<std::string> paths;  // rules and models, in any order
  std::string output;
  std::vector<std::string> sets;  // RULE.OPTION=VALUE
  std::string target = "auto";
  std::int64_t opset = 0;  // 0: none
  std::string report;
  std::string verify;  // "", "model" or "local"
  bool exact = false;
  bool keep_ir_version = false;
  bool share_data = false;
  bool dry_run = false;
  bool require_match = false;
  std::uint64_t limit_rewrites = 1'000'000;
  double limit_time = 0;  // seconds; 0: an hour for each model
  double limit_callback = 5;
  double limit_load = 2;
  std::uint64_t limit_memory = 1024;  // MiB
  int jobs = 1;
  bool quiet = false;
  bool verbose = false;
  bool json = false;                // match, test and others
  std::string node;                 // explain
  std::vector<std::string> first;   // rules to run before
  double min = 0;                   // coverage: percent
  bool weights = false;             // print
  std::vector<std::string> rules;   // draw: rules whose matches are coloured
  std::uint64_t boxes = 160;        // draw: the most boxes in one picture
  std::string inputs;               // exec
  bool random = false;              // exec
  int ranks = 0;                    // exec; 0: one for each model
  std::vector<std::string> dims;    // NAME=SIZE; run also: NAME=NAME
  engine::FixedSizes fixed;         // run: what --dims says
  std::uint64_t seed = 0;           // exec
  int threads = 0;                  // exec; 0: one for each core
  std::uint64_t limit_tensors = 0;  // MiB; 0: by the machine
  std::string profile;              // exec and bench: a file
  std::string against;              // bench: a model
  std::size_t rounds = 0;           // bench; 0: as many as time allows
  bool if_faster = false;           // run
  bool bench = false;               // run
  bool every_target = false;        // tune, if the target is auto
  std::string runtime;              // what measures; "" is "ours"
  double tune_seconds = 0;          // 0: the default
  std::string record, replay;       // files of measurements
  // --limit-time counts from here, for all models together.
  std::chrono::steady_clock::time_point started =
      std::chrono::steady_clock::now();
};

}  // namespace ruleengine::cli
