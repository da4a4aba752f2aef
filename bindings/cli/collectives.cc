// `ruleengine collectives [RULE...] MODEL...`: what the ranks of each model
// send to each other, before and after the rules, and which rules rejected a
// collective that is left, with the reason. Without rules: the packs for
// serving that ship, with sequence parallelism enabled.

#include <fmt/format.h>

#include <array>
#include "bindings/api/questions.h"
#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"

namespace ruleengine::cli {
namespace {

using ranks::Sent;
using ranks::Traffic;

Sent total(const Traffic& traffic) {
  Sent out;
  for (const auto& [op, sent] : traffic) {
    out.nodes += sent.nodes;
    out.unknown += sent.unknown;
    out.bytes += sent.bytes;
  }
  return out;
}

std::string bytes_text(const Sent& sent) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB"};
  double bytes = sent.bytes;
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::string out =
      fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
  if (sent.unknown > 0) out += fmt::format(" + {} unknown", sent.unknown);
  return out;
}

std::vector<std::string> row(const std::string& op, const Sent& before,
                             const Sent& after) {
  return {op, std::to_string(before.nodes), bytes_text(before),
          std::to_string(after.nodes), bytes_text(after)};
}

void print_text(const std::string& model, const engine::Collectives& each) {
  show("{}: a rank sends\n", printable(model));
  std::vector<std::vector<std::string>> rows = {
      {"op", "before", "bytes", "after", "bytes"}};
  Traffic ops = each.before;
  ops.insert(each.after.begin(), each.after.end());
  const auto of = [](const Traffic& traffic, const std::string& op) {
    const auto at = traffic.find(op);
    return at == traffic.end() ? Sent() : at->second;
  };
  for (const auto& [op, sent] : ops) {
    rows.push_back(row(op, of(each.before, op), of(each.after, op)));
  }
  rows.push_back(row("all", total(each.before), total(each.after)));
  put(table(rows));
  for (const auto& [rule, why] : each.stays) {
    show("{} stays\n", printable(why.node));
    show("  rule:    {}\n", rule);
    show("  reason:  {}\n", printable(why.reason));
    if (!why.value.empty()) show("  value:   {}\n", printable(why.value));
  }
}

int collectives(const RuleFlags& given) {
  RuleFlags flags = given;
  const auto paths = sort_paths(flags, Wants::kModelsAndRules);
  if (paths.rules.empty()) {
    flags.sets.insert(flags.sets.begin(), "sequence_parallel.enable=true");
  }
  const auto rules = load_rules(paths.rules, flags, engine::serving_packs());
  Json json = Json::array();
  for (const std::string& path : paths.models) {
    const auto model = load_model(path, flags);
    const auto one = take(api::collectives(*model, *rules, run_options(flags)));
    if (flags.json) {
      json.push_back(engine::to_json(path, one));
    } else {
      print_text(path, one);
    }
  }
  if (flags.json) put(engine::json_text(json));
  return 0;
}

}  // namespace

void add_collectives(Line& line) {
  auto [collectives, flags] = line.add(
      cli::collectives, "collectives",
      "what the ranks of a model send to each other, before and after rules",
      "ruleengine collectives rank0.onnx");
  collectives.paths(
      "MODEL|RULE", flags,
      "models, and rules instead of the packs linear, quantization and "
      "sequence_parallel");
  collectives.flag("--json", flags.json, "as JSON");
  collectives.rules(flags);
}

}  // namespace ruleengine::cli
