// Line: the command line, and the options that several verbs share.
#ifndef RULEENGINE_BINDINGS_CLI_LINE_H_
#define RULEENGINE_BINDINGS_CLI_LINE_H_

#include <CLI/CLI.hpp>

#include <cstdint>

#include "bindings/cli/options.h"

namespace ruleengine::cli {

// Does what the options say and returns the exit code; diagnostics go to
// stderr, results to stdout.
using Verb = int (*)(const Options&);

// What the command line may say, and what it said.
struct Line {
  CLI::App app{"Rewrites ONNX models with rules written in Lua.", "ruleengine"};
  Options options;
  Verb verb = nullptr;
};

// Plain decimal numbers in these bounds.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);
CLI::Validator number(double least, double most);
CLI::Validator seconds();

CLI::App* add_verb(Line& line, Verb run, const char* name, const char* what,
                   const char* example);
void add_paths(CLI::App* verb, Options& o, const char* what);
// What every verb takes that loads rules.
void add_rule_options(CLI::App* verb, Options& o);
void add_memory_option(CLI::App* verb, Options& o);
// What every verb takes that runs rules over models.
void add_exact(CLI::App* verb, Options& o);
// What verbs take that look at what rules leave.
void add_first(CLI::App* verb, Options& o);

}  // namespace ruleengine::cli

#endif  // RULEENGINE_BINDINGS_CLI_LINE_H_
