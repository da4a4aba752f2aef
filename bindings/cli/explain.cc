// `ruleengine explain RULE MODEL [NODE]`: for each rule, where it fires, why
// `where` or `rewrite` turned a match down, or how far the pattern got: at
// NODE, or at the node where it got furthest.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "bindings/lua/nearest_miss.h"
#include "core/io/load.h"

namespace ruleengine::cli {
namespace {

// The node of that name, or the producer of the value of that name.
std::optional<ir::NodeId> find_node(const ir::Graph& graph,
                                    const std::string& name) {
  std::optional<ir::NodeId> by_value;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId id(i);
    if (graph.node(id).removed) continue;
    if (graph.node(id).name == name) return id;
    for (ir::ValueId value : graph.outputs(id)) {
      if (value && graph.name(value) == name) by_value = id;
    }
  }
  return by_value;
}

bool is_input(const ir::Graph& graph, const std::string& name) {
  const auto& inputs = graph.block(ir::Graph::main_block()).inputs;
  return std::ranges::any_of(
      inputs, [&](ir::ValueId value) { return graph.name(value) == name; });
}

void print_found(const rewrite::Found& found) {
  show("{}: {} at {}\n", found.rule, found.rejection ? "turned down" : "fires",
       printable(found.graph->describe(found.root)));
  for (const auto& [text, value] : found.assumptions) {
    show("  assumed:   {}{}\n", printable(text),
         value.empty() ? "" : " (" + printable(value) + ")");
  }
  if (!found.rejection) return;
  show("  reason:    {}\n", printable(found.rejection->reason));
  if (found.rejection->value.empty()) return;
  show("  value:     {}\n", printable(found.rejection->value));
}

Status explain_rule(const Rules& rules, std::size_t index, ir::Model& model,
                    const Options& options) {
  const lua::LoadedRule& rule = *rules.set->rules()[index];
  rewrite::Rule* handle = rules.pointers[index];
  const rewrite::Options engine = engine_options(options);
  std::optional<ir::NodeId> only;
  if (!options.node.empty()) {
    only = find_node(model.graph, options.node);
    if (!only && is_input(model.graph, options.node)) {
      return Diagnostic{ErrorKind::kUsage,
                        "no node makes it, it is an input of the model",
                        model.path,
                        "the name of a node or of a value that a node makes",
                        options.node,
                        ""};
    }
    if (!only) {
      return Diagnostic{ErrorKind::kUsage, "the model has no such node",
                        model.path,        "the name of a node or of a value",
                        options.node,      "`ruleengine report` lists them"};
    }
  }
  auto facts = engine.facts(model.graph);
  const auto absent = absence(rules, index, model.graph, *facts);
  if (!absent) return absent.error();
  if (!absent->empty()) {
    show("{}: {}\n", rule.name, *absent);
    return {};
  }
  auto found = rewrite::find_matches(model, {&handle, 1}, engine);
  if (!found) return found.error();
  bool any = false;
  for (const rewrite::Found& f : *found) {
    if (only && (f.root != *only || f.graph != &model.graph)) continue;
    print_found(f);
    any = true;
  }
  if (!any && !rule.pattern) {
    show("{}: a `pass` has no pattern; `run -v` says what it did\n", rule.name);
  }
  if (any || !rule.pattern) return {};
  const std::string miss = lua::nearest_miss(rule, model.graph, *facts, only,
                                             deadline_of(options));
  if (auto s = deadline_of(options).check(); !s) return s;
  if (miss.empty()) {
    show("{}: no node of the model could be its root\n", rule.name);
  } else {
    show("{}: does not match\n{}", rule.name, indented(miss, 2));
  }
  return {};
}

}  // namespace

int explain(const Options& options) {
  auto paths = sort_paths(options, Wants::kBoth);
  if (!paths) return fail(paths.error());
  if (paths->rules.size() != 1 || paths->models.size() != 1) {
    return fail({ErrorKind::kUsage, "one rule and one model are wanted", "",
                 "a rule (a file, a folder or a pack), a model, a node or none",
                 "", options.example});
  }
  auto rules = load_rules(paths->rules, options);
  if (!rules) return fail(rules.error());
  for (const std::string& path : paths->models) {
    auto model = load_model(path, options);
    if (!model) return fail(model.error());
    if (auto status = run_first(**model, options); !status) {
      return fail(status.error());
    }
    for (std::size_t i = 0; i < rules->pointers.size(); ++i) {
      auto status = explain_rule(*rules, i, **model, options);
      if (!status) return fail(status.error());
    }
    if (auto status = check_end(**model, options); !status) {
      return fail(status.error());
    }
  }
  return 0;
}

}  // namespace ruleengine::cli
