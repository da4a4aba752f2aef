// Keeps the order: along every edge Node::rank does not decrease. For an edge
// that goes against it, a path back is searched among the ranks that such a
// path could use. If there is none, the nodes behind the edge get higher ranks,
// so that the order holds again and later searches stay short.
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::OperandId;

// From a producer to a user.
struct Edge {
  NodeId first, second;
  auto operator<=>(const Edge&) const = default;
};
using Edges = SmallVector<Edge, 8>;

class Order {
 public:
  explicit Order(EditState& state) : state_(state), graph_(state.graph) {}

  bool closes_cycle() {
    Edges edges = new_edges();
    edges.sort_unique();
    for (std::size_t i = 0; i < edges.size();) {
      std::size_t end = i;
      while (end < edges.size() && edges[end].first == edges[i].first) ++end;
      if (leads_back({edges.data() + i, end - i})) return true;
      i = end;
    }
    return false;
  }

 private:
  std::uint64_t rank(NodeId n) const { return graph_.node(n).rank; }

  Edges new_edges() const {
    Edges edges;
    const auto add_owner = [&](NodeId n) {
      const NodeId owner = graph_.block(graph_.node(n).block).owner;
      if (owner) edges.push_back({n, owner});
    };
    for (OperandId slot : state_.slots) {
      const ir::Operand& use = graph_.operand(slot);
      if (graph_.node(use.user).removed) continue;
      const NodeId producer = graph_.producer(use.value);
      if (producer) edges.push_back({producer, use.user});
      add_owner(use.user);
    }
    for (NodeId n : state_.added) {
      if (!graph_.node(n).removed) add_owner(n);
    }
    return edges;
  }

  // Whether the producer of all `edges` is reachable from one of their users.
  bool leads_back(std::span<const Edge> edges) {
    const NodeId goal = edges[0].first;
    const std::uint64_t limit = rank(goal);
    state_.workspace->clear_marks();
    found_.clear();
    for (const Edge& e : edges) {
      if (e.second == goal) return true;
      visit(e.second, limit);
    }
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const NodeId node = found_[i];
      for (ir::ValueId v : graph_.outputs(node)) {
        if (!v) continue;
        for (OperandId u = graph_.first_use(v); u; u = graph_.next_use(u)) {
          visit(graph_.operand(u).user, limit);
        }
      }
      const NodeId owner = graph_.block(graph_.node(node).block).owner;
      if (owner) visit(owner, limit);
      if (state_.workspace->marked(goal)) return true;
    }
    for (NodeId n : found_) {
      if (rank(n) < limit) state_.log.set_rank(n, limit);
    }
    return false;
  }

  void visit(NodeId node, std::uint64_t limit) {
    if (rank(node) > limit || !state_.workspace->mark(node)) return;
    found_.push_back(node);
  }

  EditState& state_;
  ir::Graph& graph_;
  SmallVector<NodeId, 16> found_;
};

}  // namespace

bool closes_cycle(EditState& state) { return Order(state).closes_cycle(); }

}  // namespace ruleengine::rewrite
