// Doubts: a Reshape copies an axis of its input where a size that is computed
// for it is 0. Types say the size instead, which is wrong where the copied axis
// is not 0: [B,4,S,8] as (B,S,32) has no elements for B = S = 0, and the shape
// [0,4,32]. Most models cannot run there, since that axis meets one that it
// does not fit. So each set of named sizes that are 0 together is tried, as far
// as it makes a Reshape copy: the graph is inferred with these sizes until some
// node cannot run. What no failure excludes stays in doubt.
#include <algorithm>
#include <map>

#include "core/analysis/solver/solver.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

// Where the sizes of a Reshape have more names, it stays in doubt.
constexpr std::size_t kMostNames = 4;

bool is_positive(ir::DimTable& dims, Dim size) {
  return dims.nonnegative(dims.sub(size, Dim(1)));
}

// None if a name occurs in a quotient or a maximum.
std::optional<Dim> replaced(ir::DimTable& dims, const std::map<Dim, Dim>& by,
                            Dim size) {
  if (size.known()) return size;
  Dim sum(0);
  for (const auto& [coefficient, atoms] : dims.products(size)) {
    Dim product(coefficient);
    for (const Dim atom : atoms) {
      const auto found = by.find(atom);
      if (found == by.end() && !dims.is_single(atom)) return std::nullopt;
      product = dims.mul(product, found == by.end() ? atom : found->second);
    }
    sum = dims.add(sum, product);
  }
  return sum;
}

// The types of a graph's inputs where some names are replaced.
struct ReplacedInputs {
  CallContext call;
  TypePool types;

  explicit ReplacedInputs(ir::Graph& graph) : types(graph.model().arena) {
    call.opsets = &graph.model().opset_imports;
  }

  // False if that cannot be said of some input.
  bool bind(ir::Graph& graph, const std::map<Dim, Dim>& by) {
    for (const ValueId v : graph.block(ir::Graph::main_block()).inputs) {
      const ir::Type* const declared = graph.value(v).declared;
      call.inputs.emplace_back();
      if (declared == nullptr || !declared->is_tensor()) continue;
      Dims sizes;
      for (const Dim d : declared->dims) {
        const auto size = replaced(graph.model().dims, by, d);
        if (!size) return false;
        sizes.push_back(*size);
      }
      ir::Type type = *declared;
      type.dims = sizes;
      call.inputs.back().type = types.intern(type);
    }
    return true;
  }
};

}  // namespace

// Calls f with each node that `values` depend on, until it returns true. Nodes
// of bodies count with what they read.
template <class F>
void Solver::visit_above(std::span<const ValueId> values, const F& f) const {
  std::vector<bool> seen(graph_.node_count());
  std::vector<NodeId> todo;
  const auto add = [&](NodeId node) {
    if (!node || seen[node.index()]) return;
    seen[node.index()] = true;
    todo.push_back(node);
  };
  const auto look = [&](ValueId v) {
    if (!v) return;
    add(graph_.producer(v));
    // An input of a body is what its owner reads.
    add(graph_.block(graph_.value(v).block).owner);
  };
  for (const ValueId v : values) look(v);
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    if (f(node)) return;
    for (const ir::Operand& o : graph_.inputs(node)) look(o.value);
    for (const ir::Attribute& a : graph_.node(node).attributes) {
      for (const ir::BlockId b : a.blocks) {
        for (const NodeId inner : graph_.block(b).nodes) {
          if (!graph_.node(inner).removed) add(inner);
        }
        for (const ValueId v : graph_.block(b).outputs) look(v);
      }
    }
  }
}

// The names in the sizes of a Reshape and of its input; none if there are too
// many, or a size has no name.
std::optional<std::set<Dim>> Solver::names_in_doubt(NodeId node) {
  const NodeView v = view(node);
  const auto wanted = v.elements(1);
  if (!v.op().standard("Reshape") || !wanted || !v.ranked(0)) {
    return std::nullopt;
  }
  ir::DimTable& dims = model().dims;
  std::set<Dim> names;
  for (const auto& sizes : {*wanted, v.shape(0)}) {
    for (const Dim size : sizes) {
      if (size == kUnknown) continue;
      for (const Dim leaf : dims.leaves(size)) {
        if (dims.is_fresh(leaf)) return std::nullopt;
        names.insert(leaf);
      }
    }
  }
  if (names.size() > kMostNames) return std::nullopt;
  // A failure proves more where the others' names are replaced as well.
  std::set<Dim> all = names_in_doubt_;
  all.insert(names.begin(), names.end());
  return all.size() > kMostNames ? names : all;
}

