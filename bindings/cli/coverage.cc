// `ruleengine coverage [RULE...] MODEL...`: how much of the attention of each
// model the rules compose, and for every block left the reason: why a rule
// rejected it, or how far the nearest rule got. Without rules: those that ship.

#include <fmt/format.h>

#include <algorithm>
#include "bindings/api/questions.h"
#include "bindings/api/report_text.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct CoverageFlags : RuleFlags {
  double min = 0;  // percent
};

struct Covered {
  std::string model;
  engine::Coverage coverage;
};

void print_text(const std::vector<Covered>& all) {
  std::vector<std::vector<std::string>> rows = {{"model", "found", "fused"}};
  for (const auto& [model, coverage] : all) {
    rows.push_back({printable(model), std::to_string(coverage.found()),
                    std::to_string(coverage.fused)});
  }
  put(table(rows));
  for (const auto& [model, coverage] : all) {
    for (const engine::Coverage::Left& left : coverage.left) {
      show("{}: left at {}\n", printable(model), printable(left.node));
      if (!left.rule.empty()) show("  nearest:   {}\n", left.rule);
      show("  reason:    {}\n", printable(left.reason));
      const std::string hint = api::hint_of(0, left.tie, spelled);
      if (!hint.empty()) show("  hint:      {}\n", hint);
    }
  }
}

int coverage(const CoverageFlags& flags) {
  const auto paths = sort_paths(flags, Wants::kModelsAndRules);
  const auto rules = load_rules(paths.rules, flags, engine::attention_packs());
  std::vector<Covered> all;
  bool enough = true;
  for (const std::string& path : paths.models) {
    const auto model = load_model(path, flags);
    auto one = take(api::coverage(*model, *rules, run_options(flags)));
    enough = enough && one.percent() >= flags.min;
    all.push_back({path, std::move(one)});
  }
  const bool any = std::ranges::any_of(
      all, [](const Covered& each) { return each.coverage.found() > 0; });
  if (flags.min > 0 && !any) {
    warn("no attention was found, so --min had nothing to measure");
  }
  if (flags.json) {
    Json json = Json::array();
    for (const Covered& each : all)
      json.push_back(engine::to_json(each.model, each.coverage));
    put(engine::json_text(json));
  } else {
    print_text(all);
  }
  return enough ? 0 : kAnswerIsNo;
}

}  // namespace

void add_coverage(Line& line) {
  auto [coverage, flags] = line.add(
      cli::coverage, "coverage",
      "count the attention blocks that rules compose, and say what stops them",
      "ruleengine coverage model.onnx --min 100");
  coverage.paths("MODEL|RULE", flags,
                 "models, and rules to use instead of those that ship");
  coverage
      .option("--min", flags.min,
              "exit code 1 when a model has less, in percent")
      .number(0.0, 100.0);
  coverage.flag("--json", flags.json, "as JSON");
  coverage.rules(flags);
}

}  // namespace ruleengine::cli
