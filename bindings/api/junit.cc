#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "bindings/api/examples.h"
#include "core/draw/dot.h"

namespace ruleengine::api {
namespace {

// Line by line, since printable() escapes newlines.
std::string xml(std::string_view lines) {
  std::string out;
  for (;;) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    out += draw::escaped(printable(lines.substr(0, end), std::string::npos));
    if (end == lines.size()) return out;
    out += '\n';
    lines.remove_prefix(end + 1);
  }
}

struct Suite {
  std::string name;
  std::string cases;
  std::size_t tests = 0, failures = 0, errors = 0;

  void add(const std::string& of, const std::string& title,
           const std::string& inside) {
    ++tests;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(of),
                         xml(title));
    cases += inside.empty() ? "/>\n" : ">\n" + inside + "    </testcase>\n";
  }
};

std::string fault(const char* kind, std::string_view type,
                  const std::string& message, const std::string& text) {
  return fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n",
                     kind, type, xml(printable(message, 2000)), xml(text));
}

void add(const lua::ExampleResult& result, Suite& suite) {
  std::string inside;
  const std::string_view verdict = lua::verdict_name(result.verdict);
  const std::string text =
      fmt::format("line {}: {}\n{}", result.line, result.detail, result.notes);
  if (result.verdict == lua::Verdict::kError) {
    ++suite.errors;
    inside = fault("error", verdict, result.detail, text);
  } else if (result.verdict != lua::Verdict::kOk) {
    ++suite.failures;
    inside = fault("failure", verdict, result.detail, text);
  } else if (!result.not_executed.empty()) {
    inside = fmt::format("      <system-out>not executed: {}</system-out>\n",
                         xml(printable(result.not_executed, 2000)));
  }
  suite.add(result.rule, result.title, inside);
}

void add(const lua::FuzzResult& result, Suite& suite) {
  std::string inside;
  if (result.wrong > 0) {
    const bool is_error = result.verdict == lua::Verdict::kError;
    ++(is_error ? suite.errors : suite.failures);
    inside = fault(
        is_error ? "error" : "failure", lua::verdict_name(result.verdict),
        result.detail,
        fmt::format("line {}: mutant {}: {}\n{}{}", result.line, result.number,
                    result.detail, result.shown_by, result.text));
  }
  suite.add(result.rule, "mutants of " + result.title, inside);
}

}  // namespace

std::string junit_of(const Tested& tested) {
  std::vector<Suite> suites;  // in the order of the files
  const auto suite = [&](const std::string& name) -> Suite& {
    const auto known = std::ranges::find(suites, name, &Suite::name);
    return known != suites.end() ? *known : suites.emplace_back(Suite{name});
  };
  for (const lua::ExampleResult& each : tested.results) {
    add(each, suite(each.file));
  }
  for (const lua::FuzzResult& each : tested.fuzzed) {
    add(each, suite(each.file));
  }
  for (const Diagnostic& each : tested.errors_of_files) {
    Suite& its = suite("rule files");
    ++its.errors;
    its.add("ruleengine", each.where.empty() ? each.what : each.where,
            fault("error", "error", each.what, each.text()));
  }
  Suite all;
  std::string out;
  for (const Suite& each : suites) {
    out += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
        "errors=\"{}\">\n{}  </testsuite>\n",
        xml(each.name), each.tests, each.failures, each.errors, each.cases);
    all.tests += each.tests;
    all.failures += each.failures;
    all.errors += each.errors;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "
      "name=\"ruleengine test\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\">\n{}</testsuites>\n",
      all.tests, all.failures, all.errors, out);
}

}  // namespace ruleengine::api
