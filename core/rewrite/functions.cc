#include "core/rewrite/functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/ops/op_facts.h"

namespace ruleengine::rewrite {
namespace {

constexpr int kDeepestCall = 64;  // each pass writes one level in place

bool is_own_op(const ir::Function& function) {
  return function.is_op ||
         (ops::is_own_domain(function.domain) &&
          ops::newest_op(function.domain, function.name) != nullptr);
}

// Graph is ir::Graph, const or not.
template <class Graph, class Model>
std::vector<Graph*> graphs_of(Model& model) {
  std::vector<Graph*> graphs = {&model.graph};
  for (const auto& f : model.functions) {
    if (!f->removed && !is_own_op(*f)) graphs.push_back(&f->body);
  }
  return graphs;
}

template <class Visit>
void for_each_op(const ir::Graph& graph, const Visit& visit) {
  for (const ir::NodeId node : graph.live_nodes()) {
    visit(graph.node(node).op.index());
  }
}

// The number of nodes of each op.
std::vector<std::uint64_t> count_calls(const ir::Model& model) {
  std::vector<std::uint64_t> calls(model.ops.size(), 0);
  const auto count = [&](std::size_t op) { ++calls[op]; };
  for_each_op(model.graph, count);
  for (const auto& f : model.functions) {
    if (!f->removed) for_each_op(f->body, count);
  }
  return calls;
}

ir::OpId op_of(const ir::Model& model, const ir::Function& f) {
  return model.ops.find(f.domain, f.name, f.overload);
}

// What stands in a body once all calls in it, and those in their bodies, are
// written in place.
struct Extent {
  std::uint64_t nodes = 0;  // `most` and more count as `most`
  int depth = 0;            // of calls in bodies of calls
};

class Extents {
 public:
  Extents(const ir::Model& model, std::uint64_t most)
      : model_(model), most_(most) {}

  Extent of(const ir::Function& function) {
    // Calls may be nested deeply, so this does not recur.
    std::vector<const ir::Function*> todo = {&function};
    while (!todo.empty()) {
      const ir::Function* const f = todo.back();
      const std::size_t before = todo.size();
      if (!extents_.contains(f)) visit(*f, todo);
      if (todo.size() == before) todo.pop_back();
    }
    return extents_.at(&function);
  }

 private:
  // Notes the extent of `f`, or adds the functions whose extents it waits for.
  void visit(const ir::Function& f, std::vector<const ir::Function*>& todo) {
    const std::size_t before = todo.size();
    Extent all;
    for_each_op(f.body, [&](std::size_t op) {
      const ir::Function* const callee =
          model_.find_function(model_.ops[ir::OpId(op)]);
      Extent own{.nodes = 1};
      if (callee != nullptr) {
        const auto known = extents_.find(callee);
        if (known == extents_.end()) {
          todo.push_back(callee);
          return;
        }
        own = known->second;
        ++own.depth;
      }
      all.nodes = std::min(most_, all.nodes + own.nodes);
      all.depth = std::max(all.depth, own.depth);
    });
    if (todo.size() == before) extents_[&f] = all;
  }

