// `ruleengine test RULE...`: runs the examples of rules; the exit code is 1 if
// a verdict is not ok. An error in one file or example does not stop the
// others.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bindings/api/examples.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct TestFlags : RuleFlags {
  bool json = false, quiet = false;
};

void print_results(const api::Tested& tested, bool quiet) {
  for (const lua::ExampleResult& r : tested.results) {
    if (r.verdict == lua::Verdict::kOk && quiet) continue;
    show("{:8} {}: {}\n", lua::verdict_name(r.verdict), r.rule,
         printable(r.title));
    if (r.verdict != lua::Verdict::kOk) {
      show("         line {}: {}\n{}", r.line, printable(r.detail, 2000),
           indented(r.notes, 11));
    }
  }
  show("{} passed, {} failed\n", tested.passed(),
       tested.results.size() - tested.passed());
}

int test(const TestFlags& flags) {
  auto paths = sort_paths(flags, Wants::kRules);
  if (!paths) return fail(paths.error());
  const auto options = rule_options(flags);
  if (!options) return fail(options.error());
  const api::Tested tested = api::test(paths->rules, *options);
  int code = 0;  // that of the first error
  for (const Diagnostic& error : tested.errors) {
    const int its = fail(of_set(error));
    if (code == 0) code = its;
  }
  for (const auto& message : tested.warnings) warn(message);
  const bool has_loaded = !tested.results.empty() || tested.errors.empty();
  if (flags.json && has_loaded) put(engine::json_text(api::to_json(tested)));
  if (!flags.json && has_loaded) print_results(tested, flags.quiet);
  if (code != 0) return code;
  return tested.passed() == tested.results.size() ? 0 : kAnswerIsNo;
}

}  // namespace

void add_test(Line& line) {
  auto [test, flags] = line.add(cli::test, "test", "run the examples of rules",
                                "ruleengine test rules/attention.lua");
  test.paths(flags, "rules");
  test.flag("--json", flags.json, "as JSON");
  test.flag("-q", flags.quiet, "only what is not ok");
  test.rules(flags);
}

}  // namespace ruleengine::cli
