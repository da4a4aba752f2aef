#include "bindings/cli/run_report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "bindings/cli/terminal.h"
#include "core/base/version.h"

namespace ruleengine::cli {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t total(const engine::OpCounts& counts) {
  std::uint64_t sum = 0;
  for (const auto& [op, count] : counts) sum += count;
  return sum;
}

// Sentences, which may be long.
std::string clean(const std::string& text) { return printable(text, 2000); }

Json rule_json(const rewrite::RuleReport& rule) {
  Json rejected = Json::array();
  for (const rewrite::Rejected& r : rule.rejected) {
    rejected.push_back({{"node", exact(r.node)},
                        {"reason", clean(r.reason)},
                        {"value", exact(r.value)}});
  }
  Json json = {{"name", rule.name},
               {"file", exact(rule.file)},
               {"phase", rewrite::phase_name(rule.phase)},
               {"matches", rule.matches},
               {"rewrites", rule.rewrites},
               {"rejected", std::move(rejected)},
               {"seconds", rule.seconds}};
  if (rule.lint) {
    json["found"] = Json::array();
    for (const std::string& node : rule.found) {
      json["found"].push_back(exact(node));
    }
  }
  return json;
}

Json error_json(const Diagnostic& error) {
  return {{"code", exit_code(error.kind)}, {"what", clean(error.what)},
          {"where", clean(error.where)},   {"expected", clean(error.expected)},
          {"found", clean(error.found)},   {"hint", clean(error.hint)}};
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

// Where lints match; with `verbose` all of it.
std::string findings(const rewrite::Report& report, bool verbose) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (const rewrite::RuleReport& rule : report.rules) {
    const std::size_t all = rule.found.size();
    const std::size_t shown = verbose ? all : std::min(all, kMost);
    for (std::size_t i = 0; i < shown; ++i) {
      text += fmt::format("{} matches at '{}'\n", rule.name,
                          printable(rule.found[i]));
    }
    if (shown < all) {
      text += fmt::format("{} matches at {} more, `-v` lists them\n", rule.name,
                          all - shown);
    }
  }
  return text;
}

// How many rewrites of which rule rest on which assumption; with `verbose` at
// which nodes.
std::string assumptions(const rewrite::Report& report, bool verbose) {
  std::vector<std::pair<std::string, std::string>> kinds;  // as they came
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  std::string places;
  for (const auto& [rule, node, assumption] : report.assumptions) {
    const auto& [text, value] = assumption;
    if (++counts[{rule, text}] == 1) kinds.emplace_back(rule, text);
    if (!verbose) continue;
    places += fmt::format("{} at '{}': assumed: {}", rule, printable(node),
                          printable(text));
    if (!value.empty()) places += fmt::format(" ({})", printable(value));
    places += "\n";
  }
  std::string text;
  for (const auto& kind : kinds) {
    const std::size_t count = counts[kind];
    text += fmt::format("{} {} of {} {} on the assumption: {}\n", count,
                        count == 1 ? "rewrite" : "rewrites", kind.first,
                        count == 1 ? "rests" : "rest", printable(kind.second));
  }
  if (!text.empty()) text += "`--exact` leaves these out\n";
  return places + text;
}

std::string counted_rules(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "rule" : "rules");
}

std::string said_by(const engine::Absent& rule) {
  return rule.switches.empty() ? "its `when` says no" : rule.switches;
}

// Those of one folder for one reason are told as one.
std::string absent_rules(const std::vector<engine::Absent>& absent) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      groups;
  for (const engine::Absent& rule : absent) {
    const std::string folder =
        rule.qualified.substr(0, rule.qualified.find('/'));
    groups[{folder, said_by(rule)}].push_back(rule.name);
  }
  std::string text;
  for (const auto& [key, names] : groups) {
    text += names.size() == 1
                ? names[0]
                : counted_rules(names.size()) + " of " + key.first;
    text += " took no part: " + key.second + "\n";
  }
  return text;
}

// Rules so few are somebody's own, at work.
constexpr std::size_t kFewRules = 3;

// What to ask next, where nothing was rewritten.
std::string next_step(const RunReport& report, bool verbose) {
  const auto& rules = report.engine.rewrites.rules;
  std::size_t matches = 0, rewrites = 0, rejected = 0;
  for (const rewrite::RuleReport& rule : rules) {
    matches += rule.matches;
    rejected += rule.rejected.size();
    rewrites += rule.rewrites;
  }
  if (rewrites > 0) return "";
  if (matches > 0 && rejected == 0) return "";
  if (matches > 0) return verbose ? "" : "`-v` says why each was rejected\n";
  std::vector<std::string> asked;
  for (const rewrite::RuleReport& rule : rules) {
    if (rule.took_part) asked.push_back(rule.file);
  }
  if (asked.empty() || rules.size() > kFewRules) return "";
  return fmt::format("`ruleengine explain {} {} [NODE]` says why not\n",
                     asked.size() == 1 ? printable(asked[0]) : "RULE",
                     printable(report.model));
}

}  // namespace

