#include "core/engine/json.h"

#include <sys/resource.h>

#include <cmath>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "core/base/utf8.h"
#include "core/base/version.h"

namespace ruleengine::engine {
namespace {

constexpr double kMilliseconds = 1e3;

// Sentences, whole.
std::string clean(const std::string& text) {
  return printable(text, std::string::npos);
}

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
  if (rule.lint) json["found"] = exact_all(rule.found);
  return json;
}

Json error_json(const Diagnostic& error) {
  return {{"what", clean(error.what)},
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

Json needs_json(const Requirements& needs) {
  Json domains = Json::array();
  for (const std::string& each : needs.domains) domains.push_back(exact(each));
  return {{"functions", needs.functions},
          {"overloads", needs.overloads},
          {"domains", std::move(domains)},
          {"opset", needs.opset}};
}

Json cost_json(const analysis::Cost& cost) {
  return {{"bytes", cost.bytes},
          {"products", cost.products},
          {"unknown", cost.unknown}};
}

Json traffic_json(const ranks::Traffic& traffic) {
  Json out = Json::object();
  for (const auto& [op, sent] : traffic) {
    out[op] = {{"nodes", sent.nodes},
               {"bytes", sent.bytes},
               {"unknown", sent.unknown}};
  }
  return out;
}

}  // namespace

std::string exact(std::string_view name) {
  return is_utf8(name) ? std::string(name) : printable(name, std::string::npos);
}

Json exact_all(std::span<const std::string> names) {
  Json json = Json::array();
  for (const std::string& each : names) json.push_back(exact(each));
  return json;
}

std::string json_text(const Json& json) { return json.text(2, true) + "\n"; }

Json verified(const std::optional<Verified>& v) {
  if (!v) return nullptr;
  Json sizes = Json::object();
  for (const auto& [name, its] : v->sizes) sizes[exact(name)] = its;
  Json out = {{"inputs", v->inputs},
              {"max_abs", v->max_abs},
              {"max_rel", v->max_rel},
              {"sizes", std::move(sizes)}};
  if (v->edits > 0) out["edits"] = v->edits;
  return out;
}

Json to_json(const FileReport& report) {
  Json rules = Json::array();
  for (const auto& rule : report.run.rewrites.rules)
    rules.push_back(rule_json(rule));
  Json warnings = Json::array();
  for (const auto* list :
       {&report.run.rewrites.warnings, &report.run.rewrites.allowed}) {
    for (const rewrite::Warning& w : *list) {
      warnings.push_back({{"rule", w.rule},
                          {"node", exact(w.node)},
                          {"message", clean(w.message)}});
    }
  }
  Json assumed = Json::array();
  for (const rewrite::Assumed& each : report.run.rewrites.assumptions) {
    assumed.push_back({{"rule", each.rule},
                       {"node", exact(each.node)},
                       {"text", clean(each.assumption.text)}});
  }
  Json json = {{"tool", "ruleengine"},
               {"version", kVersion},
               {"model", exact(report.model)},
               {"output", exact(report.output)},
               {"target", report.run.target},
               {"nodes_before", total(report.run.ops_before)},
               {"nodes_after", total(report.run.ops_after)},
               {"ops_before", report.run.ops_before},
               {"ops_after", report.run.ops_after},
               {"rules", std::move(rules)},
               {"warnings", std::move(warnings)},
               {"assumptions", std::move(assumed)},
               {"seconds",
                {{"load", report.load_seconds},
                 {"match", report.run.rewrites.match_seconds},
                 {"rewrite", report.run.rewrites.rewrite_seconds},
                 {"save", report.save_seconds}}},
               {"peak_bytes", peak_bytes()},
               {"verified", verified(report.verified)},
               {"needs", needs_json(report.run.needs)}};
  if (report.tuned) {
    json["tuned"] = to_json(*report.tuned);
    json["tuned"].erase("measurements");
  }
  if (report.measured) {
    json["measured"] = {
        {"runtime", exact(report.runtime)},
        {"failed", clean(report.measured->failed)},
        {"compared", report.measured->compared},
        {"noise", report.noise},
        {"ms_before", report.measured->seconds_of() * kMilliseconds},
        {"ms_after", report.measured->seconds_against() * kMilliseconds},
        {"speedup", to_json(report.measured->speedup())}};
  }
  if (const auto& cost = report.run.cost) {
    json["cost"] = {{"before", cost_json(cost->before)},
                    {"after", cost_json(cost->after)},
                    {"sizes", Json::object()}};
    for (const auto& [name, size] : cost->sizes) {
      json["cost"]["sizes"][exact(name)] = size;
    }
  }
  if (report.error) json["error"] = error_json(*report.error);
  return json;
}

Json to_json(const std::string& model, const rewrite::Found& found) {
  Json nodes = Json::array();
  for (ir::NodeId id : found.nodes) {
    nodes.push_back(exact(found.graph->describe(id)));
  }
  Json json = {{"model", exact(model)},
               {"rule", found.rule},
               {"node", exact(found.graph->describe(found.root))},
               {"fires", !found.rejection.has_value()},
               {"nodes", std::move(nodes)}};
  if (!found.assumptions.empty()) {
    Json assumed = Json::array();
    for (const auto& each : found.assumptions) {
      assumed.push_back(
          {{"text", printable(each.text)}, {"value", printable(each.value)}});
    }
    json["assumptions"] = std::move(assumed);
  }
  if (found.rejection) {
    json["reason"] = printable(found.rejection->reason);
    json["value"] = exact(found.rejection->value);
  }
  return json;
}

Json to_json(const std::string& model, const ir::Graph& graph,
             const Explanation& explanation) {
  const rewrite::Rule& rule = *explanation.rule;
  Json matches = Json::array(), misses = Json::array();
  for (const rewrite::Found& each : explanation.found) {
    matches.push_back(to_json(model, each));
  }
  for (const match::Miss& each : explanation.misses) {
    misses.push_back(
        {{"root", each.root ? exact(graph.describe(each.root)) : ""},
         {"depth", each.depth},
         {"node", each.node ? exact(graph.describe(each.node)) : ""},
         {"line", each.line},
         {"test", clean(each.test)},
         {"expected", clean(each.expected)},
         {"found", clean(each.found)}});
  }
  Json json = {{"model", exact(model)},
               {"rule", rule.name()},
               {"file", exact(rule.file())},
               {"matches", std::move(matches)},
               {"misses", std::move(misses)}};
  if (explanation.absent) json["absent"] = explanation.absent->switches;
  return json;
}

Json to_json(const std::string& model, const Coverage& coverage) {
  Json left = Json::array();
  for (const Coverage::Left& each : coverage.left) {
    left.push_back({{"node", exact(each.node)},
                    {"rule", each.rule},
                    {"reason", printable(each.reason)}});
  }
  return {{"model", exact(model)},
          {"found", coverage.found()},
          {"fused", coverage.fused},
          {"left", std::move(left)}};
}

Json to_json(const std::string& model, const Collectives& collectives) {
  Json rejected = Json::array();
  for (const auto& [rule, why] : collectives.stays) {
    rejected.push_back({{"rule", rule},
                        {"node", exact(why.node)},
                        {"reason", printable(why.reason)},
                        {"value", exact(why.value)}});
  }
  return {{"model", exact(model)},
          {"before", traffic_json(collectives.before)},
          {"after", traffic_json(collectives.after)},
          {"rejected", std::move(rejected)}};
}

Json to_json(const Finding& finding) {
  Json notes = Json::array();
  for (const std::string& each : finding.notes) notes.push_back(clean(each));
  return {{"verified", verified(finding.verified)},
          {"difference", clean(finding.difference)},
          {"shown_by", finding.shown_by},
          {"unverified", clean(finding.unverified)},
          {"left_out", finding.left_out},
          {"notes", std::move(notes)}};
}

Json to_json(const Spread& s, double unit) {
  return {{"low", s.low * unit},
          {"median", s.median * unit},
          {"high", s.high * unit}};
}

namespace {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "gains";
    case Verdict::kSlower:
      return "costs";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kSame:
      break;
  }
  return "no difference";
}

Json effect_json(const Tuned::Effect& effect) {
  return {{"rule", effect.part.rule},
          {"kind", exact(effect.part.kind)},
          {"value", exact(effect.part.value)},
          {"sites", effect.sites},
          {"verdict", verdict_name(effect.verdict)},
          {"kept", effect.kept},
          {"ms_with", effect.with * kMilliseconds},
          {"ms_without", effect.without * kMilliseconds},
          {"speedup", to_json(effect.speedup)},
          {"failed", clean(effect.failed)}};
}

Json comparison_json(const Comparison& c) {
  Json rounds = Json::array();
  for (const auto& [of, against] : c.rounds) rounds.push_back({of, against});
  return {{"step", step_name(c.step)},   {"of", exact(c.of)},
          {"against", exact(c.against)}, {"failed", clean(c.failed)},
          {"compared", c.compared},      {"seconds", std::move(rounds)}};
}

// Throws nlohmann's errors.
Comparison comparison_of(const nlohmann::json& json) {
  Comparison out;
  const auto step = step_of(json.at("step").get<std::string>());
  if (!step) throw std::invalid_argument("an unknown step");
  out.step = *step;
  json.at("of").get_to(out.of);
  json.at("against").get_to(out.against);
  json.at("failed").get_to(out.failed);
  json.at("compared").get_to(out.compared);
  json.at("seconds").get_to(out.rounds);
  const auto is_time = [](double s) { return s > 0 && std::isfinite(s); };
  for (const auto& [of, against] : out.rounds) {
    if (!is_time(of) || !is_time(against)) {
      throw std::invalid_argument("a time that is no positive number");
    }
  }
  return out;
}

}  // namespace

