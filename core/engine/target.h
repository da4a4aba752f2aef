// Targets: the forms that a result is written in. A target is its row here and
// its pack in rules/targets.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::engine {

struct Target {
  std::string_view name;
  // The pack of its rules, as a path below rules/: they write ops of the
  // engine's own in another form. "": such ops get function bodies.
  std::string_view rules;
  // Whether the opset may be raised if the target's rules need a newer one.
  bool raises = false;
  // Whether every op of the engine's own is written in standard ops: no
  // functions, no domain that the model has not, its opset and its IR version.
  bool plain = false;
  // Whether function bodies are told apart by overloads, or each by its name.
  bool overloads = true;
  // Whether ops of ONNX Runtime's domain that rules make get function bodies.
  // ONNX Runtime runs its own kernels for them all the same.
  bool foreign_bodies = false;

  bool operator==(const Target&) const = default;
};

// In the order in which tuning prefers them: first what most runtimes read.
std::span<const Target> targets();
// Without those that write the same as one before them.
std::vector<const Target*> distinct_targets();
// nullptr for an unknown name.
const Target* find_target(std::string_view name);
// The target that `auto` stands for: `onnx` if the model's opset has Attention;
// else `ort` if the model has ops of ONNX Runtime's own, which alone reads it;
// else `portable`.
const Target& target_of(const ir::Model& model);
// "auto, standard, ... or ort".
std::string target_names();

}  // namespace ruleengine::engine
