#include "bindings/api/steps.h"

#include <utility>

#include "core/rewrite/cut.h"

namespace ruleengine::api {
namespace {

using rewrite::Region;

Step step_of(const rewrite::Rule& rule, const Region& region) {
  Step out{.rule = rule};
  for (const Region::Result& each : region.results) {
    out.values.emplace_back(region.graph.name(each.before));
  }
  const rewrite::Cut cut = rewrite::cut(region, {});
  for (const auto& [side, model] :
       {std::pair(Region::Side::kBefore, &out.before),
        std::pair(Region::Side::kAfter, &out.after)}) {
    auto made = rewrite::model_of(region, cut, side);
    if (made) {
      *model = *std::move(made);
    } else {
      out.why_not = made.error().what;
    }
  }
  if (!out.why_not.empty()) out.before = out.after = nullptr;
  return out;
}

}  // namespace

rewrite::Judge judge_of(AskStep ask) {
  return [ask = std::move(ask)](
             const rewrite::Rule& rule,
             const Region& region) -> std::optional<std::string> {
    if (region.results.empty() || ask(step_of(rule, region))) {
      return std::nullopt;
    }
    return "it was declined";
  };
}

}  // namespace ruleengine::api