Json to_json(const Tuned& tuned) {
  Json targets = Json::array(), effects = Json::array();
  for (const Tuned::Target& each : tuned.targets) {
    targets.push_back({{"target", each.name},
                       {"speedup", to_json(each.speedup)},
                       {"failed", clean(each.failed)}});
  }
  for (const Tuned::Effect& each : tuned.effects) {
    effects.push_back(effect_json(each));
  }
  Json with = Json::array(), without = Json::array();
  for (const auto& [part, takes_place] : tuned.best.choices) {
    (takes_place ? with : without).push_back(exact(part.text()));
  }
  Json measurements = Json::array();
  for (const Comparison& each : tuned.measurements) {
    measurements.push_back(comparison_json(each));
  }
  return {{"runtime", exact(tuned.runtime)},
          {"noise", tuned.noise},
          {"targets", std::move(targets)},
          {"effects", std::move(effects)},
          {"complete", tuned.complete},
          {"best",
           {{"target", tuned.best.target},
            {"without", std::move(without)},
            {"with", std::move(with)}}},
          {"compared", tuned.compared},
          {"failed", clean(tuned.failed)},
          {"ms_before", tuned.seconds_before * kMilliseconds},
          {"ms_after", tuned.seconds_after * kMilliseconds},
          {"speedup", to_json(tuned.speedup)},
          {"measurements", std::move(measurements)}};
}

Result<Recording> recording_of(const std::string& text,
                               const std::string& path) {
  Diagnostic error{.kind = ErrorKind::kUsage,
                   .what = "the measurements cannot be read",
                   .where = path,
                   .expected = "recorded measurements"};
  try {
    const auto json = nlohmann::json::parse(text);
    Recording out;
    json.at("runtime").get_to(out.runtime);
    for (const auto& each : json.at("measurements")) {
      out.measurements.push_back(comparison_of(each));
    }
    return out;
  } catch (const std::exception& e) {
    error.found = e.what();
  }
  return error;
}

}  // namespace ruleengine::engine
