// Counterexamples: pairs of models and the inputs on which they differ, as a
// folder for a person to look at: inputs.npz, before.onnx, after.onnx, and a
// README.txt that says what is wrong and how to see it. Where few nodes show
// it, the same of those: part_inputs.npz and so on.
#pragma once

#include <memory>
#include <string>

#include "bindings/api/scratch.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/npz.h"

namespace ruleengine::api {

// The folder appears whole, by finish(), or not at all. One that an earlier run
// wrote is replaced; any other folder or file of that name stays, which is an
// error (kWrite).
class Counterexample {
 public:
  struct Pair {
    const ir::Model& before;
    const ir::Model& after;
    const runtime::NamedData& inputs;
  };

  explicit Counterexample(std::string folder) : folder_(std::move(folder)) {}

  // The models whole.
  Status add(const Pair& pair) { return add("", pair); }
  // The few nodes.
  Status add_part(const Pair& pair);

  struct Text {
    std::string model;    // the name of the model that was rewritten
    std::string rewrite;  // the rule and its place; "": unknown
    std::string differs;  // how the outputs differ
  };
  Status finish(const Text& text);

 private:
  Status start();
  Status add(const std::string& prefix, const Pair& pair);
  std::string readme(const Text& text) const;

  std::string folder_;
  std::unique_ptr<Scratch> scratch_;  // nullptr: nothing was added yet
  bool has_part_ = false;
};

}  // namespace ruleengine::api
