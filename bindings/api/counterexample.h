// Counterexamples: two models and the inputs on which they differ, as a folder
// for a person to look at: inputs.npz, before.onnx, after.onnx, and a
// README.txt that says what is wrong and how to see it.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/npz.h"

namespace ruleengine::api {

struct Counterexample {
  const ir::Model& before;
  const ir::Model& after;
  const runtime::NamedData& inputs;
  std::string model;    // the name of the model that was rewritten
  std::string rewrite;  // the rule and its place; "": unknown
  std::string differs;  // how the outputs differ
};

// The folder appears whole or not at all. One that an earlier run wrote is
// replaced; any other folder or file of that name stays, which is an error
// (kWrite).
Status save_counterexample(const Counterexample& example,
                           const std::string& folder);

}  // namespace ruleengine::api
