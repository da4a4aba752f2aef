#include "bindings/api/report_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "core/base/layout.h"

namespace ruleengine::api {
namespace {

// A line for each rejection: the rule, the node, the reason and the value.
std::string rejections(const rewrite::DriverReport& report,
                       const Spell& spell) {
  std::string text;
  for (const rewrite::RuleReport& rule : report.rules) {
    for (const rewrite::Rejected& r : rule.rejected) {
      text += rule.name;
      if (!r.node.empty()) text += fmt::format(" at '{}'", printable(r.node));
      text += fmt::format(": {}", printable(r.reason));
      if (!r.value.empty()) text += fmt::format(" ({})", printable(r.value));
      const std::string hint = hint_of(r.opset, r.tie, spell);
      if (!hint.empty()) text += "; " + hint;
      text += "\n";
    }
  }
  return text;
}

// The nodes where lints match; with `verbose` all of them.
std::string findings(const rewrite::DriverReport& report, const Spell& spell,
                     bool verbose) {
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
      text += fmt::format("{} matches at {} more, `{}` lists them\n", rule.name,
                          all - shown, spell("verbose", ""));
    }
  }
  return text;
}

// How many rewrites of each rule rest on each assumption; with `verbose` also
// the nodes.
std::string assumptions(const rewrite::DriverReport& report, const Spell& spell,
                        bool verbose) {
  std::vector<std::pair<std::string, std::string>>
      kinds;  // in the order of the report
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
    text += fmt::format("{} of {} {} on the assumption: {}\n",
                        counted(count, "rewrite"), kind.first,
                        count == 1 ? "rests" : "rest", printable(kind.second));
  }
  if (!text.empty()) {
    text += fmt::format("`{}` leaves these out\n", spell("exact", ""));
  }
  return places + text;
}

// Rules of the same folder with the same reason share a line.
std::string absent_rules(const std::vector<engine::Absent>& absent) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      groups;
  for (const engine::Absent& rule : absent) {
    const std::string folder =
        rule.qualified.substr(0, rule.qualified.find('/'));
    groups[{folder, rule.switches.empty() ? "its `when` returned false"
                                          : rule.switches}]
        .push_back(rule.name);
  }
  std::string text;
  for (const auto& [key, names] : groups) {
    text += names.size() == 1
                ? names[0]
                : counted(names.size(), "rule") + " of " + key.first;
    text += " took no part: " + key.second + "\n";
  }
  return text;
}

// With so few rules, they are probably the user's own.
constexpr std::size_t kFewRules = 3;

// If nothing was rewritten: the command that explains it.
std::string next_step(const engine::FileReport& report, const Spell& spell,
                      bool verbose) {
  const auto& rules = report.run.rewrites.rules;
  std::size_t matches = 0, rewrites = 0, rejected = 0;
  for (const rewrite::RuleReport& rule : rules) {
    matches += rule.matches;
    rejected += rule.rejected.size();
    rewrites += rule.rewrites;
  }
  if (rewrites > 0) return "";
  if (matches > 0 && rejected == 0) return "";
  if (matches > 0) {
    return verbose ? ""
                   : fmt::format("`{}` says why each was rejected\n",
                                 spell("verbose", ""));
  }
  std::vector<std::string> asked;
  for (const rewrite::RuleReport& rule : rules) {
    if (rule.took_part) asked.push_back(rule.file);
  }
  if (asked.empty() || rules.size() > kFewRules) return "";
  const std::string rule = asked.size() == 1 ? printable(asked[0]) : "RULE";
  return fmt::format("`{}` says why not\n",
                     spell("explain", rule + " " + printable(report.model)));
}

