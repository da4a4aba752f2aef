// `ruleengine match`: where each rule would fire, as a table or as JSON;
// nothing is written.

#include <fmt/format.h>

#include "bindings/api/questions.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

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

void print(const std::string& path, const engine::Matches& matches) {
  const auto& found = matches.found;
  std::vector<std::vector<std::string>> rows = {
      {"rule", "node", "nodes", "verdict"}};
  for (const auto& f : found) rows.push_back(to_row(f));
  show("{}: {}\n", printable(path), counted(found.size(), "match", "matches"));
  if (!found.empty()) put(table(rows));
  for (const engine::Absent& each : matches.absent) {
    show("{} {}\n", each.name, why_absent(each));
  }
}

int match(const RuleFlags& flags) {
  const auto paths = sort_paths(flags, Wants::kBoth);
  const auto rules = load_rules(paths.rules, flags);
  for (const auto& message : rules->warnings()) warn(message);
  Json json = Json::array();
  for (const std::string& path : paths.models) {
    const auto model = load_after_first(path, flags);
    const auto matches = take(api::match(*model, *rules, run_options(flags)));
    if (!flags.json) print(path, matches);
    for (const auto& f : matches.found) {
      if (flags.json) json.push_back(engine::to_json(path, f));
    }
  }
  if (flags.json) put(engine::json_text(json));
  return 0;
}

}  // namespace

void add_match(Line& line) {
  auto [match, flags] = line.add(
      cli::match, "match", "show where each rule would fire; write nothing",
      "ruleengine match rules/attention.lua model.onnx");
  match.paths("RULE|MODEL", flags, "rules and models");
  match.first(flags);
  match.flag("--json", flags.json, "as JSON");
  match.rules(flags);
}

}  // namespace ruleengine::cli
