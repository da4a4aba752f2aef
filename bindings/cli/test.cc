// `ruleengine test RULE...`: runs the examples of rules; the exit code is 1 if
// a verdict is not ok. An error in one file or example does not stop the
// others.

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// The mutants of all examples of one rule.
struct FuzzSum {
  std::size_t mutants = 0, fired = 0, executed = 0, assumed = 0;
  std::string not_executed;
};

void print_sum(const std::string& rule, const FuzzSum& sum) {
  const std::string fired =
      sum.fired == 0 ? "never fired" : fmt::format("fired on {}", sum.fired);
  const std::string why =
      sum.executed == sum.fired || sum.not_executed.empty()
          ? ""
          : fmt::format(" (others not: {})", printable(sum.not_executed, 200));
  const std::string assumed =
      sum.assumed == 0
          ? ""
          : fmt::format(", {} differ by what it assumes", sum.assumed);
  show("fuzzed   {}: {} mutants, {}{}{}{}\n", rule, sum.mutants, fired,
       sum.fired == 0 ? "" : fmt::format(", executed {}", sum.executed),
       assumed, why);
}

void print_wrong(const lua::FuzzResult& r) {
  show("{:8} {}: {}, mutant {}\n", lua::verdict_name(r.verdict), r.rule,
       printable(r.title), r.number);
  show("         line {}: {}\n{}         changed: {}\n{}", r.line,
       printable(r.detail, 2000), indented(r.shown_by, 11),
       fmt::join(r.changes, ", "), indented(r.text, 11));
}

// Results of one rule follow each other.
void print_fuzzed(const api::Tested& tested, bool quiet) {
  FuzzSum sum;
  for (std::size_t i = 0; i < tested.fuzzed.size(); ++i) {
    const lua::FuzzResult& r = tested.fuzzed[i];
    sum.mutants += r.mutants;
    sum.fired += r.fired;
    sum.executed += r.executed;
    sum.assumed += r.assumed;
    if (sum.not_executed.empty()) sum.not_executed = r.not_executed;
    if (r.wrong > 0) print_wrong(r);
    const bool is_last = i + 1 == tested.fuzzed.size() ||
                         tested.fuzzed[i + 1].rule != r.rule ||
                         tested.fuzzed[i + 1].file != r.file;
    if (!is_last) continue;
    if (!quiet) print_sum(r.rule, sum);
    sum = {};
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
  print_fuzzed(tested, quiet);
  print_updates(tested);
  if (const std::size_t open = tested.not_executed(); open > 0) {
    show("{} not executed\n", open);
  }
  show("{} passed, {} failed\n", tested.passed(), tested.failed());
}

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
  if (!flags.json && has_loaded) print_results(tested, flags.quiet);
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
