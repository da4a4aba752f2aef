// Fuzz: runs rules on mutants of their examples (core/mutate). Where a rule
// fires, the mutant and its result are executed on random inputs and compared,
// as examples are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/examples.h"
#include "bindings/lua/rule_file.h"
#include "core/engine/verify.h"

namespace ruleengine::lua {

struct FuzzOptions {
  std::size_t mutants = 0;  // wanted of each example
  std::uint64_t seed = 0;
};

// The mutants of one example.
struct FuzzResult {
  std::string rule, file, title;
  int line = 0;           // of the example
  std::size_t place = 0;  // of the example, among those of its rule
  std::size_t mutants = 0, fired = 0, executed = 0;
  // Of those that were executed: the result differs, and rests on assumptions
  // that random inputs may not keep.
  std::size_t assumed = 0;
  std::string not_executed;  // why not, of the first that could not be
  // kOk, kUnsound, or kError: a callback failed, the rule did not end, or its
  // result is no valid model.
  Verdict verdict = Verdict::kOk;
  std::size_t wrong = 0;  // mutants that are not ok; few, then the search ends
  // Of the smallest that is not ok:
  std::size_t number = 0;            // among the mutants, from 1 on
  std::vector<std::string> changes;  // what was changed, "a size"
  std::string detail;                // as in ExampleResult
  std::string shown_by;              // the inputs, a line each
  std::string text;                  // an example, as a rule file has it
};

struct FuzzRuns {
  std::vector<FuzzResult> results;
  // A limit of the whole run was reached before the end.
  std::optional<Diagnostic> stopped;
};
// Examples that are no valid models are left out. The same options give the
// same mutants; the first of them are those of a smaller number.
FuzzRuns fuzz(RuleSet& set, const engine::CompareModels& compare,
              const ir::Evaluator* evaluator, const FuzzOptions& options);

}  // namespace ruleengine::lua