// Who reads the result, and how to write another one.
std::string readers(const engine::RunReport& run, const Spell& spell) {
  if (run.is_untouched()) return "";
  const engine::Requirements& needs = run.needs;
  if (needs.none()) {
    return needs.ir_version == 0
               ? "whatever reads the model reads the result\n"
               : fmt::format(
                     "read by runtimes that know IR version {}; "
                     "{} leaves that of the model\n",
                     needs.ir_version, spell("keep-ir-version", ""));
  }
  std::vector<std::string> what;
  std::string who = "runtimes that know it";
  if (needs.opset != 0) what.push_back(fmt::format("opset {}", needs.opset));
  if (needs.functions || needs.overloads) {
    what.emplace_back(needs.overloads ? "functions with overloads"
                                      : "functions of a model");
    who = needs.overloads ? "ONNX Runtime and `ruleengine exec`"
                          : "ONNX Runtime, TensorRT 10 and `ruleengine exec`";
  }
  bool has_standard_form = true;
  for (const std::string& domain : needs.domains) {
    what.push_back("ops of " + printable(domain));
    const bool is_known = domain == "com.microsoft";
    who = is_known && has_standard_form ? "ONNX Runtime and `ruleengine exec`"
                                        : "runtimes that have these ops";
    has_standard_form = has_standard_form && is_known;
  }
  return fmt::format(
      "read by {}, since it needs {}{}\n", who, fmt::join(what, ", "),
      has_standard_form
          ? fmt::format("; `{}` is read by whatever reads the model",
                        spell("target", "standard"))
          : "");
}

// Two numbers in the largest unit that suits one of them.
std::string change(double before, double after, double step,
                   std::initializer_list<const char*> units) {
  double scale = 1;
  auto unit = units.begin();
  while (std::max(before, after) >= step * scale && unit + 1 < units.end()) {
    scale *= step;
    ++unit;
  }
  const auto text = [&](double number) {
    number /= scale;
    return number >= 1e6  ? fmt::format("{:.3g}", number)
           : scale == 1.0 ? fmt::format("{:.0f}", number)
                          : fmt::format("{:.2f}", number);
  };
  return text(before) + " -> " + text(after) + *unit;
}

std::string cost_line(const engine::CostChange& cost, const Spell& spell) {
  const auto& [before, after, sizes] = cost;
  std::string text =
      "\nbytes moved " + change(before.bytes, after.bytes, 1024,
                                {" B", " KiB", " MiB", " GiB", " TiB"});
  if (before.products > 0 || after.products > 0) {
    text += ", products " + change(before.products, after.products, 1000,
                                   {"", " k", " M", " G", " T"});
  }
  if (before.unknown > 0 || after.unknown > 0) {
    text += fmt::format(", without {} -> {} nodes of unknown shape",
                        before.unknown, after.unknown);
  }
  const auto is_usual = [](const auto& named) {
    return named.second == ops::Sizes::kUsual;
  };
  if (std::ranges::any_of(sizes, is_usual)) {
    text += fmt::format(" (named sizes as {}; {} fixes them)",
                        ops::Sizes::kUsual, spell("dims", ""));
  }
  return text;
}

constexpr double kMilliseconds = 1e3;

// Says where nothing vouches for the result.
std::string compared_text(bool compared) {
  return compared ? "" : "; the runtime gave no outputs to compare";
}

std::string speedup_text(const Spread& speedup) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", speedup.median, speedup.low,
                     speedup.high);
}

std::string gain_text(const engine::Tuned::Effect& effect) {
  if (!effect.failed.empty()) return printable(effect.failed);
  return fmt::format("{:+.3f} ms",
                     (effect.without - effect.with) * kMilliseconds);
}

std::string verdict_text(const engine::Tuned::Effect& effect) {
  const std::string text = effect.kept ? "kept" : "left out";
  if (effect.verdict == engine::Verdict::kSame) return text + ", no difference";
  if (effect.verdict != engine::Verdict::kFailed) return text;
  return text + (effect.kept ? ", fails without" : ", fails with it");
}

// Tables of targets and effects.
std::string text_of(const engine::Tuned& tuned, const Spell& spell,
                    bool verbose) {
  std::string text;
  std::vector<std::vector<std::string>> rows = {
      {"target", "times as fast (95 %)", ""}};
  for (const engine::Tuned::Target& each : tuned.targets) {
    rows.push_back({each.name,
                    each.failed.empty() ? speedup_text(each.speedup) : "-",
                    each.failed});
  }
  text += table(rows);
  rows = {{"rule", "sites", "gain", ""}};
  for (const engine::Tuned::Effect& each : tuned.effects) {
    const bool is_part = !each.part.kind.empty() || !each.part.value.empty();
    const bool changed = each.verdict != engine::Verdict::kSame;
    if (is_part && !changed && !verbose) continue;
    rows.push_back({each.part.text(), std::to_string(each.sites),
                    gain_text(each), verdict_text(each)});
  }
  if (rows.size() > 1) text += table(rows);
  if (!tuned.complete) {
    text +=
        fmt::format("the time was over before all was tried; {} gives more\n",
                    spell("time", ""));
  }
  text += fmt::format(
      "noise{}: {:.1f} %\n",
      tuned.runtime.empty() ? "" : " of " + printable(tuned.runtime),
      tuned.noise * 100);
  if (!tuned.failed.empty()) {
    text += "in the end the result failed: " + printable(tuned.failed) + "\n";
  }
  if (tuned.best.is_original()) {
    return text + "nothing is measurably faster than the model itself\n";
  }
  return text + fmt::format(
                    "{}: {:.3f} -> {:.3f} ms, {} times as fast{}\n",
                    tuned.best.target, tuned.seconds_before * kMilliseconds,
                    tuned.seconds_after * kMilliseconds,
                    speedup_text(tuned.speedup), compared_text(tuned.compared));
}

