// Doubts: a Reshape copies an axis of its input where a size that is computed
// for it is 0. Types say the size instead, which is right unless there are no
// elements; then the empty result may have another shape. Most models cannot
// run on such sizes: the copied axis meets one that it does not fit. That is
// tried here, on each set of named sizes that may be 0 together.
#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "core/analysis/solver/solver.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::ValueId;

// Sets of more names than that are not tried.
constexpr std::size_t kMostNames = 4;

Dim minus_one(ir::DimTable& dims, Dim size) { return dims.sub(size, Dim(1)); }

// Sizes with names replaced.
class Replaced {
 public:
  Replaced(ir::DimTable& dims, std::map<Dim, Dim> by)
      : dims_(dims), by_(std::move(by)) {}

  // None if a name occurs in a quotient or a maximum.
  std::optional<Dim> of(Dim size) {
    if (size.known()) return size;
    Dim sum(0);
    for (const auto& [coefficient, atoms] : dims_.products(size)) {
      Dim product(coefficient);
      for (const Dim atom : atoms) {
        const auto found = by_.find(atom);
        if (found == by_.end() && !dims_.is_single(atom)) return std::nullopt;
        product = dims_.mul(product, found == by_.end() ? atom : found->second);
      }
      sum = dims_.add(sum, product);
    }
    return sum;
  }

 private:
  ir::DimTable& dims_;
  std::map<Dim, Dim> by_;
};

// The graph where some named sizes are 0 and others are not.
class AtZero {
 public:
  AtZero(ir::Graph& graph, const InferenceOptions& options, Replaced sizes)
      : graph_(graph), sizes_(std::move(sizes)), types_(graph.model().arena) {
    call_.believes = false;
    call_.opsets = &graph.model().opset_imports;
    const bool is_clear = bind_inputs();
    if (is_clear) solver_.emplace(graph, options, &call_);
  }

  // Whether the node copies an axis whose size is not 0 where 0 was computed,
  // as far as is known.
  bool copies(NodeId node) {
    if (!solver_) return true;
    solver_->answer(graph_.output(node, 0), Ask::kType);
    const NodeView v = solver_->view(node);
    const auto wanted = v.elements(1);
    if (!wanted || !v.ranked(0)) return true;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      const Dim size = (*wanted)[i];
      if (size.known() && size != Dim(0)) continue;
      if (i < v.rank(0) && v.shape(0)[i] == Dim(0)) continue;
      if (size != kUnknown && v.dims().nonnegative(minus_one(v.dims(), size))) {
        continue;
      }
      return true;
    }
    return false;
  }

  // Whether some node cannot be run.
  bool fails() {
    if (!solver_) return false;
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      const NodeId node(i);
      const ir::Node& n = graph_.node(node);
      if (n.removed || n.block != ir::Graph::main_block()) continue;
      if (solver_->refusal(node)) return true;
    }
    return false;
  }

 private:
  bool bind_inputs() {
    for (const ValueId v : graph_.block(ir::Graph::main_block()).inputs) {
      const ir::Type* const declared = graph_.value(v).declared;
      call_.types.push_back(declared);
      call_.elements.emplace_back();
      call_.constants.push_back(nullptr);
      if (declared == nullptr || !declared->is_tensor()) continue;
      Dims dims;
      for (const Dim d : declared->dims) {
        const auto size = sizes_.of(d);
        if (!size) return false;
        dims.push_back(*size);
      }
      ir::Type type = *declared;
      type.dims = dims;
      call_.types.back() = types_.intern(type);
    }
    return true;
  }

  ir::Graph& graph_;
  Replaced sizes_;
  CallContext call_;
  TypePool types_;
  std::optional<Solver> solver_;
};

// The names that the sizes of these nodes are made of; none if there are too
// many, or sizes without a name.
std::optional<std::vector<Dim>> names_of(Solver& solver,
                                         const std::set<NodeId>& nodes) {
  ir::DimTable& dims = solver.model().dims;
  std::set<Dim> names;
  for (const NodeId node : nodes) {
    const NodeView v = solver.view(node);
    const auto wanted = v.elements(1);
    for (const auto& sizes : {wanted.value_or(v.shape(0)), v.shape(0)}) {
      for (const Dim size : sizes) {
        if (size == kUnknown) continue;
        for (const Dim leaf : dims.leaves(size)) {
          if (dims.is_fresh(leaf)) return std::nullopt;
          names.insert(leaf);
        }
      }
    }
  }
  if (names.size() > kMostNames) return std::nullopt;
  return std::vector<Dim>(names.begin(), names.end());
}

}  // namespace

void Solver::settle_doubts() {
  if (settled_doubts_) return;
  for (std::size_t i = 0; i < graph_.node_count(); ++i) {
    const NodeId node(i);
    if (graph_.node(node).removed || !graph_.op(node).standard("Reshape") ||
        !graph_.input(node, 1)) {
      continue;
    }
    answer(graph_.output(node, 0), Ask::kType);
  }
  settled_doubts_ = true;
  if (doubted_.empty()) return;
  const auto names = names_of(*this, doubted_);
  if (!names) return;
  ir::DimTable& dims = model().dims;
  std::set<NodeId> wrong;
  const std::size_t sets = std::size_t{1} << names->size();
  for (std::size_t zeros = 1; zeros < sets; ++zeros) {
    std::map<Dim, Dim> by;
    for (std::size_t i = 0; i < names->size(); ++i) {
      const Dim name = (*names)[i];
      by[name] = (zeros >> i & 1) != 0 ? Dim(0) : dims.add(name, Dim(1));
    }
    AtZero there(graph_, options_, Replaced(dims, std::move(by)));
    std::vector<NodeId> copying;
    for (const NodeId node : doubted_) {
      if (!wrong.contains(node) && there.copies(node)) copying.push_back(node);
    }
    if (copying.empty() || there.fails()) continue;
    wrong.insert(copying.begin(), copying.end());
  }
  doubted_ = std::move(wrong);
}

NodeId Solver::doubted_above(std::span<const ValueId> values) const {
  if (doubted_.empty()) return {};
  std::vector<bool> seen(graph_.node_count());
  std::vector<NodeId> todo;
  const auto look = [&](ValueId v) {
    const NodeId node = v ? graph_.producer(v) : NodeId();
    if (!node || seen[node.index()]) return;
    seen[node.index()] = true;
    todo.push_back(node);
  };
  for (const ValueId value : values) look(value);
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    if (doubted_.contains(node)) return node;
    for (const ir::Operand& o : graph_.inputs(node)) look(o.value);
  }
  return {};
}

}  // namespace ruleengine::analysis
