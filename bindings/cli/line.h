// Line: the command line, and the options that several verbs share.
#ifndef RULEENGINE_BINDINGS_CLI_LINE_H_
#define RULEENGINE_BINDINGS_CLI_LINE_H_

#include <CLI/CLI.hpp>

#include <cstdint>

#include "bindings/cli/options.h"

namespace ruleengine::cli {

// Runs a verb and returns the exit code; diagnostics go to stderr, results to
// stdout.
using Verb = int (*)(const Options&);

// The parser of the command line, and what it parsed.
struct Line {
  CLI::App app{"Rewrites ONNX models with rules written in Lua.", "ruleengine"};
  Options options;
  Verb verb = nullptr;
};

// Accept plain decimal numbers within these bounds.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);
CLI::Validator number(double least, double most);
CLI::Validator seconds();

CLI::App* add_verb(Line& line, Verb run, const char* name, const char* what,
                   const char* example);
void add_paths(CLI::App* verb, Options& o, const char* what);
// The options of every verb that loads rules.
void add_rule_options(CLI::App* verb, Options& o);
void add_memory_option(CLI::App* verb, Options& o);
// The option of every verb that runs rules over models.
void add_exact(CLI::App* verb, Options& o);
// The option of verbs that can run other rules first.
void add_first(CLI::App* verb, Options& o);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_LINE_H_
