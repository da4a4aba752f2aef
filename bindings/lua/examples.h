// Examples: runs the examples of a rule file and gives each a verdict. The
// graph before is rewritten by the rule alone to the fixed point and compared
// with the one after, up to renaming. Executing both on random inputs is left
// to an Executor, which the native runtime will provide; without one that step
// is reported as not run.
#ifndef RULEENGINE_BINDINGS_LUA_EXAMPLES_H_
#define RULEENGINE_BINDINGS_LUA_EXAMPLES_H_

#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

enum class Verdict {
  kOk,
  kMissing,  // should have fired (or been rejected, or warned) and did not
  kNoisy,    // fired or warned where it should not
  kWrong,    // fired, but the graph is another than `after`
  kUnsound,  // the graphs compute different numbers
  kError,    // it is wrong in itself, or a callback failed
};
std::string_view verdict_name(Verdict verdict);

// Compares two models by execution on random inputs.
class Executor {
 public:
  virtual ~Executor() = default;
  // None when they agree; else what differs.
  virtual Result<std::optional<std::string>> difference(
      const ir::Model& before, const ir::Model& after) = 0;
};

struct ExampleResult {
  std::string rule, title;
  Verdict verdict = Verdict::kOk;
  std::string detail;  // what differs, or the reason that came instead
  // Lines that show it: how far the pattern got, or the graph that came out.
  std::string notes;
  int line = 0;
  bool executed = false;
};

// A result of kError has an error beside it (kRule or kLimit); after a limit the
// rule's other examples are left out.
struct ExampleRuns {
  std::vector<ExampleResult> results;
  std::vector<Diagnostic> errors;
};
ExampleRuns run_examples(RuleSet& set, Executor* executor);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_EXAMPLES_H_
