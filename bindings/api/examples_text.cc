#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "bindings/api/examples.h"
#include "core/base/layout.h"

namespace ruleengine::api {
namespace {

// The examples whose files were written, and why others were not.
std::string updates(const Tested& tested) {
  std::string text;
  for (const auto& [at, why_not] : tested.updates) {
    const lua::ExampleResult& r = tested.results[at];
    const bool is_done = why_not.empty();
    text += fmt::format("{:8} {}: {} ({}:{}){}\n", is_done ? "updated" : "kept",
                        r.rule, printable(r.title), printable(r.file), r.line,
                        is_done ? "" : ", since " + printable(why_not, 2000));
  }
  return text;
}

// The mutants of all examples of one rule.
struct FuzzSum {
  std::size_t mutants = 0, fired = 0, executed = 0, assumed = 0;
  std::string not_executed;
};

std::string line_of(const std::string& rule, const FuzzSum& sum) {
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
  return fmt::format(
      "fuzzed   {}: {} mutants, {}{}{}{}\n", rule, sum.mutants, fired,
      sum.fired == 0 ? "" : fmt::format(", executed {}", sum.executed), assumed,
      why);
}

std::string wrong(const lua::FuzzResult& r) {
  return fmt::format(
      "{:8} {}: {}, mutant {}\n         line {}: {}\n{}         changed: "
      "{}\n{}",
      lua::verdict_name(r.verdict), r.rule, printable(r.title), r.number,
      r.line, printable(r.detail, 2000), indented(r.shown_by, 11),
      fmt::join(r.changes, ", "), indented(r.text, 11));
}

// Results of one rule follow each other.
std::string fuzzed(const Tested& tested, bool quiet) {
  std::string text;
  FuzzSum sum;
  for (std::size_t i = 0; i < tested.fuzzed.size(); ++i) {
    const lua::FuzzResult& r = tested.fuzzed[i];
    sum.mutants += r.mutants;
    sum.fired += r.fired;
    sum.executed += r.executed;
    sum.assumed += r.assumed;
    if (sum.not_executed.empty()) sum.not_executed = r.not_executed;
    if (r.wrong > 0) text += wrong(r);
    const bool is_last = i + 1 == tested.fuzzed.size() ||
                         tested.fuzzed[i + 1].rule != r.rule ||
                         tested.fuzzed[i + 1].file != r.file;
    if (!is_last) continue;
    if (!quiet) text += line_of(r.rule, sum);
    sum = {};
  }
  return text;
}

}  // namespace

std::string text_of(const Tested& tested, bool quiet) {
  std::string text;
  for (const lua::ExampleResult& r : tested.results) {
    const bool is_ok = r.verdict == lua::Verdict::kOk;
    if (is_ok && quiet) continue;
    text += fmt::format("{:8} {}: {}{}\n", lua::verdict_name(r.verdict), r.rule,
                        printable(r.title),
                        is_ok && !r.not_executed.empty()
                            ? fmt::format(" (not executed: {})",
                                          printable(r.not_executed, 2000))
                            : "");
    if (is_ok) continue;
    text += fmt::format("         line {}: {}\n{}", r.line,
                        printable(r.detail, 2000), indented(r.notes, 11));
  }
  text += fuzzed(tested, quiet) + updates(tested);
  if (const std::size_t open = tested.not_executed(); open > 0) {
    text += fmt::format("{} not executed\n", open);
  }
  return text + fmt::format("{} passed, {} failed\n", tested.passed(),
                            tested.failed());
}

}  // namespace ruleengine::api
