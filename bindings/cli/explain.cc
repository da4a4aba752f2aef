// `ruleengine explain RULE MODEL [NODE]`: for each rule, where it fires, why
// `where` or `rewrite` rejected a match, or how far the pattern got: at NODE,
// or at the nodes where it got furthest.

#include <fmt/format.h>

#include "bindings/api/questions.h"
#include "bindings/api/report_text.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

void print_found(const rewrite::Found& found, bool is_lint) {
  show("{}: {} at {}\n", found.rule,
       found.rejection ? "rejected"
       : is_lint       ? "reports"
                       : "fires",
       printable(found.graph->describe(found.root)));
  for (const auto& [text, value] : found.assumptions) {
    show("  assumed:   {}{}\n", printable(text),
         value.empty() ? "" : " (" + printable(value) + ")");
  }
  if (!found.rejection) return;
  show("  reason:    {}\n", printable(found.rejection->reason));
  if (!found.rejection->value.empty()) {
    show("  value:     {}\n", printable(found.rejection->value));
  }
  const std::string hint =
      api::hint_of(found.rejection->opset, found.rejection->tie, spelled);
  if (!hint.empty()) show("  hint:      {}\n", hint);
}

void print_misses(const engine::Explanation& one, const ir::Graph& graph) {
  const rewrite::Rule& rule = *one.rule;
  if (one.misses.empty()) {
    show("{}: no node of the model can be its root\n", rule.name());
    return;
  }
  show("{}: does not match\n", rule.name());
  for (std::size_t i = 0; i < one.misses.size(); ++i) {
    if (i > 0) show("  or:\n");
    put(indented(
        engine::text_of(one.misses[i], *rule.pattern(), rule.file(), graph),
        2));
  }
}

void print(const engine::Explanation& one, const ir::Graph& graph) {
  if (one.absent) {
    show("{}: {}\n", one.absent->name, why_absent(*one.absent));
  } else if (!one.found.empty()) {
    for (const rewrite::Found& each : one.found) {
      print_found(each, one.rule->is_lint());
    }
  } else if (one.rule->pattern() == nullptr) {
    show("{}: a `pass` has no pattern; `run -v` says what it did\n",
         one.rule->name());
  } else {
    print_misses(one, graph);
  }
}

// `explain RULE MODEL NODE`: the third argument is a node, even if it looks
// like a path, provided that a model comes before it.
std::string take_node(std::vector<std::string>& paths) {
  if (paths.size() < 3 || !(is_model(paths[0]) || is_model(paths[1]))) {
    return "";
  }
  std::string node = std::move(paths.back());
  paths.pop_back();
  return node;
}

int explain(const RuleFlags& given) {
  RuleFlags flags = given;
  const std::string node = take_node(flags.paths);
  const auto [rules, models] = sort_paths(flags, Wants::kBoth);
  if (rules.size() != 1 || models.size() != 1) {
    throw misuse(
        "expected one rule and one model",
        "a rule (a file, a folder or a pack), a model, and optionally a node",
        "", flags.example);
  }
  const auto loaded = load_rules(rules, flags);
  const auto model = load_after_first(models[0], flags);
  const auto all =
      take(api::explain(*model, *loaded, node, run_options(flags)));
  if (flags.json) {
    put(engine::json_text(api::to_json(models[0], model->graph, all)));
    return 0;
  }
  for (const engine::Explanation& one : all) print(one, model->graph);
  return 0;
}

}  // namespace

void add_explain(Line& line) {
  auto [explain, flags] = line.add(
      cli::explain, "explain",
      "say how far a rule gets in a model, and what stops it",
      "ruleengine explain my_rule.lua model.onnx --first rules/canonical.lua");
  explain.paths("RULE MODEL [NODE]", flags,
                "a rule, a model, and a node by its name or that of one of "
                "its outputs");
  explain.flag("--json", flags.json, "as JSON");
  explain.first(flags);
  explain.rules(flags);
}

}  // namespace ruleengine::cli
