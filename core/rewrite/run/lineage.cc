#include "core/rewrite/run/lineage.h"

#include <algorithm>
#include <functional>
#include <set>

namespace ruleengine::rewrite {
namespace {

// Up to this generation nothing is checked.
constexpr std::uint32_t kFree = 32;
// The number of past rewrites that are searched for repetition, and how often
// they are searched.
constexpr std::size_t kWindow = 192;
constexpr std::uint64_t kLookEvery = 64;
// The least number of repetitions in that window.
constexpr std::size_t kRepeats = 3;
// The limit on generations, or on rewrites at one root, without repetition; it
// grows with the graph, since a large graph may need more.
constexpr std::uint64_t kPatience = 20'000;
constexpr std::uint64_t kPatiencePerNode = 4;
// Nodes made within this many steps count as made by the loop, whatever their
// id.
constexpr std::uint32_t kYoung = 16;

// The length of the shortest prefix that the whole list repeats; none if it
// does not repeat it often enough.
template <class T, class Same>
std::optional<std::size_t> period(const std::vector<T>& all,
                                  std::size_t repeats, Same same) {
  for (std::size_t p = 1; p <= all.size() / repeats; ++p) {
    bool holds = true;
    for (std::size_t i = p; i < all.size() && holds; ++i) {
      holds = same(all[i], all[i - p]);
    }
    if (holds) return p;
  }
  return std::nullopt;
}

}  // namespace

Lineage::Lineage(const ir::Graph& graph)
    : graph_(graph),
      patience_(kPatience + kPatiencePerNode * graph.live_node_count()) {}

std::uint32_t Lineage::generation(ir::NodeId node) const {
  return node && node.index() < made_.size() ? made_[node.index()].generation
                                             : 0;
}

// The oldest of the removed nodes; if there are none, the youngest of the
// matched and touched ones.
ir::NodeId Lineage::parent_of(const Step& step) const {
  ir::NodeId parent;
  for (ir::NodeId n : step.removed) {
    if (!parent || generation(n) < generation(parent)) parent = n;
  }
  if (parent) return parent;
  for (const auto part : {step.consumed, step.touched}) {
    for (ir::NodeId n : part) {
      if (!parent || generation(n) > generation(parent)) parent = n;
    }
  }
  return parent ? parent : step.root;
}

bool Lineage::is_young(ir::NodeId node, std::uint32_t generation) const {
  if (node.index() >= made_.size()) return false;
  const Made& made = made_[node.index()];
  return made.generation > 0 &&
         (made.generation + kYoung > generation || made.at + kYoung > steps_);
}

// The rule and all nodes that it touched: young ones by their contents, others
// by their id too.
Fingerprint Lineage::print_of(const Step& step,
                              std::uint32_t generation) const {
  Fingerprint out = mixed(1, step.rule);
  const std::size_t first = step.added.empty() ? 0 : step.added[0].index();
  const auto maker = [&](ir::NodeId n) -> Fingerprint {
    if (!step.added.empty() && n.index() >= first) {
      return mixed(2, n.index() - first);
    }
    if (!is_young(n, generation)) return mixed(3, n.index());
    return mixed(4, graph_.node(n).op.index());
  };
  for (ir::NodeId n : step.touched) {
    if (graph_.node(n).removed) continue;
    out = mixed(mixed(out, maker(n)), print_of_op(graph_, n));
    for (const ir::Operand& o : graph_.inputs(n)) {
      const ir::NodeId p = o.value ? graph_.producer(o.value) : ir::NodeId();
      out = mixed(out, p ? maker(p) : print_of_source(graph_, o.value));
    }
  }
  return out;
}

// The rules of the shortest loop, if the whole window repeats it and the graph
// did not shrink meanwhile.
std::optional<Lineage::Rules> Lineage::repeated(
    const std::vector<Mark>& marks) {
  if (marks.size() < kWindow || marks.back().live < marks.front().live) {
    return std::nullopt;
  }
  const auto p = period(marks, kRepeats, [](const Mark& a, const Mark& b) {
    return a.rule == b.rule && a.print == b.print && a.print != 0;
  });
  return p ? std::optional(rules_of(marks, *p)) : std::nullopt;
}

// For a loop without repeated states: the repeated sequence of rules, or else
// all rules.
Lineage::Rules Lineage::turning(const std::vector<Mark>& marks) {
  const auto p = period(
      marks, 2, [](const Mark& a, const Mark& b) { return a.rule == b.rule; });
  if (p) return rules_of(marks, *p);
  std::set<std::uint32_t> all;
  for (const Mark& mark : marks) all.insert(mark.rule);
  return {all.begin(), all.end()};
}

// The rules of the first `count` marks, in the order of the run. A period of
// states may consist of several rounds of the same rules, which are named once.
Lineage::Rules Lineage::rules_of(const std::vector<Mark>& marks,
                                 std::size_t count) {
  Rules rules;
  for (std::size_t i = 0; i < count; ++i) rules.push_back(marks[i].rule);
  if (const auto p = period(rules, 2, std::equal_to<>())) rules.resize(*p);
  std::ranges::rotate(rules, std::ranges::min_element(rules));
  return rules;
}

std::optional<Lineage::RuleLoop> Lineage::note(const Step& step) {
  ++steps_;
  if (auto loop = note_added(step)) return loop;
  return note_again(step);
}

std::optional<Lineage::RuleLoop> Lineage::note_added(const Step& step) {
  if (step.added.empty()) return std::nullopt;
  made_.resize(graph_.node_count());
  const ir::NodeId parent = parent_of(step);
  const std::uint32_t g = generation(parent) + 1;
  const Made made{
      g,
      parent,
      steps_,
      {step.rule, graph_.live_node_count(), g > kFree ? print_of(step, g) : 0}};
  for (ir::NodeId n : step.added) made_[n.index()] = made;
  if (g <= kFree) return std::nullopt;
  const ir::NodeId latest = step.added[0];
  if (g % kLookEvery == 0) {
    if (auto rules = repeated(ancestors(latest))) {
      return RuleLoop{*std::move(rules), origin_of(latest), true};
    }
  }
  if (g <= patience_) return std::nullopt;
  return RuleLoop{turning(ancestors(latest)), origin_of(latest)};
}

std::optional<Lineage::RuleLoop> Lineage::note_again(const Step& step) {
  if (!step.root || graph_.node(step.root).removed) return std::nullopt;
  Again& again = again_[step.root];
  const std::size_t live = graph_.live_node_count();
  const bool is_over = again.patience.is_over(live, patience_);
  if (++again.count <= kFree) return std::nullopt;
  again.latest.push_back(
      {step.rule, live, print_of(step, generation(step.root))});
  if (again.latest.size() < kWindow && !is_over) return std::nullopt;
  if (auto rules = repeated(again.latest)) {
    return RuleLoop{*std::move(rules), step.root, true};
  }
  if (is_over) return RuleLoop{turning(again.latest), step.root};
  again.latest.erase(again.latest.begin(),
                     again.latest.begin() + std::ptrdiff_t(kLookEvery));
  return std::nullopt;
}

// The latest kWindow rewrites that led to `node`, in their order.
std::vector<Lineage::Mark> Lineage::ancestors(ir::NodeId node) const {
  std::vector<Mark> out;
  while (generation(node) > 0 && out.size() < kWindow) {
    out.push_back(made_[node.index()].mark);
    node = made_[node.index()].parent;
  }
  std::ranges::reverse(out);
  return out;
}

ir::NodeId Lineage::origin_of(ir::NodeId node) const {
  while (generation(node) > 0) node = made_[node.index()].parent;
  return node;
}

}  // namespace ruleengine::rewrite
