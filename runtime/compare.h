// Whether two runs gave the same results, within what rounding explains.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace ruleengine::runtime {

struct Mismatch {
  std::string output;
  std::string text;  // how they differ: type, shape, or the worst element
};

// The largest differences that were seen, and the first output that differs by
// more than its tolerance.
struct Comparison {
  double max_abs = 0, max_rel = 0;  // max_rel: of the largest element
  std::optional<Mismatch> mismatch;
};

// How far numbers may differ: `abs`, plus `rel` times their size.
struct Tolerance {
  double abs = 0, rel = 0;
};

// How far an output moves by itself, when inputs change by a rounding error; in
// the order of the outputs.
using Slack = std::vector<double>;

// Compares by place. A difference may be the tolerance of the type times the
// element's and the tensor's largest size, plus the slack of the output.
// Integers, bool and strings are equal, except as far as there is slack. Where
// `before` has NaN, anything is right.
Comparison compare(const Executor::Named& before, const Executor::Named& after,
                   const Slack& slack = {});

// The largest difference of each output, whatever its type.
Slack distances(const Executor::Named& a, const Executor::Named& b);

}  // namespace ruleengine::runtime
