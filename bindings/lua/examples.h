// Examples: runs the examples of a rule file and gives each a verdict. The
// graph before is rewritten by the rule alone to the fixed point and compared
// with the graph after, up to renaming. `compare` runs both on random inputs;
// without it that step is reported as not run. `evaluator` folds constants of
// the graphs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "core/engine/verify.h"

namespace ruleengine::lua {

enum class Verdict {
  kOk,
  kMissing,  // did not fire (or was not rejected, or did not warn) as expected
  kNoisy,    // fired or warned, and should not
  kWrong,    // fired, but the result is not `after`
  kUnsound,  // the graphs compute different numbers
  kError,    // the example is invalid, or a callback failed
};
std::string_view verdict_name(Verdict verdict);

struct ExampleResult {
  std::string rule, file, title;
  Verdict verdict = Verdict::kOk;
  std::string detail;  // the difference, or the reason that was found
  // More lines: how far the pattern got, or the resulting graph.
  std::string notes;
  int line = 0;
  bool executed = false;
  std::string not_executed;  // why not, though it was rewritten
  std::size_t place = 0;     // among the examples of its rule
  // Whether the rule made another graph than `after`; and that graph as an
  // example lists it, if asked for and unless execution shows that it is wrong.
  bool differs = false;
  std::optional<std::string> found;
};

// Each result with kError has an error (kRule or kLimit) here; after a limit
// the rule's other examples are skipped.
struct ExampleRuns {
  std::vector<ExampleResult> results;
  std::vector<Diagnostic> errors;
  std::optional<Diagnostic> stopped;  // the deadline passed before the end
};
// `proposes`: whether ExampleResult::found is asked for.
ExampleRuns run_examples(RuleSet& set, const engine::CompareModels& compare,
                         const ir::Evaluator* evaluator = nullptr,
                         bool proposes = false);

}  // namespace ruleengine::lua
