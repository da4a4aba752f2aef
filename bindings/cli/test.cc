// `ruleengine test RULE...`: runs the examples of rules; exit code 1 when a
// verdict is not ok.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "bindings/lua/examples.h"

namespace ruleengine::cli {
namespace {

void print_results(const std::vector<lua::ExampleResult>& results,
                   const Options& options) {
  for (const lua::ExampleResult& r : results) {
    if (r.verdict == lua::Verdict::kOk && options.quiet) continue;
    fmt::print("{:8} {}: {}\n", lua::verdict_name(r.verdict), r.rule,
               printable(r.title));
    if (r.verdict != lua::Verdict::kOk) {
      fmt::print("         line {}: {}\n", r.line, printable(r.detail, 2000));
    }
  }
}

void print_json(const std::vector<lua::ExampleResult>& results) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const lua::ExampleResult& r : results) {
    json.push_back({{"rule", r.rule},
                    {"title", printable(r.title)},
                    {"verdict", lua::verdict_name(r.verdict)},
                    {"detail", printable(r.detail, 2000)},
                    {"line", r.line},
                    {"executed", r.executed}});
  }
  fmt::print("{}", text_of(json));
}

}  // namespace

int test(const Options& options) {
  auto paths = sort_paths(options.paths, Wants::kRules);
  if (!paths) return fail(paths.error());
  auto rules = load_rules(paths->rules, options);
  if (!rules) return fail(rules.error());
  for (const auto& message : rules->set->warnings()) warn(message);
  // Execution of both graphs comes with the runtime's executor.
  auto results = lua::run_examples(*rules->set, nullptr);
  if (!results) return fail(results.error());
  for (const auto& rule : rules->set->rules()) {
    if (rule->examples.empty()) {
      warn(fmt::format("rule '{}' has no examples, so nothing tests it ({})",
                       rule->name, printable(rule->file)));
    }
  }
  std::size_t failed = 0;
  for (const auto& r : *results) failed += r.verdict != lua::Verdict::kOk;
  if (options.json) {
    print_json(*results);
  } else {
    print_results(*results, options);
    fmt::print("{} passed, {} failed\n", results->size() - failed, failed);
  }
  return failed == 0 ? 0 : static_cast<int>(ErrorKind::kAnswerIsNo);
}

}  // namespace ruleengine::cli
