// `ruleengine test RULE...`: runs the examples of rules; the exit code is 1 if
// a verdict is not ok. An error in one file or example does not stop the
// others.

#include "bindings/api/examples.h"
#include "bindings/api/files.h"
#include "bindings/api/run_files.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

struct TestFlags : RuleFlags {
  std::optional<std::string> tolerance;  // ABS,REL
  std::string junit;                     // a file
  std::string update;                    // "", "executed" or "all"
  std::uint64_t fuzz = 0, seed = 0;
  bool quiet = false, watch = false;
};

api::TestOptions::Update update_of(const std::string& text) {
  using Update = api::TestOptions::Update;
  if (text.empty()) return Update::kNone;
  if (text == "executed") return Update::kExecuted;
  if (text == "all") return Update::kAll;
  throw misuse("unknown kind of update", "--update or --update=all",
               printable(text));
}

int test_once(const TestFlags& flags) {
  const auto paths = sort_paths(flags, Wants::kRules);
  api::TestOptions how{rule_options(flags)};
  how.tolerance = parse_tolerance(flags.tolerance);
  check(api::check_name({"the file of results", flags.junit, ".xml"}));
  how.update = update_of(flags.update);
  how.fuzz = {.mutants = flags.fuzz, .seed = flags.seed};
  const api::Tested tested = api::test(paths.rules, how);
  int code = 0;  // that of the first error
  const auto tell = [&](const Diagnostic& error) {
    const int its = fail(error);
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
  if (!flags.json && has_loaded) put(api::text_of(tested, flags.quiet));
  if (code != 0) return code;
  return tested.failed() == 0 ? 0 : kAnswerIsNo;
}

int test(const TestFlags& flags) {
  if (!flags.watch) return test_once(flags);
  return watch(flags.paths, [&] { return test_once(begun_now(flags)); });
}

}  // namespace

void add_test(Line& line) {
  auto [test, flags] = line.add(cli::test, "test", "run the examples of rules",
                                "ruleengine test rules/attention.lua");
  test.paths("RULE", flags, "rules");
  test.flag("--json", flags.json, "as JSON");
  test.flag("-q", flags.quiet, "only what is not ok");
  test.option("--junit", flags.junit, "write the results as JUnit XML")
      .takes("FILE.xml");
  test.tolerance(flags.tolerance);
  test.flag("--update", {"executed", "all"}, flags.update,
            "write the graph that was found into the rule file where another "
            "was expected and execution shows that it is right; "
            "--update=all also where it cannot be run");
  test.option("--fuzz", flags.fuzz,
              "also run each rule on this many mutants of each example, and "
              "compare what it makes of them")
      .whole(1, 100'000);
  test.option("--seed", flags.seed, "of the mutants; 0");
  test.flag("--watch", flags.watch,
            "run again whenever a rule, a lib or a pack changes");
  test.rules_alone(flags);
}

}  // namespace ruleengine::cli
