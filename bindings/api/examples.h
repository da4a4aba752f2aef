// The examples of rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/api/rules.h"
#include "bindings/lua/examples.h"
#include "bindings/lua/fuzz.h"
#include "core/base/diagnostic.h"
#include "core/engine/json.h"
#include "runtime/compare.h"

namespace ruleengine::api {

struct TestOptions : RuleOptions {
  // How far results may differ, as in ExecutionOptions.
  std::optional<runtime::Tolerance> tolerance;
  // Which examples get the graph that was found in place of the expected one:
  // those that execution shows to be right, or also those that cannot be run.
  enum class Update { kNone, kExecuted, kAll };
  Update update = Update::kNone;
  // Without mutants, only the examples are run.
  lua::FuzzOptions fuzz;
};

struct Tested {
  std::vector<lua::ExampleResult> results;
  // What became of each result whose expected graph was to be updated; the
  // verdict is then that of the new one.
  struct Update {
    std::size_t result = 0;  // its index
    std::string why_not;     // "": its file was written
  };
  std::vector<Update> updates;
  std::vector<lua::FuzzResult> fuzzed;  // by example
  // Of files that cannot be loaded, and of a run that ended too early.
  std::vector<Diagnostic> errors_of_files;
  std::vector<Diagnostic> errors_of_examples;
  std::vector<std::string> warnings;

  std::size_t passed() const;
  std::size_t failed() const;        // examples, and those with a wrong mutant
  std::size_t not_executed() const;  // of those that passed
};

// Runs the examples of the rules of these files, folders and packs. An error in
// one file or example does not stop the others.
Tested test(const std::vector<std::string>& paths, const TestOptions& options);

// The examples.
Json to_json(const Tested& tested);
// An object with the examples, the errors and the warnings.
Json report_json(const Tested& tested);
// As text for people; `quiet`: only what is not ok, and the counts.
std::string text_of(const Tested& tested, bool quiet = false);
// As JUnit XML, which CI services show: a suite for each rule file, a case for
// each example; an example that was not executed says so in <system-out>.
// Errors of no example are a suite of their own. Valid XML for any bytes in
// names and texts.
std::string junit_of(const Tested& tested);

}  // namespace ruleengine::api
