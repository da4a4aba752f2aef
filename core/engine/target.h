// Targets: the forms that a result is written in. A target is its row here and
// its rules in rules/targets.
#ifndef RULEENGINE_CORE_ENGINE_TARGET_H_
#define RULEENGINE_CORE_ENGINE_TARGET_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::engine {

struct Target {
  std::string_view name;
  // The folder of its rules, below rules/. None: nothing is said anew, ops of
  // the engine's own get function bodies.
  std::string_view rules;
  // The opset is raised for what its rules can say in a newer one.
  bool raises = false;
};

std::span<const Target> targets();
// nullptr where there is none of that name.
const Target* find_target(std::string_view name);
// The one of this model where nobody chose: the standard's own ops, where the
// model's opset has them.
const Target& target_of(const ir::Model& model);
// "auto, portable, onnx or ort".
std::string target_names();

// Paths below rules/: the target's rules, the lowering of what no target but
// `portable` has a word for, and what takes away the layout that this leaves.
std::vector<std::string> rules_of(const Target& target);

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_TARGET_H_