Json to_json(const RunReport& report) {
  Json rules = Json::array();
  for (const auto& rule : report.engine.rewrites.rules)
    rules.push_back(rule_json(rule));
  Json warnings = Json::array();
  for (const auto* list :
       {&report.engine.rewrites.warnings, &report.engine.rewrites.allowed}) {
    for (const rewrite::Warning& w : *list) {
      warnings.push_back({{"rule", w.rule},
                          {"node", exact(w.node)},
                          {"message", clean(w.message)}});
    }
  }
  Json assumed = Json::array();
  for (const rewrite::Assumed& each : report.engine.rewrites.assumptions) {
    assumed.push_back({{"rule", each.rule},
                       {"node", exact(each.node)},
                       {"text", clean(each.assumption.text)}});
  }
  Json json = {{"tool", "ruleengine"},
               {"version", kVersion},
               {"model", exact(report.model)},
               {"output", exact(report.output)},
               {"target", report.engine.target},
               {"nodes_before", total(report.engine.ops_before)},
               {"nodes_after", total(report.engine.ops_after)},
               {"ops_before", report.engine.ops_before},
               {"ops_after", report.engine.ops_after},
               {"rules", std::move(rules)},
               {"warnings", std::move(warnings)},
               {"assumptions", std::move(assumed)},
               {"seconds",
                {{"load", report.load_seconds},
                 {"match", report.engine.rewrites.match_seconds},
                 {"rewrite", report.engine.rewrites.rewrite_seconds},
                 {"save", report.save_seconds}}},
               {"peak_bytes", peak_bytes()},
               {"verified", nullptr}};
  if (report.error) json["error"] = error_json(with_option(*report.error));
  return json;
}

std::string summary(const RunReport& report, bool verbose) {
  std::vector<std::vector<std::string>> rows = {
      {"rule", "matches", "rewrites", "rejected", "time"}};
  std::size_t silent = 0;
  for (const rewrite::RuleReport& rule : report.engine.rewrites.rules) {
    if (!verbose && rule.matches == 0) {
      if (rule.took_part) ++silent;
      continue;
    }
    rows.push_back({rule.name, std::to_string(rule.matches),
                    std::to_string(rule.rewrites),
                    std::to_string(rule.rejected.size()),
                    fmt::format("{:.1f} ms", rule.seconds * 1e3)});
  }
  std::string text = rows.size() > 1 ? table(rows) : std::string();
  text += findings(report.engine.rewrites, verbose);
  if (verbose) text += rejections(report.engine.rewrites);
  text += assumptions(report.engine.rewrites, verbose);
  if (silent > 0) text += counted_rules(silent) + " matched nowhere\n";
  text += absent_rules(report.engine.absent);
  text += next_step(report, verbose);
  text += fmt::format("{}: {} -> {} nodes", printable(report.model),
                      total(report.engine.ops_before),
                      total(report.engine.ops_after));
  if (report.engine.opset_after != report.engine.opset_before) {
    text += fmt::format(", opset {} -> {}", report.engine.opset_before,
                        report.engine.opset_after);
  }
  if (!report.output.empty()) text += ", " + printable(report.output);
  return text;
}

std::vector<std::string> idle_settings(const RunReport& report,
                                       const std::vector<std::string>& sets) {
  std::vector<std::string> out;
  for (const std::string& set : sets) {
    for (const engine::Absent& rule : report.engine.absent) {
      const std::size_t dot = set.find('.'), equals = set.find('=', dot);
      const std::string name = set.substr(0, dot);
      if (name != rule.name && name != rule.qualified) continue;
      // It was switched off here, as was meant.
      const std::string value = set.substr(dot + 1, equals - dot - 1) + " = " +
                                set.substr(equals + 1);
      if ((", " + rule.switches + ",").find(", " + value + ",") !=
          std::string::npos) {
        continue;
      }
      out.push_back(
          fmt::format("--set {} changes nothing, since {} took no part ({})",
                      printable(set), rule.name, said_by(rule)));
    }
  }
  return out;
}

}  // namespace ruleengine::cli
