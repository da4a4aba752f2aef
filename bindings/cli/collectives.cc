// `ruleengine collectives [RULE...] MODEL...`: what the ranks of each model
// send to each other, before the rules and after them, and what rules turned
// down at a collective that is left, and why. Without rules, the packs for
// serving that ship, sequence parallelism switched on.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "bindings/cli/session.h"
#include "bindings/cli/target.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/analysis/communication.h"
#include "core/io/load.h"

namespace ruleengine::cli {
namespace {

using Json = nlohmann::ordered_json;

using analysis::Sent;
using analysis::Traffic;

// A rule that would not take one away.
struct Stays {
  std::string rule;
  rewrite::Rejected rejected;
};

struct Collectives {
  std::string model;
  Traffic before, after;
  std::vector<Stays> stays;
};

Sent total(const Traffic& traffic) {
  Sent out;
  for (const auto& [op, sent] : traffic) {
    out.nodes += sent.nodes;
    out.unknown += sent.unknown;
    out.bytes += sent.bytes;
  }
  return out;
}

// What rules turned down at the collectives that are left.
std::vector<Stays> what_stays(const ir::Graph& graph,
                              const rewrite::Report& report) {
  std::set<std::string> left;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId node(i);
    if (graph.node(node).removed) continue;
    if (!analysis::is_collective(graph.op(node))) continue;
    left.insert(rewrite::node_label(graph, node));
  }
  std::vector<Stays> out;
  for (const rewrite::RuleReport& rule : report.rules) {
    for (const rewrite::Rejected& each : rule.rejected) {
      if (left.contains(each.node)) out.push_back({rule.name, each});
    }
  }
  return out;
}

// Those that read a model as it is meant, another runtime's collectives as the
// engine's own.
std::vector<rewrite::Rule*> canonical(const Rules& rules) {
  std::vector<rewrite::Rule*> out;
  std::ranges::copy_if(rules.pointers, std::back_inserter(out),
                       [](const rewrite::Rule* rule) {
                         return rule->phase() == rewrite::Phase::kCanonical;
                       });
  return out;
}

Result<Collectives> examine(const std::string& path, Rules& rules,
                            const Options& options) {
  auto model = load_model(path, options);
  if (!model) return model.error();
  const rewrite::Options engine = engine_options(options);
  const auto read = rewrite::run(**model, canonical(rules), engine);
  if (!read) return read.error();
  ir::Graph& graph = (*model)->graph;
  Collectives out{.model = path};
  out.before = analysis::traffic(graph, *engine.facts(graph));
  const auto report = rewrite::run(**model, rules.pointers, engine);
  if (!report) return report.error();
  out.after = analysis::traffic(graph, *engine.facts(graph));
  out.stays = what_stays(graph, *report);
  if (auto status = check_end(**model, options); !status) return status.error();
  return out;
}

Json to_json(const Traffic& traffic) {
  Json out = Json::object();
  for (const auto& [op, sent] : traffic) {
    out[op] = {{"nodes", sent.nodes},
               {"bytes", sent.bytes},
               {"unknown", sent.unknown}};
  }
  return out;
}

Json to_json(const Collectives& each) {
  Json rejected = Json::array();
  for (const auto& [rule, why] : each.stays) {
    rejected.push_back({{"rule", rule},
                        {"node", exact(why.node)},
                        {"reason", printable(why.reason)},
                        {"value", exact(why.value)}});
  }
  return {{"model", exact(each.model)},
          {"before", to_json(each.before)},
          {"after", to_json(each.after)},
          {"rejected", std::move(rejected)}};
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

void print_text(const Collectives& each) {
  show("{}: a rank sends\n", printable(each.model));
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

}  // namespace

int collectives(const Options& options) {
  auto paths = sort_paths(options, Wants::kModelsAndRules);
  if (!paths) return fail(paths.error());
  Options own = options;
  if (paths->rules.empty()) {
    const auto folder = shipped_rules();
    if (!folder) return fail(folder.error());
    for (const char* pack : {"linear", "quantization", "sequence_parallel"}) {
      paths->rules.push_back(*folder + "/" + pack + ".lua");
    }
    own.sets.insert(own.sets.begin(), "sequence_parallel.enable=true");
  }
  auto rules = load_rules(paths->rules, own);
  if (!rules) return fail(rules.error());
  Json json = Json::array();
  for (const std::string& path : paths->models) {
    const auto one = examine(path, *rules, own);
    if (!one) return fail(one.error());
    if (options.json) {
      json.push_back(to_json(*one));
    } else {
      print_text(*one);
    }
  }
  if (options.json) put(text_of(json));
  return 0;
}

}  // namespace ruleengine::cli
