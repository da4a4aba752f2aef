#include "core/engine/options.h"

#include "core/analysis/inference.h"
#include "core/engine/target.h"
#include "core/ops/op_facts.h"

namespace ruleengine::engine {

Status check(const RunOptions& options) {
  const Target* target = find_target(options.target);
  if (target == nullptr && options.target != "auto") {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "unknown target",
                      .expected = target_names(),
                      .found = options.target};
  }
  if (options.opset == 0) return {};
  if (target != nullptr && (target->plain || target->rules.empty())) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what =
                          "the result of this target keeps the opset of the "
                          "model",
                      .expected = "another target, or no opset",
                      .found = "target " + options.target};
  }
  const int newest = ops::newest_opset("");
  if (options.opset < 1 || options.opset > newest) {
    return Diagnostic{.kind = ErrorKind::kUsage,
                      .what = "unknown opset",
                      .expected = "an opset up to " + std::to_string(newest),
                      .found = std::to_string(options.opset)};
  }
  return {};
}

std::unique_ptr<ir::Facts> facts_of(ir::Graph& graph) {
  return std::make_unique<analysis::Inference>(graph);
}

rewrite::DriverOptions rewrite_options(const RunOptions& options) {
  rewrite::DriverOptions out;
  out.limits = options.limits;
  out.exact = options.exact;
  out.keep_all = options.keep_all;
  out.facts = facts_of;
  out.judge = options.judge;
  return out;
}

}  // namespace ruleengine::engine
