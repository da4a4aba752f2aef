#include "bindings/api/examples.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include "bindings/api/execution.h"
#include "bindings/api/files.h"
#include "bindings/lua/example_texts.h"
#include "core/base/folder.h"
#include "kernels/cpu.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;
using RuleSet = std::unique_ptr<lua::RuleSet>;

// The path itself, or the rules of a folder.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files = lua::rule_files_in(path, error);
  for (std::string& each : files) each = (fs::path(path) / each).string();
  return files;
}

Result<RuleSet> load(const std::vector<std::string>& paths,
                     const RuleOptions& options) {
  auto set = lua::RuleSet::load(
      paths, options.sets, sandbox_limits(options.limits), options.texts.get());
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

// Why the expected graph of a result cannot be that which was found; "": it
// can.
std::string why_not(const lua::ExampleResult& result, bool all) {
  if (result.verdict == lua::Verdict::kUnsound) {
    return "the graph that was found computes something else";
  }
  if (!result.found) return "no text of an example says the graph";
  if (!all && !result.executed) {
    return "it was not executed: " + result.not_executed;
  }
  return "";
}

// Writes the texts of one file, and says so in the updates, which are those of
// its results.
Status update_file(const std::string& path, Tested& tested,
                   std::vector<Tested::Update>& updates) {
  std::error_code none;
  const fs::path real = fs::canonical(path, none);
  const auto source = read_text_file(real.string());
  if (!source) return source.error();
  std::vector<lua::NewText> texts;
  for (const Tested::Update& each : updates) {
    const lua::ExampleResult& result = tested.results[each.result];
    texts.push_back({.example = result.place, .text = *result.found});
  }
  const std::string text = lua::with_new_texts(*source, texts);
  const fs::perms mode = fs::status(real, none).permissions();
  if (text != *source) {
    if (auto status = write_file(real.string(), text); !status) return status;
    fs::permissions(real, mode, none);
  }
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (texts[i].written) {
      lua::ExampleResult& result = tested.results[updates[i].result];
      result.verdict = lua::Verdict::kOk;
      result.detail = result.notes = "";
    } else {
      updates[i].why_not = "its graph is not written as one string";
    }
  }
  return {};
}

// Results of one file follow each other, in the order of its examples.
void update_files(bool all, Tested& tested) {
  std::map<std::string, std::vector<Tested::Update>> by_file;
  for (std::size_t i = 0; i < tested.results.size(); ++i) {
    const lua::ExampleResult& result = tested.results[i];
    if (!result.differs) continue;
    Tested::Update update{.result = i, .why_not = why_not(result, all)};
    if (update.why_not.empty()) {
      by_file[result.file].push_back(std::move(update));
    } else {
      tested.updates.push_back(std::move(update));
    }
  }
  for (auto& [file, updates] : by_file) {
    if (auto status = update_file(file, tested, updates); !status) {
      tested.errors_of_files.push_back(status.error());
      continue;
    }
    std::ranges::move(updates, std::back_inserter(tested.updates));
  }
  std::ranges::sort(tested.updates, {}, &Tested::Update::result);
}

}  // namespace

std::size_t Tested::passed() const {
  return static_cast<std::size_t>(std::ranges::count(
      results, lua::Verdict::kOk, &lua::ExampleResult::verdict));
}

std::size_t Tested::failed() const {
  const auto wrong = std::ranges::count_if(
      fuzzed, [](const lua::FuzzResult& each) { return each.wrong > 0; });
  return results.size() - passed() + static_cast<std::size_t>(wrong);
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
  // Examples are small, so one thread runs them, in little memory.
  const engine::OpBodies bodies(rules->bodies());
  Limits limits = options.limits;
  if (limits.tensors == 0) limits.tensors = std::size_t{1} << 30;
  const auto compare = bodies.compare_with(compare_by_kernels(
      {.threads = 1, .tolerance = options.tolerance, .limits = limits}));
  auto runs = lua::run_examples(*rules, compare, kernels::cpu_evaluator(),
                                options.update != TestOptions::Update::kNone);
  out.results = std::move(runs.results);
  out.errors_of_examples = std::move(runs.errors);
  if (options.update != TestOptions::Update::kNone) {
    update_files(options.update == TestOptions::Update::kAll, out);
  }
  if (options.fuzz.mutants > 0 && !runs.stopped) {
    auto fuzzed =
        lua::fuzz(*rules, compare, kernels::cpu_evaluator(), options.fuzz);
    out.fuzzed = std::move(fuzzed.results);
    runs.stopped = std::move(fuzzed.stopped);
  }
  if (runs.stopped) out.errors_of_files.push_back(*std::move(runs.stopped));
  for (const auto& rule : rules->rules()) {
    if (!rule->examples.empty()) continue;
    out.warnings.push_back("rule '" + rule->name +
                           "' has no examples, so nothing tests it (" +
                           printable(rule->file) + ")");
  }
  return out;
}

Json to_json(const Tested& tested) {
  Json json = Json::array();
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
  for (const Tested::Update& each : tested.updates) {
    json[each.result]["updated"] = each.why_not.empty();
  }
  for (const lua::FuzzResult& each : tested.fuzzed) {
    const auto at = std::ranges::find_if(
        tested.results, [&](const lua::ExampleResult& example) {
          return example.rule == each.rule && example.file == each.file &&
                 example.place == each.place;
        });
    if (at == tested.results.end()) continue;
    Json fuzz = {{"mutants", each.mutants},
                 {"fired", each.fired},
                 {"executed", each.executed},
                 {"assumed", each.assumed},
                 {"verdict", lua::verdict_name(each.verdict)}};
    if (each.wrong > 0) {
      fuzz.update({{"wrong", each.wrong},
                   {"number", each.number},
                   {"changes", each.changes},
                   {"detail", printable(each.detail, 2000)},
                   {"shown_by", each.shown_by},
                   {"example", engine::exact(each.text)}});
    }
    json[static_cast<std::size_t>(at - tested.results.begin())]["fuzz"] =
        std::move(fuzz);
  }
  return json;
}

Json report_json(const Tested& tested) {
  Json json = {{"examples", to_json(tested)},
               {"errors", Json::array()},
               {"warnings", tested.warnings}};
  for (const auto* errors :
       {&tested.errors_of_files, &tested.errors_of_examples}) {
    for (const auto& each : *errors) json["errors"].push_back(each.text());
  }
  return json;
}

}  // namespace ruleengine::api
