#include "runtime/drawing/branch_log.h"

#include <algorithm>

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
  for (std::size_t n = 0; n < graph.node_count(); ++n) {
    const ir::NodeId node(n);
    if (graph.node(node).removed || !graph.op(node).standard("If")) continue;
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
      branch.owner = {name, n};
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

}  // namespace ruleengine::runtime
