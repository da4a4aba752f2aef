// `ruleengine coverage [RULE...] MODEL...`: how much of the attention of each
// model the rules compose, and for every block left the reason: what a rule
// turned down, or how far the nearest rule got. Without rules, those that ship.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bindings/cli/session.h"
#include "bindings/cli/target.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/analysis/attention_sites.h"
#include "core/io/load.h"
#include "core/match/machine.h"
#include "core/rewrite/functions.h"

namespace ruleengine::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Left {
  std::string node, rule, reason;
};

struct Coverage {
  std::string model;
  std::uint64_t found = 0, fused = 0;
  std::vector<Left> left;

  double percent() const {
    return found == 0 ? 100.0
                      : 100.0 * static_cast<double>(fused) /
                            static_cast<double>(found);
  }
};

std::uint64_t count_fused(const ir::Graph& graph) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (!node.removed && analysis::is_attention(graph.op(ir::NodeId(i)))) {
      ++count;
    }
  }
  return count;
}

// Probabilities that something else needs have to be computed all the same.
std::optional<Left> needed_elsewhere(const ir::Graph& graph,
                                     const analysis::AttentionSite& site,
                                     const std::string& label) {
  if (!site.reader && !site.is_output) return std::nullopt;
  return Left{
      label, "",
      "the probabilities are needed elsewhere, too (" +
          (site.is_output ? "they are an output of the model, which can be "
                            "exported without its attention weights"
                          : "by " + graph.describe(*site.reader)) +
          ")"};
}

// No rule takes a product away from the kernels that it is quantized for.
std::optional<Left> quantized(const analysis::AttentionSite& site,
                              const std::string& label) {
  if (!site.quantized) return std::nullopt;
  return Left{label, "",
              "quantized, left: a fused attention would compute in floats what "
              "the model computes in integers"};
}

// What a rule about attention said when it turned this node down.
std::optional<Left> rejection_at(const rewrite::Report& report,
                                 const std::string& label) {
  for (const auto& rule : report.rules) {
    if (rule.phase != rewrite::Phase::kAttention) continue;
    for (const rewrite::Rejected& each : rule.rejected) {
      if (each.node != label) continue;
      std::string reason = each.reason;
      if (!each.value.empty()) reason += " (" + each.value + ")";
      return Left{label, rule.name, std::move(reason)};
    }
  }
  return std::nullopt;
}

// The rule about attention that gets furthest here.
Left nearest(const Rules& rules, ir::Graph& graph, ir::Facts& facts,
             ir::NodeId root, std::string label) {
  Left best{std::move(label), "", "no rule begins here"};
  std::optional<decltype(match::Miss().how_far())> furthest;
  for (const auto& rule : rules.set->rules()) {
    if (rule->phase != rewrite::Phase::kAttention || !rule->pattern) continue;
    const auto attempt = match::explain(*rule->pattern, graph, facts, root);
    if (!attempt.miss) continue;
    if (furthest && attempt.miss->how_far() <= *furthest) continue;
    furthest = attempt.miss->how_far();
    best.rule = rule->name;
    best.reason = fmt::format("{}: expected {}, found {}", attempt.miss->test,
                              attempt.miss->expected, attempt.miss->found);
  }
  return best;
}

Result<Coverage> cover(const std::string& path, Rules& rules,
                       const Options& options) {
  auto model = load_model(path, options);
  if (!model) return model.error();
  rewrite::Options engine = engine_options(options);
  engine.keep_all = true;  // what is left is explained as the rules saw it
  auto report = rewrite::run(**model, rules.pointers, engine);
  if (!report) return report.error();
  Coverage out{.model = path};
  for (ir::Graph* graph : rewrite::rewritable_graphs(**model)) {
    const auto facts = engine.facts(*graph);
    out.fused += count_fused(*graph);
    for (const auto& site : analysis::attention_sites(*graph, *facts)) {
      if (auto s = deadline_of(options).check(); !s) return s.error();
      const std::string label = rewrite::node_label(*graph, site.product);
      auto known = needed_elsewhere(*graph, site, label);
      if (!known) known = quantized(site, label);
      if (!known) known = rejection_at(*report, label);
      out.left.push_back(
          known ? std::move(*known)
                : nearest(rules, *graph, *facts, site.product, label));
    }
  }
  out.found = out.fused + out.left.size();
  if (auto status = check_end(**model, options); !status) return status.error();
  return out;
}

Json to_json(const Coverage& coverage) {
  Json left = Json::array();
  for (const Left& each : coverage.left) {
    left.push_back({{"node", exact(each.node)},
                    {"rule", each.rule},
                    {"reason", printable(each.reason)}});
  }
  return {{"model", exact(coverage.model)},
          {"found", coverage.found},
          {"fused", coverage.fused},
          {"left", std::move(left)}};
}

void print_text(const std::vector<Coverage>& all) {
  std::vector<std::vector<std::string>> rows = {{"model", "found", "fused"}};
  for (const Coverage& each : all) {
    rows.push_back({printable(each.model), std::to_string(each.found),
                    std::to_string(each.fused)});
  }
  put(table(rows));
  for (const Coverage& each : all) {
    for (const Left& left : each.left) {
      show("{}: left at {}\n", printable(each.model), printable(left.node));
      if (!left.rule.empty()) show("  nearest:   {}\n", left.rule);
      show("  reason:    {}\n", printable(left.reason));
    }
  }
}

// The packs that ship and speak of attention.
Result<std::vector<std::string>> rules_or_shipped(
    std::vector<std::string> given) {
  if (!given.empty()) return given;
  const auto folder = shipped_rules();
  if (!folder) return folder.error();
  return std::vector<std::string>{*folder + "/canonical.lua",
                                  *folder + "/attention.lua"};
}

}  // namespace

int coverage(const Options& options) {
  auto paths = sort_paths(options, Wants::kModelsAndRules);
  if (!paths) return fail(paths.error());
  const auto files = rules_or_shipped(std::move(paths->rules));
  if (!files) return fail(files.error());
  auto rules = load_rules(*files, options);
  if (!rules) return fail(rules.error());
  std::vector<Coverage> all;
  bool enough = true;
  for (const std::string& path : paths->models) {
    auto one = cover(path, *rules, options);
    if (!one) return fail(one.error());
    enough = enough && one->percent() >= options.min;
    all.push_back(std::move(*one));
  }
  const bool any = std::ranges::any_of(
      all, [](std::uint64_t found) { return found > 0; }, &Coverage::found);
  if (options.min > 0 && !any) {
    warn("no attention was found, so --min had nothing to measure");
  }
  if (options.json) {
    Json json = Json::array();
    for (const Coverage& each : all) json.push_back(to_json(each));
    put(text_of(json));
  } else {
    print_text(all);
  }
  return enough ? 0 : kAnswerIsNo;
}

}  // namespace ruleengine::cli
