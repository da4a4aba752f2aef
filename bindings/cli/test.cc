// `ruleengine test RULE...`: runs the examples of rules; the exit code is 1 if
// a verdict is not ok. An error in one file or example does not stop the
// others.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bindings/api/examples.h"
#include "bindings/api/files.h"
#include "bindings/api/junit.h"
#include "bindings/api/run_files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct TestFlags : RuleFlags {
  std::optional<std::string> tolerance;
  std::string junit;   // a file
  std::string update;  // "", "executed" or "all"
  bool json = false, quiet = false;
};

// The examples whose files were written, and why others were not.
void print_updates(const api::Tested& tested) {
  for (const auto& [at, why_not] : tested.updates) {
    const lua::ExampleResult& r = tested.results[at];
    const bool is_done = why_not.empty();
    show("{:8} {}: {} ({}:{}){}\n", is_done ? "updated" : "kept", r.rule,
         printable(r.title), printable(r.file), r.line,
         is_done ? "" : ", since " + printable(why_not, 2000));
  }
}

void print_results(const api::Tested& tested, bool quiet) {
  for (const lua::ExampleResult& r : tested.results) {
    if (r.verdict == lua::Verdict::kOk && quiet) continue;
    const bool is_open =
        r.verdict == lua::Verdict::kOk && !r.not_executed.empty();
    show("{:8} {}: {}{}\n", lua::verdict_name(r.verdict), r.rule,
         printable(r.title),
         is_open ? fmt::format(" (not executed: {})",
                               printable(r.not_executed, 2000))
                 : "");
    if (r.verdict != lua::Verdict::kOk) {
      show("         line {}: {}\n{}", r.line, printable(r.detail, 2000),
           indented(r.notes, 11));
    }
  }
  print_updates(tested);
  if (const std::size_t open = tested.not_executed(); open > 0) {
    show("{} not executed\n", open);
  }
  show("{} passed, {} failed\n", tested.passed(),
       tested.results.size() - tested.passed());
}

Result<api::TestOptions::Update> update_of(const std::string& text) {
  using Update = api::TestOptions::Update;
  if (text.empty()) return Update::kNone;
  if (text == "executed") return Update::kExecuted;
  if (text == "all") return Update::kAll;
  Diagnostic error = usage("unknown kind of update", printable(text));
  error.expected = "--update or --update=all";
  return error;
}

int test(const TestFlags& flags) {
  auto paths = sort_paths(flags, Wants::kRules);
  if (!paths) return fail(paths.error());
  const auto rules = rule_options(flags);
  if (!rules) return fail(rules.error());
  const auto tolerance = parse_tolerance(flags.tolerance);
  if (!tolerance) return fail(tolerance.error());
  if (auto status =
          api::check_name({"the file of results", flags.junit, ".xml"});
      !status) {
    return fail(status.error());
  }
  const auto update = update_of(flags.update);
  if (!update) return fail(update.error());
  const api::Tested tested =
      api::test(paths->rules, {*rules, *tolerance, *update});
  int code = 0;  // that of the first error
  const auto tell = [&](const Diagnostic& error) {
    const int its = fail(of_set(error));
    if (code == 0) code = its;
  };
  for (const Diagnostic& error : tested.errors_of_files) tell(error);
  for (const Diagnostic& error : tested.errors_of_examples) tell(error);
  for (const auto& message : tested.warnings) warn(message);
  if (!flags.junit.empty()) {
    const auto status = api::write_file(flags.junit, api::junit_of(tested));
    if (!status) tell(status.error());
  }
  const bool has_loaded =
      !tested.results.empty() || tested.errors_of_files.empty();
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
  test.option("--junit", flags.junit, "write the results as JUnit XML");
  test.tolerance(flags.tolerance);
  test.flag("--update", "executed", flags.update,
            "write the graph that was found into the rule file where another "
            "was expected and execution shows that it is right; "
            "--update=all also where it cannot be run");
  test.rules(flags);
}

}  // namespace ruleengine::cli