// Whether a Reshape may copy an axis that is not 0 where its names are replaced
// by these sizes, if its input has the type that is known.
bool Solver::may_copy(NodeId node, const std::map<Dim, Dim>& by) {
  const NodeView v = view(node);
  ir::DimTable& dims = model().dims;
  const auto wanted = *v.elements(1);
  const auto shape = v.shape(0);
  for (std::size_t i = 0; i < std::min(wanted.size(), shape.size()); ++i) {
    if (wanted[i].known() || wanted[i] == kUnknown) continue;
    const auto size = replaced(dims, by, wanted[i]);
    if (size && is_positive(dims, *size)) continue;
    if (dims.exact_div(shape[i], wanted[i])) continue;
    if (size == Dim(0) && replaced(dims, by, shape[i]) == Dim(0)) continue;
    return true;
  }
  return false;
}

// Whether a node that the results need cannot run where names are replaced.
bool Solver::fails(const std::map<Dim, Dim>& by) {
  const auto [at, is_new] = fails_.try_emplace(by, false);
  if (!is_new || settled_doubts_ || graph_.function() != nullptr) {
    return at->second;
  }
  ReplacedInputs inputs(graph_);
  if (!inputs.bind(graph_, by)) return false;
  // What is declared inside uses the names, and the ONNX library may refuse
  // what runs.
  InferenceOptions options = options_;
  options.believe = options.use_schemas = false;
  options.fold_limit = kMaxElements;
  Solver there(graph_, options, &inputs.call);
  std::vector<bool> needed(graph_.node_count());
  const ir::Block& main = graph_.block(ir::Graph::main_block());
  visit_above(main.outputs, [&](NodeId node) {
    needed[node.index()] = true;
    return false;
  });
  for (const NodeId node : main.nodes) {
    if (graph_.node(node).removed || !needed[node.index()]) continue;
    // Runtimes leave out parts without elements, whatever their shape.
    if (graph_.op(node).standard("Concat")) continue;
    if (!there.refusal(node)) continue;
    // Types that are in doubt there prove nothing.
    std::vector<ValueId> read;
    for (const ir::Operand& o : graph_.inputs(node)) read.push_back(o.value);
    at->second = !there.doubted_above(read);
    if (at->second) break;
  }
  return at->second;
}

bool Solver::is_wrong_somewhere(NodeId node) {
  const auto names = names_in_doubt(node);
  if (!names) return true;
  ir::DimTable& dims = model().dims;
  const std::size_t sets = std::size_t{1} << names->size();
  for (std::size_t zeros = 0; zeros < sets; ++zeros) {
    std::map<Dim, Dim> by;
    for (const Dim name : *names) {
      auto& rest = beside_one_[name];
      if (rest == Dim()) rest = dims.fresh();
      const bool is_zero = (zeros >> by.size() & 1) != 0;
      by[name] = is_zero ? Dim(0) : dims.add(rest, Dim(1));
    }
    if (may_copy(node, by) && !fails(by)) return true;
  }
  return false;
}

void Solver::note_doubt(NodeId node, bool is_doubted) {
  if (is_doubted && (!settled_doubts_ || is_wrong_somewhere(node))) {
    doubted_.insert(node);
  } else if (!doubted_.empty()) {
    doubted_.erase(node);
  }
}

void Solver::settle_doubts() {
  if (settled_doubts_) return;
  for (const NodeId node : graph_.live_nodes()) {
    if (!graph_.output(node)) continue;
    const ir::Op& op = graph_.op(node);
    if (op.standard("Reshape") || model().find_function(op) != nullptr) {
      answer(graph_.output(node, 0), Ask::kType);
    }
  }
  for (const NodeId node : doubted_) {
    const auto names = names_in_doubt(node);
    if (names) names_in_doubt_.insert(names->begin(), names->end());
  }
  std::erase_if(doubted_,
                [&](NodeId node) { return !is_wrong_somewhere(node); });
  settled_doubts_ = true;
}

NodeId Solver::doubted_above(std::span<const ValueId> values) const {
  NodeId found;
  if (doubted_.empty()) return found;
  visit_above(values, [&](NodeId node) {
    if (!doubted_.contains(node)) return false;
    found = node;
    return true;
  });
  return found;
}

}  // namespace ruleengine::analysis
