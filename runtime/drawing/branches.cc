#include "runtime/drawing/branches.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "runtime/drawing/input_uses.h"

namespace ruleengine::runtime {
namespace {

// "" for the main graph.
std::string graph_name(const ir::Graph& graph) {
  const ir::Function* f = graph.function();
  if (f == nullptr) return {};
  return std::string(f->domain) + "::" + std::string(f->name) + ":" +
         std::string(f->overload);
}

std::string branch_text(const ir::Graph& graph, ir::NodeId node,
                        std::string_view attribute) {
  const std::string_view name = graph.node(node).name;
  std::string out = attribute == "then_branch" ? "the then" : "the else";
  out += " branch of ";
  if (!name.empty()) return out + "If " + quoted_name(name);
  return out + "the If " + graph.describe(node);
}

}  // namespace

void BranchLog::meet(const ir::Graph& graph, const std::string& name) {
  for (const ir::NodeId node : graph.live_nodes()) {
    if (!graph.op(node).standard("If")) continue;
    const ir::Attribute* sides[] = {graph.attribute(node, "then_branch"),
                                    graph.attribute(node, "else_branch")};
    for (int i = 0; i < 2; ++i) {
      const ir::Attribute *own = sides[i], *other = sides[1 - i];
      if (own == nullptr || own->blocks.empty()) continue;
      if (other == nullptr || other->blocks.empty()) continue;
      const ir::BlockId block = own->blocks[0];
      Branch branch;
      branch.as = {.is_main = name.empty(),
                   .block = block,
                   .text = branch_text(graph, node, own->name)};
      branch.owner = {name, node.index()};
      branch.other = {name, other->blocks[0].index()};
      branch.has_nodes = std::ranges::any_of(
          graph.block(block).nodes,
          [&](ir::NodeId each) { return !graph.node(each).removed; });
      branches_.emplace(Key(name, block.index()), std::move(branch));
    }
  }
}

void BranchLog::note(const ir::Graph& graph, ir::NodeId node) {
  const std::string name = graph_name(graph);
  if (known_.insert(name).second) meet(graph, name);
  if (branches_.empty()) return;
  if (graph.op(node).standard("If")) ++runs_[{name, node.index()}];
  const auto it = branches_.find({name, graph.node(node).block.index()});
  if (it == branches_.end()) return;
  Branch& branch = it->second;
  if (branch.runs == 0) branch.first_node = node.index();
  branch.runs += branch.first_node == node.index();
}

// A branch without nodes ran whenever the other one did not.
bool BranchLog::is_taken(const Branch& branch) const {
  if (branch.runs > 0) return true;
  const auto owner = runs_.find(branch.owner);
  if (owner == runs_.end() || branch.has_nodes) return false;
  const auto other = branches_.find(branch.other);
  return other == branches_.end() || !other->second.has_nodes ||
         other->second.runs < owner->second;
}

std::size_t BranchLog::taken() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      branches_, [&](const auto& each) { return is_taken(each.second); }));
}

std::vector<BranchLog::Missing> BranchLog::missing() const {
  std::vector<Missing> out;
  for (const auto& [key, branch] : branches_) {
    if (!is_taken(branch)) out.push_back(branch.as);
  }
  return out;
}

namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kMostNodes = 200;
constexpr std::int64_t kMostScanned = 64;
constexpr double kMostSize = 1e5;

class Turns {
 public:
  Turns(ir::Model& model, ir::Facts& facts, const SizeOf& at)
      : graph_(model.graph), dims_(model.dims), facts_(facts), at_(at) {}

  std::vector<SizeOf> of(NodeId branching) {
    std::vector<ValueId> todo = {graph_.input(branching, 0)};
    std::set<ValueId> seen;
    for (std::size_t i = 0; i < todo.size() && i < kMostNodes; ++i) {
      const NodeId node = graph_.producer(todo[i]);
      if (!node) continue;
      if (is_comparison(graph_.op(node).type)) compare(node);
      for (const ir::Operand& each : graph_.inputs(node)) {
        if (each.value && seen.insert(each.value).second) {
          todo.push_back(each.value);
        }
      }
    }
    return std::move(out_);
  }

 private:
  void compare(NodeId node) {
    const auto a = one(node, 0), b = one(node, 1);
    if (!a || !b) return;
    const Dim difference = dims_.sub(*a, *b);
    if (difference.known()) return;
    for (const Dim leaf : dims_.leaves(difference)) {
      if (at_.contains(leaf)) turn(difference, leaf);
    }
  }

  std::optional<Dim> one(NodeId node, std::size_t slot) {
    const ValueId v = graph_.input(node, slot);
    const auto dims = v ? facts_.dims_of(v) : std::nullopt;
    if (!dims || dims->size() != 1) return std::nullopt;
    return (*dims)[0];
  }

  double value(Dim difference, Dim leaf, std::int64_t size) const {
    return dims_.value(difference, [&](Dim each) {
      if (each == leaf) return static_cast<double>(size);
      const auto it = at_.find(each);
      return it == at_.end() ? std::nan("") : static_cast<double>(it->second);
    });
  }

  // The first size with each sign that the difference does not have yet.
  void turn(Dim difference, Dim leaf) {
    const auto sign = [](double x) { return (x > 0) - (x < 0); };
    std::set<int> known = {sign(value(difference, leaf, at_.at(leaf)))};
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = 1; i <= kMostScanned; ++i) sizes.push_back(i);
    // Where it is a line, also its zero and what is beside it.
    const double start = value(difference, leaf, 0);
    const double slope = value(difference, leaf, 1) - start;
    const double zero = -start / slope;
    if (std::isfinite(zero) && zero >= 0 && zero < kMostSize) {
      const auto near = static_cast<std::int64_t>(zero);
      for (std::int64_t i = -1; i <= 2; ++i) sizes.push_back(near + i);
    }
    for (const std::int64_t size : sizes) {
      const double now = value(difference, leaf, size);
      if (size < 0 || std::isnan(now) || !known.insert(sign(now)).second) {
        continue;
      }
      out_.push_back({{leaf, size}});
    }
  }

  const ir::Graph& graph_;
  ir::DimTable& dims_;
  ir::Facts& facts_;
  const SizeOf& at_;
  std::vector<SizeOf> out_;
};

}  // namespace

std::vector<SizeOf> sizes_that_turn(ir::Model& model, ir::Facts& facts,
                                    NodeId branching, const SizeOf& at) {
  return Turns(model, facts, at).of(branching);
}

}  // namespace ruleengine::runtime
