#include "core/engine/target.h"

#include <algorithm>
#include <array>

namespace ruleengine::engine {
namespace {

constexpr std::array kTargets = {
    Target{.name = "standard", .plain = true},
    Target{.name = "portable"},
    Target{.name = "onnx", .rules = "targets/onnx", .raises = true},
    Target{.name = "ort", .rules = "targets/ort"},
    Target{.name = "openvino", .plain = true},
    Target{.name = "tensorrt", .overloads = false},
};

// The first opset whose standard has Attention.
constexpr std::int64_t kAttentionOpset = 23;

constexpr std::array kLowering = {
    "lowering/in_projection.lua",      "lowering/layers.lua",
    "lowering/window_partition.lua",   "canonical/cancel_reshapes.lua",
    "canonical/cancel_transposes.lua",
};

bool is_of_onnx_runtime(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId node(i);
    if (!graph.node(node).removed && graph.op(node).domain == "com.microsoft") {
      return true;
    }
  }
  return false;
}

}  // namespace

std::span<const Target> targets() { return kTargets; }

std::vector<const Target*> distinct_targets() {
  std::vector<const Target*> out;
  for (const Target& target : kTargets) {
    Target form = target;
    const auto writes_the_same = [&](const Target* other) {
      form.name = other->name;
      return *other == form;
    };
    if (std::ranges::none_of(out, writes_the_same)) out.push_back(&target);
  }
  return out;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &Target::name);
  return found == kTargets.end() ? nullptr : &*found;
}

const Target& target_of(const ir::Model& model) {
  if (model.opset("") >= kAttentionOpset) return *find_target("onnx");
  return *find_target(is_of_onnx_runtime(model.graph) ? "ort" : "portable");
}

std::string target_names() {
  std::string text = "auto";
  for (const Target& each : kTargets) {
    text += &each == &kTargets.back() ? " or " : ", ";
    text += each.name;
  }
  return text;
}

std::vector<std::string> rules_of(const Target& target) {
  if (!target.lowers()) return {};
  std::vector<std::string> paths(kLowering.begin(), kLowering.end());
  if (target.plain) {
    paths.emplace_back("lowering/attention.lua");
    paths.emplace_back("lowering/joined_transposes.lua");
    paths.emplace_back("targets/product_parts.lua");
  } else {
    paths.emplace_back("targets/packed_heads.lua");
    paths.emplace_back(target.rules);
  }
  return paths;
}

}  // namespace ruleengine::engine
