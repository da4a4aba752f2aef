// What the outputs of runs show: an output that is mostly NaN shows little of
// what the model computes. Internal to the drawing of inputs.
#pragma once

#include <vector>

#include "runtime/executor.h"

namespace ruleengine::runtime {

// Which outputs of a model were mostly numbers in some run.
class ShownOutputs {
 public:
  void note(const Executor::Named& outputs);
  // Whether an output was mostly NaN in all runs.
  bool hides() const;
  // Whether such an output has mostly numbers here.
  bool reveals(const Executor::Named& outputs) const;

 private:
  enum class Seen : unsigned char { kNothing, kNaN, kNumbers };
  static Seen seen(const Datum& output);
  std::vector<Seen> outputs_;
};

}  // namespace ruleengine::runtime
