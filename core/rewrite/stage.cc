#include "core/rewrite/stage.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace ruleengine::rewrite {
namespace {

using Level = std::uint32_t;

// Who follows whom, and how many each one still waits for.
struct Waiting {
  std::vector<std::vector<std::uint32_t>> followers;
  std::vector<std::uint32_t> count;
};

Waiting waiting(std::span<Rule* const> rules) {
  std::multimap<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    by_name.emplace(rules[i]->name(), i);
    if (rules[i]->qualified() != rules[i]->name()) {
      by_name.emplace(rules[i]->qualified(), i);
    }
  }
  Waiting out{
      .followers = std::vector<std::vector<std::uint32_t>>(rules.size()),
      .count = std::vector<std::uint32_t>(rules.size(), 0)};
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    for (const std::string& name : rules[i]->after()) {
      const auto [first, last] = by_name.equal_range(name);
      for (auto it = first; it != last; ++it) {
        if (rules[it->second]->phase() != rules[i]->phase()) continue;
        out.followers[it->second].push_back(i);
        ++out.count[i];
      }
    }
  }
  return out;
}

// One level above the rules that each one waits for; Kahn's way, so that a
// circle is what is left over.
Result<std::vector<Level>> levels(std::span<Rule* const> rules) {
  auto [followers, waits] = waiting(rules);
  std::vector<Level> level(rules.size(), 0);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (waits[i] == 0) ready.push_back(i);
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (std::uint32_t f : followers[ready[i]]) {
      level[f] = std::max(level[f], level[ready[i]] + 1);
      if (--waits[f] == 0) ready.push_back(f);
    }
  }
  if (ready.size() == rules.size()) return level;
  Diagnostic d{.kind = ErrorKind::kRule,
               .what = "rules wait for each other in `after`"};
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (waits[i] == 0) continue;
    if (d.where.empty()) d.where = rules[i]->file();
    d.found += (d.found.empty() ? "" : ", ") + rules[i]->name();
  }
  return d;
}

}  // namespace

Result<std::vector<Stage>> make_stages(std::span<Rule* const> rules) {
  const auto level = levels(rules);
  if (!level) return level.error();
  std::map<std::pair<Phase, Level>, std::vector<std::uint32_t>> parts;
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
    if (!patterns.empty()) stage.program.emplace(match::compile(patterns));
  }
  return stages;
}

}  // namespace ruleengine::rewrite
