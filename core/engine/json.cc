#include "core/engine/json.h"

#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "core/base/utf8.h"
#include "core/base/version.h"

namespace ruleengine::engine {
namespace {

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

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kModel:
      return 3;
    case ErrorKind::kRule:
      return 4;
    case ErrorKind::kLimit:
      return 5;
    case ErrorKind::kVerify:
      return 6;
    case ErrorKind::kWrite:
      return 7;
    case ErrorKind::kInternal:
      break;
  }
  return 70;
}

std::string exact(std::string_view name) {
  return is_utf8(name) ? std::string(name) : printable(name, std::string::npos);
}

std::string json_text(const Json& json) {
  using Handler = Json::error_handler_t;
  return json.dump(2, ' ', true, Handler::replace) + "\n";
}

Json verified(const std::optional<Verified>& v) {
  if (!v) return nullptr;
  return {
      {"inputs", v->inputs}, {"max_abs", v->max_abs}, {"max_rel", v->max_rel}};
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
               {"verified", verified(report.verified)}};
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

}  // namespace ruleengine::engine
