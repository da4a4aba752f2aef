#include "core/rewrite/stage.h"

#include <map>
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

Result<std::vector<Stage>> make_stages(std::span<Rule* const> rules) {
  const auto level = levels(precedents(rules));
  if (!level) return level.error();
  std::map<std::pair<Phase, std::uint32_t>, std::vector<std::uint32_t>> parts;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    parts[{rules[i]->phase(), (*level)[i]}].push_back(i);
  }
  std::vector<Stage> stages;
  for (auto& [key, members] : parts) {
    Stage& stage = stages.emplace_back();
    std::vector<const pattern::Pattern*> patterns;
    for (std::uint32_t i : members) {
      if (rules[i]->pattern() == nullptr) continue;
      patterns.push_back(rules[i]->pattern());
      stage.matching.push_back(i);
      stage.has_groups |= rules[i]->groups();
    }
    stage.all = std::move(members);
    if (patterns.empty()) continue;
    stage.program.emplace(match::compile(patterns));
    stage.known = std::make_shared<match::KnownOps>(*stage.program);
  }
  return stages;
}

}  // namespace ruleengine::rewrite
