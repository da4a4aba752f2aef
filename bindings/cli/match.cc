// `ruleengine match`: where each rule would fire, as a table or as JSON;
// nothing is written.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/engine/json.h"
#include "core/engine/match.h"

namespace ruleengine::cli {
namespace {

using engine::Json;

std::vector<std::string> to_row(const rewrite::Found& found) {
  std::string verdict = "fires";
  for (const auto& each : found.assumptions) {
    verdict += (verdict.ends_with("fires") ? ", assumed: " : "; ") + each.text;
  }
  if (found.rejection) {
    verdict = "rejected: " + found.rejection->reason;
    if (!found.rejection->value.empty()) {
      verdict += " (" + found.rejection->value + ")";
    }
  }
  return {found.rule, found.graph->describe(found.root),
          std::to_string(found.nodes.size()), verdict};
}

Status match_one(const std::string& path, const engine::RuleSet& rules,
                 const Options& options, Json& json) {
  auto model = load_model(path, options);
  if (!model) return model.error();
  if (auto status = run_first(**model, options); !status) return status;
  const auto matches = engine::match(**model, rules, engine_options(options));
  if (!matches) return matches.error();
  const auto& found = matches->found;
  if (auto status = check_end(**model, options); !status) return status;
  if (options.json) {
    for (const auto& f : found) json.push_back(engine::to_json(path, f));
    return {};
  }
  std::vector<std::vector<std::string>> rows = {
      {"rule", "node", "nodes", "verdict"}};
  for (const auto& f : found) rows.push_back(to_row(f));
  show("{}: {} {}\n", printable(path), found.size(),
       found.size() == 1 ? "match" : "matches");
  if (!found.empty()) put(table(rows));
  for (const engine::Absent& each : matches->absent) {
    show("{} {}\n", each.name, why_absent(each));
  }
  return {};
}

int match(const Options& options) {
  auto paths = sort_paths(options, Wants::kBoth);
  if (!paths) return fail(paths.error());
  auto rules = load_rules(paths->rules, options);
  if (!rules) return fail(rules.error());
  for (const auto& message : (*rules)->warnings()) warn(message);
  Json json = Json::array();
  for (const std::string& path : paths->models) {
    if (auto status = match_one(path, **rules, options, json); !status) {
      return fail(status.error());
    }
  }
  if (options.json) put(engine::json_text(json));
  return 0;
}

}  // namespace

void add_match(Line& line) {
  Options& o = line.options;
  VerbLine match = line.add(cli::match, "match",
                            "show where each rule would fire; write nothing",
                            "ruleengine match rules/attention.lua model.onnx");
  match.paths("rules and models");
  match.first();
  match.flag("--json", o.json, "as JSON");
  match.rules();
  match.exact();
}

}  // namespace ruleengine::cli
