#include "core/rewrite/precedence.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ruleengine::rewrite {
namespace {

using Rules = std::span<const Precedent>;
using Lists = std::vector<std::vector<std::uint32_t>>;

// For each rule the rules that it runs after, ascending.
Lists waited_for(Rules rules) {
  std::multimap<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    by_name.emplace(rules[i].name, i);
    if (rules[i].qualified != rules[i].name) {
      by_name.emplace(rules[i].qualified, i);
    }
  }
  Lists out(rules.size());
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    for (const std::string& name : rules[i].after) {
      const auto [first, last] = by_name.equal_range(name);
      for (auto it = first; it != last; ++it) {
        if (rules[it->second].phase == rules[i].phase) {
          out[i].push_back(it->second);
        }
      }
    }
    std::ranges::sort(out[i]);
    out[i].erase(std::ranges::unique(out[i]).begin(), out[i].end());
  }
  return out;
}

// Reports a cycle: from the first rule that is left, along rules that are left,
// until one is met again.
Diagnostic cycle(Rules rules, const Lists& before,
                 const std::vector<std::uint32_t>& waits) {
  const auto stuck = [&](std::uint32_t i) { return waits[i] > 0; };
  std::vector<std::uint32_t> path;
  std::uint32_t at = 0;
  while (!stuck(at)) ++at;
  while (std::ranges::find(path, at) == path.end()) {
    path.push_back(at);
    at = *std::ranges::find_if(before[at], stuck);
  }
  path.erase(path.begin(), std::ranges::find(path, at));
  const Precedent& rule = rules[at];
  Diagnostic d{.kind = ErrorKind::kRule};
  d.what = "rule '" + std::string(rule.qualified) + "' runs after itself";
  d.where = rule.file;
  if (rule.line > 0) d.where += ":" + std::to_string(rule.line);
  for (std::uint32_t i : path) {
    d.found += std::string(rules[i].qualified) + " after ";
  }
  d.found += rule.qualified;
  d.hint = path.size() == 1 ? "`after` must name other rules"
                            : "the `after` of these rules form a cycle";
  return d;
}

}  // namespace

// Kahn's algorithm: the rules that it leaves over are in a cycle or run after
// one.
Result<std::vector<std::uint32_t>> levels(Rules rules) {
  const Lists before = waited_for(rules);
  Lists followers(rules.size());
  std::vector<std::uint32_t> waits(rules.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    for (std::uint32_t j : before[i]) followers[j].push_back(i);
    waits[i] = static_cast<std::uint32_t>(before[i].size());
    if (waits[i] == 0) ready.push_back(i);
  }
  std::vector<std::uint32_t> level(rules.size(), 0);
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (std::uint32_t f : followers[ready[i]]) {
      level[f] = std::max(level[f], level[ready[i]] + 1);
      if (--waits[f] == 0) ready.push_back(f);
    }
  }
  if (ready.size() == rules.size()) return level;
  return cycle(rules, before, waits);
}

}  // namespace ruleengine::rewrite
