#include "bindings/api/examples.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "bindings/api/execution.h"
#include "kernels/cpu.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;
using RuleSet = std::unique_ptr<lua::RuleSet>;

// The path itself, or the rules of a folder.
std::vector<std::string> files_of(const std::string& path) {
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

Result<RuleSet> load(const std::vector<std::string>& paths,
                     const RuleOptions& options) {
  auto set =
      lua::RuleSet::load(paths, options.sets, sandbox_limits(options.limits));
  if (set && !(*set)->unclaimed().empty()) {
    return (*set)->unclaimed()[0].error;
  }
  return set;
}

// The files that load by themselves; adds the errors of the others.
std::vector<std::string> loadable(const std::vector<std::string>& paths,
                                  RuleOptions options,
                                  std::vector<Diagnostic>& errors) {
  options.sets.clear();  // they may be for rules of another file
  std::vector<std::string> good;
  for (const std::string& path : paths) {
    for (std::string& file : files_of(path)) {
      const auto rules = load({file}, options);
      if (rules) {
        good.push_back(std::move(file));
        continue;
      }
      errors.push_back(rules.error());
      if (options.limits.deadline.is_over()) return {};
    }
  }
  return good;
}

// All of the paths, or those that load. nullptr: nothing loads.
RuleSet load_what_loads(const std::vector<std::string>& paths,
                        const RuleOptions& options,
                        std::vector<Diagnostic>& errors) {
  auto rules = load(paths, options);
  if (rules) return *std::move(rules);
  const bool is_of_file = rules.error().kind == ErrorKind::kRule ||
                          rules.error().kind == ErrorKind::kLimit;
  if (is_of_file && !options.limits.deadline.is_over()) {
    const auto good = loadable(paths, options, errors);
    if (good.empty()) return nullptr;
    if (!errors.empty()) rules = load(good, options);
    if (rules) return *std::move(rules);
  }
  errors.push_back(rules.error());
  return nullptr;
}

// Why an example was not executed, for a line of a list.
std::string in_short(std::string why) {
  constexpr std::string_view kMissing =
      "the model has ops that cannot be run: ";
  const std::size_t at = why.find(kMissing);
  if (at == std::string::npos) return why;
  std::string ops = why.substr(at + kMissing.size());
  for (std::size_t i; (i = ops.find("::")) != std::string::npos;) {
    ops.replace(i, 2, ".");
  }
  return "no kernel for " + ops;
}

}  // namespace

std::size_t Tested::passed() const {
  return static_cast<std::size_t>(std::ranges::count(
      results, lua::Verdict::kOk, &lua::ExampleResult::verdict));
}

std::size_t Tested::not_executed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(results, [](const lua::ExampleResult& each) {
        return each.verdict == lua::Verdict::kOk && !each.not_executed.empty();
      }));
}

Tested test(const std::vector<std::string>& paths, const TestOptions& options) {
  Tested out;
  const auto rules = load_what_loads(paths, options, out.errors_of_files);
  if (!rules) return out;
  out.warnings = rules->warnings();
  // Examples are small, so one thread runs them.
  auto runs =
      lua::run_examples(*rules,
                        compare_by_kernels({.threads = 1,
                                            .tolerance = options.tolerance,
                                            .limits = options.limits}),
                        kernels::cpu_evaluator());
  out.results = std::move(runs.results);
  for (lua::ExampleResult& each : out.results) {
    each.not_executed = in_short(std::move(each.not_executed));
  }
  out.errors_of_examples = std::move(runs.errors);
  if (runs.stopped) out.errors_of_files.push_back(*std::move(runs.stopped));
  for (const auto& rule : rules->rules()) {
    if (!rule->examples.empty()) continue;
    out.warnings.push_back("rule '" + rule->name +
                           "' has no examples, so nothing tests it (" +
                           printable(rule->file) + ")");
  }
  return out;
}

engine::Json to_json(const Tested& tested) {
  engine::Json json = engine::Json::array();
  for (const lua::ExampleResult& each : tested.results) {
    json.push_back({{"rule", each.rule},
                    {"title", engine::exact(each.title)},
                    {"verdict", lua::verdict_name(each.verdict)},
                    {"detail", printable(each.detail, 2000)},
                    {"notes", each.notes},
                    {"line", each.line},
                    {"executed", each.executed},
                    {"not_executed", printable(each.not_executed, 2000)}});
  }
  return json;
}

}  // namespace ruleengine::api