// "onnxruntime 1.32.0: 12.300 -> 10.800 ms, 1.139 (1.120 to 1.150) times as
// fast, noise 0.8 %".
std::string text_of(const engine::Comparison& measured, double noise,
                    const std::string& runtime) {
  if (!measured.failed.empty()) {
    return fmt::format("{} does not run the result: {}", printable(runtime),
                       printable(measured.failed));
  }
  return fmt::format(
      "{}: {:.3f} -> {:.3f} ms, {} times as fast, noise {:.1f} %{}",
      printable(runtime), measured.seconds_of() * kMilliseconds,
      measured.seconds_against() * kMilliseconds,
      speedup_text(measured.speedup()), noise * 100,
      compared_text(measured.compared));
}

}  // namespace

std::string hint_of(std::int64_t opset, std::string_view tie,
                    const Spell& spell) {
  if (opset > 0) return spell("opset", std::to_string(opset));
  if (tie.empty()) return "";
  return spell("dims", printable(tie)) + ", if that is always so";
}

std::string text_of(const engine::FileReport& report, const Spell& spell,
                    bool verbose) {
  std::vector<std::vector<std::string>> rows = {
      {"rule", "matches", "rewrites", "rejected", "time"}};
  std::size_t silent = 0;
  for (const rewrite::RuleReport& rule : report.run.rewrites.rules) {
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
  text += findings(report.run.rewrites, spell, verbose);
  if (verbose) text += rejections(report.run.rewrites, spell);
  text += assumptions(report.run.rewrites, spell, verbose);
  if (silent > 0) text += counted(silent, "rule") + " matched nowhere\n";
  text += absent_rules(report.run.absent);
  text += next_step(report, spell, verbose);
  if (report.tuned) text += text_of(*report.tuned, spell, verbose);
  if (report.measured) {
    text += text_of(*report.measured, report.noise, report.runtime) + "\n";
  }
  text += readers(report.run, spell);
  text +=
      fmt::format("{}: {} -> {} nodes",
                  report.model.empty() ? "the model" : printable(report.model),
                  engine::total(report.run.ops_before),
                  engine::total(report.run.ops_after));
  if (report.run.opset_after != report.run.opset_before) {
    text += fmt::format(", opset {} -> {}", report.run.opset_before,
                        report.run.opset_after);
  }
  if (!report.output.empty()) text += ", " + printable(report.output);
  if (report.run.cost) text += cost_line(*report.run.cost, spell);
  return text;
}

std::string table_of(std::span<const engine::FileReport* const> reports) {
  std::vector<std::vector<std::string>> rows = {
      {"model", "nodes", "after", "rewrites", "time", "result"}};
  for (const engine::FileReport* report : reports) {
    if (report->error) {
      rows.push_back(
          {report->model, "", "", "", "", "error: " + report->error->what});
      continue;
    }
    std::size_t rewrites = 0;
    double seconds = report->load_seconds + report->save_seconds;
    for (const rewrite::RuleReport& rule : report->run.rewrites.rules) {
      rewrites += rule.rewrites;
      seconds += rule.seconds;
    }
    rows.push_back({report->model,
                    std::to_string(engine::total(report->run.ops_before)),
                    std::to_string(engine::total(report->run.ops_after)),
                    std::to_string(rewrites),
                    fmt::format("{:.1f} ms", seconds * 1e3), report->output});
  }
  std::string text = table(rows);
  text.pop_back();  // its last newline
  return text;
}

}  // namespace ruleengine::api
