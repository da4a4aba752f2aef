#include "core/rewrite/stage.h"

#include <map>
#include <numeric>
#include <utility>

#include "core/rewrite/precedence.h"

namespace ruleengine::rewrite {
namespace {

std::vector<Precedent> precedents(std::span<Rule* const> rules) {
  std::vector<Precedent> out;
  out.reserve(rules.size());
  for (const Rule* rule : rules) {
    out.push_back({.name = rule->name(),
                   .qualified = rule->qualified(),
                   .file = rule->file(),
                   .phase = rule->phase(),
                   .after = rule->after()});
  }
  return out;
}

}  // namespace

Result<Stages> make_stages(std::span<Rule* const> rules,
                           std::span<const std::uint32_t> members) {
  const auto level = levels(precedents(rules));
  if (!level) return level.error();
  std::map<std::pair<Phase, std::uint32_t>, std::vector<std::uint32_t>> parts;
  for (std::uint32_t i : members) {
    parts[{rules[i]->phase(), (*level)[i]}].push_back(i);
  }
  Stages stages;
  for (auto& [key, all] : parts) {
    Stage& stage = stages.emplace_back();
    std::vector<const pattern::Pattern*> patterns;
    for (std::uint32_t i : all) {
      if (rules[i]->pattern() == nullptr) continue;
      patterns.push_back(rules[i]->pattern());
      stage.matching.push_back(i);
      stage.has_groups |= rules[i]->groups();
    }
    stage.all = std::move(all);
    if (!patterns.empty()) stage.program.emplace(match::compile(patterns));
  }
  return stages;
}

Result<Stages> make_stages(std::span<Rule* const> rules) {
  std::vector<std::uint32_t> all(rules.size());
  std::iota(all.begin(), all.end(), 0);
  return make_stages(rules, all);
}

}  // namespace ruleengine::rewrite
