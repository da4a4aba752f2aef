#include "bindings/cli/run_report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "bindings/cli/terminal.h"
#include "core/base/version.h"

namespace ruleengine::cli {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t total(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [op, count] : counts) sum += count;
  return sum;
}

// Names of models may be any bytes; JSON holds UTF-8 only.
std::string clean(const std::string& text) { return printable(text, 2000); }

Json rule_json(const rewrite::RuleReport& rule) {
  Json rejected = Json::array();
  for (const rewrite::Rejected& r : rule.rejected) {
    rejected.push_back({{"node", clean(r.node)},
                        {"reason", clean(r.reason)},
                        {"value", clean(r.value)}});
  }
  return {{"name", rule.name},
          {"file", clean(rule.file)},
          {"phase", rewrite::phase_name(rule.phase)},
          {"matches", rule.matches},
          {"rewrites", rule.rewrites},
          {"rejected", std::move(rejected)},
          {"seconds", rule.seconds}};
}

Json error_json(const Diagnostic& error) {
  return {{"code", static_cast<int>(error.kind)},
          {"what", clean(error.what)},
          {"where", clean(error.where)},
          {"expected", clean(error.expected)},
          {"found", clean(error.found)},
          {"hint", clean(error.hint)}};
}

std::uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Which match was rejected, why, and at what value; a line for each.
std::string rejections(const rewrite::Report& report) {
  std::string text;
  for (const rewrite::RuleReport& rule : report.rules) {
    for (const rewrite::Rejected& r : rule.rejected) {
      text += rule.name;
      if (!r.node.empty()) text += fmt::format(" at '{}'", printable(r.node));
      text += fmt::format(": {}", printable(r.reason));
      if (!r.value.empty()) text += fmt::format(" ({})", printable(r.value));
      text += "\n";
    }
  }
  return text;
}

}  // namespace

Json to_json(const RunReport& report) {
  Json rules = Json::array();
  for (const auto& rule : report.engine.rules) rules.push_back(rule_json(rule));
  Json warnings = Json::array();
  for (const rewrite::Warning& w : report.engine.warnings) {
    warnings.push_back({{"rule", w.rule},
                        {"node", clean(w.node)},
                        {"message", clean(w.message)}});
  }
  Json json = {{"tool", "ruleengine"},
               {"version", kVersion},
               {"model", clean(report.model)},
               {"output", clean(report.output)},
               {"target", report.target},
               {"nodes_before", total(report.ops_before)},
               {"nodes_after", total(report.ops_after)},
               {"ops_before", report.ops_before},
               {"ops_after", report.ops_after},
               {"rules", std::move(rules)},
               {"warnings", std::move(warnings)},
               {"seconds",
                {{"load", report.load_seconds},
                 {"match", report.engine.match_seconds},
                 {"rewrite", report.engine.rewrite_seconds},
                 {"save", report.save_seconds}}},
               {"peak_bytes", peak_bytes()},
               {"verified", nullptr}};
  if (report.error) json["error"] = error_json(*report.error);
  return json;
}

std::string summary(const RunReport& report, bool verbose) {
  std::vector<std::vector<std::string>> rows = {
      {"rule", "matches", "rewrites", "rejected", "time"}};
  std::size_t silent = 0;
  for (const rewrite::RuleReport& rule : report.engine.rules) {
    if (!verbose && rule.matches == 0) {
      ++silent;
      continue;
    }
    rows.push_back({rule.name, std::to_string(rule.matches),
                    std::to_string(rule.rewrites),
                    std::to_string(rule.rejected.size()),
                    fmt::format("{:.1f} ms", rule.seconds * 1e3)});
  }
  std::string text = rows.size() > 1 ? table(rows) : std::string();
  if (verbose) text += rejections(report.engine);
  if (silent > 0) {
    text += fmt::format("{} {} matched nowhere\n", silent,
                        silent == 1 ? "rule" : "rules");
  }
  text += fmt::format("{}: {} -> {} nodes", printable(report.model),
                      total(report.ops_before), total(report.ops_after));
  if (!report.output.empty()) text += ", " + printable(report.output);
  return text;
}

}  // namespace ruleengine::cli
