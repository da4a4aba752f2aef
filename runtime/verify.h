// Whether two models compute the same: both run on the same inputs, of several
// sizes and kinds. They run twice. In doubles, where results that are the same
// in theory differ by almost nothing: an element may be off by what noise of
// 2^-40 in each step, and the rounding of constants that one model alone has,
// move it by. And in the types of the models, where it may be off by some times
// what rounding in each step moves it by. An element's bound is never that of
// another element.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/compare.h"
#include "runtime/executor.h"
#include "runtime/random_inputs.h"

namespace ruleengine::runtime {

struct VerifyOptions {
  Backends backends;  // they must outlive the call
  int threads = 0;
  std::size_t limit_memory = HostMemory::kUnlimited;
  Deadline deadline;
  InputOptions inputs;
  // Replaces both bounds.
  std::optional<Tolerance> tolerance;
};

struct Verification {
  std::size_t inputs = 0;           // sets of inputs that both models ran on
  double max_abs = 0, max_rel = 0;  // in the types of the models
  // Of the named dimensions, without repeats and in the order in which they
  // ran.
  std::map<std::string, std::vector<std::int64_t>> sizes;
  std::optional<Mismatch> mismatch;
  Executor::Named shown_by;  // the inputs of the mismatch
  // Why the models could not be compared: they ran on no inputs, or an output
  // was never finite.
  std::string unverified;
  std::size_t left_out = 0;        // outputs that were not compared
  std::vector<std::string> notes;  // which and why, and what else was not seen
};

// Errors: only a limit that was reached, and bad options. A model that cannot
// be run leaves the verification open; where only `after` cannot, it is a
// mismatch.
// With `inputs`: on those alone.
Result<Verification> verify(const ir::Model& before, const ir::Model& after,
                            const VerifyOptions& options,
                            const Executor::Named* inputs = nullptr);

}  // namespace ruleengine::runtime
