// `ruleengine test RULE...`: runs the examples of rules; the exit code is 1 if
// a verdict is not ok. An error in one file or example does not stop the
// others.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "bindings/lua/examples.h"
#include "core/engine/json.h"

namespace ruleengine::cli {
namespace {

void print_results(const std::vector<lua::ExampleResult>& results,
                   const Options& options) {
  for (const lua::ExampleResult& r : results) {
    if (r.verdict == lua::Verdict::kOk && options.quiet) continue;
    show("{:8} {}: {}\n", lua::verdict_name(r.verdict), r.rule,
         printable(r.title));
    if (r.verdict != lua::Verdict::kOk) {
      show("         line {}: {}\n{}", r.line, printable(r.detail, 2000),
           indented(r.notes, 11));
    }
  }
}

void print_json(const std::vector<lua::ExampleResult>& results) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const lua::ExampleResult& r : results) {
    json.push_back({{"rule", r.rule},
                    {"title", engine::exact(r.title)},
                    {"verdict", lua::verdict_name(r.verdict)},
                    {"detail", printable(r.detail, 2000)},
                    {"notes", r.notes},
                    {"line", r.line},
                    {"executed", r.executed},
                    {"not_executed", printable(r.not_executed, 2000)}});
  }
  put(engine::json_text(json));
}

// Prints the error; the first one decides the exit code.
void tell(const Diagnostic& error, int& code) {
  const int its = fail(error);
  if (code == 0) code = its;
}

// The path itself, or the rules of a folder.
std::vector<std::string> files_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    const bool is_rule =
        at->path().extension() == ".lua" && !at->is_directory(error);
    if (is_rule) files.push_back(at->path().string());
  }
  std::ranges::sort(files);
  return files;
}

using RuleSet = std::unique_ptr<lua::RuleSet>;

Result<RuleSet> load_files(const std::vector<std::string>& paths,
                           const Options& options) {
  const auto sets = parse_sets(options);
  if (!sets) return sets.error();
  auto set =
      lua::RuleSet::load(paths, *sets, api::sandbox_limits(limits_of(options)));
  if (!set) return of_set(set.error());
  if (!(*set)->unclaimed().empty()) return (*set)->unclaimed()[0].error;
  return set;
}

// The files that load by themselves; prints the errors of the others.
std::vector<std::string> loadable(const std::vector<std::string>& paths,
                                  Options options, int& code) {
  options.sets.clear();  // they may be for rules of another file
  std::vector<std::string> good;
  const Deadline deadline = deadline_of(options);
  for (const std::string& path : paths) {
    for (std::string& file : files_of(path)) {
      const auto rules = load_files({file}, options);
      if (rules) {
        good.push_back(std::move(file));
      } else {
        tell(rules.error(), code);
        if (deadline.is_over()) return {};
      }
    }
  }
  return good;
}

// All of the paths, or those that load. nullptr: nothing loads, and the errors
// are printed.
RuleSet load_what_loads(const std::vector<std::string>& paths,
                        const Options& options, int& code) {
  auto rules = load_files(paths, options);
  if (rules) return std::move(*rules);
  const bool one_file = rules.error().kind == ErrorKind::kRule ||
                        rules.error().kind == ErrorKind::kLimit;
  if (one_file && !deadline_of(options).is_over()) {
    const auto good = loadable(paths, options, code);
    if (good.empty()) return nullptr;
    if (code != 0) rules = load_files(good, options);
    if (rules) return std::move(*rules);
  }
  tell(rules.error(), code);
  return nullptr;
}

void warn_of_untested(const lua::RuleSet& set) {
  for (const auto& rule : set.rules()) {
    if (!rule->examples.empty()) continue;
    warn(fmt::format("rule '{}' has no examples, so nothing tests it ({})",
                     rule->name, printable(rule->file)));
  }
}

int test(const Options& options) {
  auto paths = sort_paths(options, Wants::kRules);
  if (!paths) return fail(paths.error());
  int code = 0;
  auto rules = load_what_loads(paths->rules, options, code);
  if (!rules) return code;
  for (const auto& message : rules->warnings()) warn(message);
  // Examples are small, so one thread runs them.
  const auto runs = lua::run_examples(
      *rules,
      api::compare_by_kernels({.threads = 1, .limits = limits_of(options)}));
  for (const Diagnostic& error : runs.errors) tell(error, code);
  warn_of_untested(*rules);
  const auto passed = static_cast<std::size_t>(std::ranges::count(
      runs.results, lua::Verdict::kOk, &lua::ExampleResult::verdict));
  if (options.json) {
    print_json(runs.results);
  } else {
    print_results(runs.results, options);
    show("{} passed, {} failed\n", passed, runs.results.size() - passed);
  }
  if (code != 0) return code;
  return passed == runs.results.size() ? 0 : kAnswerIsNo;
}

}  // namespace

void add_test(Line& line) {
  Options& o = line.options;
  VerbLine test = line.add(cli::test, "test", "run the examples of rules",
                           "ruleengine test rules/attention.lua");
  test.paths("rules");
  test.flag("--json", o.json, "as JSON");
  test.flag("-q", o.quiet, "only what is not ok");
  test.rules();
}

}  // namespace ruleengine::cli
