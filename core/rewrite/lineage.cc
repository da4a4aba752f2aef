#include "core/rewrite/lineage.h"

#include <algorithm>

namespace ruleengine::rewrite {
namespace {

constexpr std::uint32_t kMaxGeneration = 1000;
constexpr std::uint32_t kMaxAgain = 1000;
// Rewrites of the past that are searched for a repetition.
constexpr std::size_t kWindow = 128;

// The shortest head of `rules` that the whole repeats, from its first rule on.
std::vector<std::uint32_t> period(const std::vector<std::uint32_t>& rules) {
  for (std::size_t p = 1; p <= rules.size() / 2; ++p) {
    bool repeats = true;
    for (std::size_t i = p; i < rules.size() && repeats; ++i) {
      repeats = rules[i] == rules[i - p];
    }
    if (!repeats) continue;
    std::vector<std::uint32_t> head(rules.begin(),
                                    rules.begin() + std::ptrdiff_t(p));
    std::ranges::rotate(head, std::ranges::min_element(head));
    return head;
  }
  std::vector<std::uint32_t> each = rules;
  std::ranges::sort(each);
  const auto repeated = std::ranges::unique(each);
  each.erase(repeated.begin(), repeated.end());
  return each;
}

}  // namespace

std::uint32_t Lineage::generation(ir::NodeId node) const {
  return node.index() < made_.size() ? made_[node.index()].generation : 0;
}

// The oldest of what went; where nothing did, the youngest of what was matched.
ir::NodeId Lineage::parent_of(const Step& step) const {
  ir::NodeId parent;
  for (ir::NodeId n : step.removed) {
    if (!parent || generation(n) < generation(parent)) parent = n;
  }
  if (parent) return parent;
  for (ir::NodeId n : step.consumed) {
    if (!parent || generation(n) > generation(parent)) parent = n;
  }
  return parent ? parent : step.root;
}

std::optional<Lineage::Circle> Lineage::note(const Step& step) {
  const ir::NodeId parent = parent_of(step);
  if (parent && !step.added.empty()) {
    made_.resize(graph_.node_count());
    const std::uint32_t g = generation(parent) + 1;
    for (ir::NodeId n : step.added) made_[n.index()] = {step.rule, g, parent};
    if (g > kMaxGeneration) return circle_from(step.added[0]);
  }
  if (!step.root || graph_.node(step.root).removed) return std::nullopt;
  Again& again = again_[step.root];
  if (std::ranges::find(again.rules, step.rule) == again.rules.end()) {
    again.rules.push_back(step.rule);
  }
  if (++again.count <= kMaxAgain) return std::nullopt;
  return Circle{again.rules, step.root};
}

Lineage::Circle Lineage::circle_from(ir::NodeId node) const {
  std::vector<std::uint32_t> rules;
  while (generation(node) > 0) {
    const Made& made = made_[node.index()];
    if (rules.size() < kWindow) rules.push_back(made.rule);
    node = made.parent;
  }
  std::ranges::reverse(rules);
  return {period(rules), node};
}

}  // namespace ruleengine::rewrite