  const ir::Model& model_;
  std::uint64_t most_;
  std::map<const ir::Function*, Extent> extents_;
};

}  // namespace

std::vector<ir::Graph*> rewritable_graphs(ir::Model& model) {
  return graphs_of<ir::Graph>(model);
}

std::vector<const ir::Graph*> rewritable_graphs(const ir::Model& model) {
  return graphs_of<const ir::Graph>(model);
}

bool reaches(const ir::Function& from, const ir::Function& to) {
  std::set<const ir::Function*> seen = {&from};
  std::vector<const ir::Function*> todo = {&from};
  while (!todo.empty()) {
    const ir::Function* const f = todo.back();
    if (f == &to) return true;
    todo.pop_back();
    const ir::Model& model = f->body.model();
    std::set<std::size_t> ops;
    for_each_op(f->body, [&](std::size_t op) { ops.insert(op); });
    for (const std::size_t op : ops) {
      const ir::Function* const callee =
          model.find_function(model.ops[ir::OpId(op)]);
      if (callee != nullptr && seen.insert(callee).second) {
        todo.push_back(callee);
      }
    }
  }
  return false;
}

std::vector<ir::Function*> called_functions(const ir::Model& model) {
  std::vector<ir::Function*> out;
  if (model.functions.empty()) return out;
  const std::vector<std::uint64_t> calls = count_calls(model);
  for (const auto& f : model.functions) {
    const ir::OpId op = op_of(model, *f);
    if (!f->removed && op && calls[op.index()] > 0) out.push_back(f.get());
  }
  return out;
}

std::vector<ir::NodeId> single_calls(const ir::Model& model) {
  // By op, in what the main graph reaches.
  std::vector<std::uint64_t> counts(model.ops.size(), 0);
  std::vector<const ir::Graph*> reached = {&model.graph};
  std::set<const ir::Graph*> seen = {&model.graph};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for_each_op(*reached[i], [&](std::size_t op) {
      if (++counts[op] > 1) return;
      const ir::Function* const f =
          model.find_function(model.ops[ir::OpId(op)]);
      if (f != nullptr && seen.insert(&f->body).second) {
        reached.push_back(&f->body);
      }
    });
  }
  std::vector<ir::NodeId> out;
  for (const ir::NodeId node : calls(model)) {
    const ir::Function* const f = model.find_function(model.graph.op(node));
    const bool is_only = counts[model.graph.node(node).op.index()] == 1;
    if (is_only || f->body.live_node_count() <= 1) out.push_back(node);
  }
  return out;
}

std::vector<ir::NodeId> calls(const ir::Model& model, std::uint64_t most) {
  const ir::Graph& graph = model.graph;
  std::vector<ir::NodeId> out;
  if (model.functions.empty()) return out;
  Extents extents(model, most);
  std::uint64_t count = graph.live_node_count();
  for (const ir::NodeId node : graph.live_nodes()) {
    const ir::Function* const f = model.find_function(graph.op(node));
    if (f == nullptr || is_own_op(*f)) continue;
    const Extent body = extents.of(*f);
    if (body.depth > kDeepestCall || count > most - body.nodes) continue;
    count += body.nodes;
    out.push_back(node);
  }
  return out;
}

void remove_uncalled(const ir::Model& model,
                     const std::vector<ir::Function*>& were_called) {
  if (were_called.empty()) return;
  std::vector<std::uint64_t> calls = count_calls(model);
  std::multimap<std::size_t, ir::Function*> by_op;
  std::vector<ir::Function*> todo;
  for (ir::Function* f : were_called) {
    const std::size_t op = op_of(model, *f).index();
    by_op.emplace(op, f);
    if (calls[op] == 0) todo.push_back(f);
  }
  while (!todo.empty()) {
    ir::Function* const f = todo.back();
    todo.pop_back();
    if (f->removed) continue;
    f->removed = true;
    for_each_op(f->body, [&](std::size_t op) {
      if (--calls[op] != 0) return;
      const auto [first, last] = by_op.equal_range(op);
      for (auto it = first; it != last; ++it) todo.push_back(it->second);
    });
  }
}

void remove_unused_imports(ir::Model& model, std::size_t kept) {
  auto& imports = model.opset_imports;
  if (imports.size() <= kept) return;
  std::set<std::string_view> used = {"", "ai.onnx"};
  const auto look_at = [&](const ir::Graph& graph) {
    for_each_op(graph, [&](std::size_t op) {
      used.insert(model.ops[ir::OpId(op)].domain);
    });
  };
  look_at(model.graph);
  for (const auto& f : model.functions) {
    if (f->removed) continue;
    used.insert(f->domain);
    look_at(f->body);
  }
  imports.erase_if(kept, [&](const ir::OpsetImport& import) {
    return !used.contains(import.domain);
  });
}

}  // namespace ruleengine::rewrite
