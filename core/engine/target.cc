#include "core/engine/target.h"

#include <algorithm>
#include <array>

namespace ruleengine::engine {
namespace {

constexpr std::string_view kStandard = "targets/standard.lua";

constexpr std::array kTargets = {
    Target{.name = "standard", .rules = kStandard, .plain = true},
    Target{.name = "portable", .foreign_bodies = true},
    Target{.name = "onnx", .rules = "targets/onnx.lua", .raises = true},
    Target{.name = "ort", .rules = "targets/ort.lua", .raises = true},
    Target{.name = "openvino", .rules = kStandard, .plain = true},
    Target{.name = "tensorrt", .overloads = false, .foreign_bodies = true},
};

// The first opset whose standard has Attention.
constexpr std::int64_t kAttentionOpset = 23;

bool is_of_onnx_runtime(const ir::Graph& graph) {
  return std::ranges::any_of(graph.live_nodes(), [&](ir::NodeId node) {
    return graph.op(node).domain == "com.microsoft";
  });
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

}  // namespace ruleengine::engine
