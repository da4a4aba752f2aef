// The sets of inputs on which a model is verified. They are drawn for what the
// graph does with them (runtime/drawing/input_uses.h): ordinary ones of several
// sizes, numbers of several magnitudes, masks that hide rows, and ones that
// take the branches of If that no other set took. The model runs on each of
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/executor.h"
#include "runtime/random_inputs.h"

namespace ruleengine::runtime {

struct InputSet {
  Executor::Named inputs;
  Executor::Named outputs;                    // of the model on them
  std::map<std::string, std::int64_t> sizes;  // of the named dimensions
  // "" for ordinary values, else what they are: "exact floats", "small floats",
  // "floats of some units", "positive floats", "floats from -1 to 1", "numbers
  // that are compared", "numbers for masks"; with `extremes` also "large
  // floats", "huge floats", "tiny floats", "hidden rows".
  std::string kind;
};

struct DrawnSets {
  std::size_t sets = 0;
  std::string unverified;           // why none ran
  std::optional<Diagnostic> limit;  // of memory, where one set met it
  // What no set shows: "the else branch of If 'x' was never taken".
  std::vector<std::string> notes;
};

// Calls `visit` with each set that the model ran on; false ends it. Errors:
// those of `visit`, a deadline that passed, and kUsage for sizes of names that
// no input has.
Result<DrawnSets> for_each_input_set(
    const ir::Model& model, ExecutorOptions executor,
    const InputOptions& options,
    const std::function<Result<bool>(const InputSet&)>& visit);

}  // namespace ruleengine::runtime
