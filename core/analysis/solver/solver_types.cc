// Types: inference, merged with declarations.
#include <algorithm>
#include <utility>

#include "core/analysis/solver/solver.h"

namespace ruleengine::analysis {

using ir::Dim;
using ir::NodeId;
using ir::Value;
using ir::ValueId;
using ir::ValueKind;

bool Solver::declared_in_full(NodeId node) const {
  for (ValueId v : graph_.outputs(node)) {
    if (!v) continue;
    const ir::Type* t = graph_.value(v).declared;
    if (t == nullptr) return false;
    if (!t->is_tensor()) continue;
    if (t->elem == ir::DataType::kUndefined || !t->has_shape) return false;
    for (Dim d : t->dims) {
      if (model().dims.is_fresh(d)) return false;
    }
  }
  return true;
}

std::span<const Inferred> Solver::infer(NodeId node) {
  const NodeView view = this->view(node);
  std::vector<Inferred>& out = inferred_;
  out.assign(view.output_count(), {});
  if (out.empty() || view.blocked()) return out;
  const ops::TypeRule* rule = rules_of(graph_.node(node).op).type;
  const bool by_rule = rule != nullptr && rule->infer(view, out);
  if (!by_rule) out.assign(out.size(), {});
  if (by_rule ||
      (!view.op().domain.empty() && infer_function(*this, view, out))) {
    note_doubt(node, view.is_doubted());
    return out;
  }
  // With complete declarations there is no need to build the registry.
  if (options_.use_schemas && !declared_in_full(node)) {
    infer_by_schema(view, out);
  }
  return out;
}

bool Solver::set_type(ValueId value, const Inferred* inferred) {
  Memo& memo = memos_[value.index()];
  const ir::Type* before = memo.type;
  const Value& v = graph_.value(value);
  if (v.tensor != nullptr && v.kind == ValueKind::kInitializer) {
    Dims dims;
    for (std::int64_t d : v.tensor->dims) dims.push_back(Dim(d));
    memo.type =
        types_.intern({ir::TypeKind::kTensor, v.tensor->dtype, true, dims, {}});
  } else if (inferred == nullptr) {
    memo.type =
        v.block == ir::Graph::main_block() ? v.declared : of_this_body(value);
  } else {
    memo.type = merge(value, *inferred);
  }
  // Larger ranks occur in no real model and would make every reader expensive.
  constexpr std::size_t kMostRank = 256;
  if (memo.type != nullptr && memo.type->is_tensor() &&
      memo.type->rank() > kMostRank) {
    memo.type =
        types_.intern({ir::TypeKind::kTensor, memo.type->elem, false, {}, {}});
  }
  if (before == memo.type) return false;
  return before == nullptr || memo.type == nullptr ||
         !same_type(*before, *memo.type);
}

bool Solver::compute_type(ValueId value) {
  const Value& v = graph_.value(value);
  if (v.kind != ValueKind::kNodeOutput || !v.producer) {
    const CallContext::Given* const bound = given(value);
    const bool changed = set_type(value, nullptr);
    if (bound != nullptr && bound->type != nullptr) {
      memos_[value.index()].type = bound->type;
    }
    return changed;
  }
  const std::span<const Inferred> inferred = infer(v.producer);
  const auto outputs = graph_.outputs(v.producer);
  bool changed = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) continue;
    State& s = state({outputs[i], Ask::kType});
    if (outputs[i] == value) {
      changed = set_type(value, &inferred[i]);
    } else if (s == State::kNever || s == State::kStale) {
      const bool was_stale = s == State::kStale;
      s = State::kDone;
      if (set_type(outputs[i], &inferred[i]) && was_stale) {
        mark_users(outputs[i]);
      }
    }
  }
  return changed;
}

bool Solver::spend(std::size_t nodes) {
  constexpr std::size_t kOneCall = 20'000;
  if (call_ == nullptr) {
    used_before_ += used_;
    used_ = 0;
  }
  used_ += nodes;
  const std::size_t all = 1'000'000 + 100 * graph_.node_count();
  return used_ > kOneCall || (call_ == nullptr && used_before_ > all);
}

bool Solver::is_own_unknown(Dim d) const {
  return std::ranges::any_of(
      axis_unknowns_, [&](const auto& entry) { return entry.second == d; });
}

Dim Solver::axis_unknown(ValueId value, std::size_t axis) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(value.index()) << 32) | axis;
  const auto [at, added] = axis_unknowns_.try_emplace(key);
  if (added) at->second = model().dims.fresh();
  return at->second;
}

Dim Solver::pair_unknown(Dim a, Dim b) {
  // A valid broadcast is the one size that is not 1, or 1: order and repetition
  // do not count.
  std::set<Dim> sizes;
  for (const Dim d : {a, b}) {
    const auto known = broadcasts_.find(d);
    if (known == broadcasts_.end()) {
      sizes.insert(d);
    } else {
      sizes.insert(known->second.begin(), known->second.end());
    }
  }
  if (sizes.size() > kMostSizes) sizes = {a, b};
  const auto [at, added] = broadcast_unknowns_.try_emplace(sizes);
  if (added) {
    at->second = model().dims.fresh();
    broadcasts_[at->second] = std::move(sizes);
  }
  return at->second;
}

// The symbols of the graph's inputs, which have the same meaning everywhere.
// Other symbols in the file (TorchScript makes one for each axis) only fill
// gaps.
const std::vector<Dim>& Solver::anchors() {
  if (anchors_.empty()) {
    for (ValueId v : graph_.block(ir::Graph::main_block()).inputs) {
      const ir::Type* t = graph_.value(v).declared;
      if (t == nullptr) continue;
      for (Dim axis : t->dims) {
        const auto leaves = model().dims.leaves(axis);
        anchors_.insert(anchors_.end(), leaves.begin(), leaves.end());
      }
    }
    anchors_.emplace_back(0);  // never empty then, so it is computed once
    std::ranges::sort(anchors_);
  }
  return anchors_;
}

bool Solver::anchored(Dim d) {
  const auto leaves = model().dims.leaves(d);
  return std::ranges::all_of(leaves, [&](Dim leaf) {
    return std::ranges::binary_search(anchors(), leaf);
  });
}

// The declared type of a formal input of a node's body, with fresh symbols: the
// symbols of a body are its own, since a Loop's state may be declared as [N]
// and still grow.
const ir::Type* Solver::of_this_body(ValueId value) {
  const ir::Type* declared = graph_.value(value).declared;
  if (declared == nullptr || !declared->is_tensor()) return declared;
  ir::Type out = *declared;
  std::vector<Dim> dims(declared->dims.begin(), declared->dims.end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].known()) dims[i] = axis_unknown(value, i);
  }
  out.dims = dims;
  return types_.intern(out);
}

// Whether the declared size is a name for a computed one with a new symbol: T
// for P + S has more information. Otherwise, as with T for S, the name comes
// from other inputs.
bool Solver::tells_more(Dim declared, Dim inferred) const {
  const auto own = model().dims.leaves(inferred);
  if (own.size() == 1 && own[0] == inferred) return false;
  const auto leaves = model().dims.leaves(declared);
  return !std::ranges::includes(own, leaves);  // both are sorted
}

// Inferred sizes win: if a size that depends on the inputs is inferred, a
// number or another symbol that the file declares is wrong. Such files were
// made dynamic after shape inference with fixed sizes; then their other numbers
// are ignored too where nothing can be inferred.
Dim Solver::merge_dim(ValueId value, Dim declared, Dim inferred, bool& clash) {
  ir::DimTable& dims = model().dims;
  if (declared == inferred) return declared;
  if (inferred == kUnknown) {
    if (!declared.known()) return declared;
    if (stale_) return kUnknown;
    if (value.index() < file_values_ && inputs_vary()) {
      fillers_.push_back(value);
    }
    return declared;
  }
  if (dims.provably_different(declared, inferred)) {
    clash = true;  // the file keeps its declaration; rules rely on neither
    return kUnknown;
  }
  if (declared.known() && anchored(inferred)) {
    stale_ = true;
    return inferred;
  }
  equate(declared, inferred);
  if (declared.known()) return declared;
  if (inferred.known() || dims.is_fresh(declared)) return inferred;
  if (dims.is_fresh(inferred)) return declared;
  if (anchored(declared) && tells_more(declared, inferred)) return declared;
  return inferred;
}

bool Solver::is_below_clash(ValueId value) const {
  const ir::NodeId node = graph_.producer(value);
  if (contradictions.empty() || !node) return false;
  const auto inputs = graph_.inputs(node);
  return std::ranges::any_of(inputs, [&](const ir::Operand& o) {
    return o.value && memos_[o.value.index()].clashes;
  });
}

// Below a contradiction nothing that the file declares is believed: it is most
// likely of the same wrong sizes.
const ir::Type* Solver::merge(ValueId value, const Inferred& inferred) {
  bool& clashes = memos_[value.index()].clashes;
  clashes = is_below_clash(value);
  const ir::Type* declared =
      options_.believe && !clashes ? graph_.value(value).declared : nullptr;
  if (inferred.whole != nullptr) {
    return declared != nullptr ? declared : inferred.whole;
  }
  if (declared != nullptr && !declared->is_tensor()) return declared;
  ir::Type out;
  out.elem = inferred.elem;
  out.has_shape = inferred.ranked;
  Dims dims = inferred.dims;
  bool clash = false;
  if (declared != nullptr) {
    if (declared->elem != ir::DataType::kUndefined) {
      clash =
          out.elem != ir::DataType::kUndefined && out.elem != declared->elem;
      out.elem = clash ? ir::DataType::kUndefined : declared->elem;
    }
    if (declared->has_shape && inferred.ranked &&
        dims.size() != declared->rank()) {
      clash = true;
      out.has_shape = false;
      dims.clear();
    } else if (declared->has_shape) {
      if (!inferred.ranked) dims = Dims(declared->rank(), kUnknown);
      out.has_shape = true;
      const bool of_body = graph_.value(value).block != ir::Graph::main_block();
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (of_body && !declared->dims[i].known()) continue;
        dims[i] = merge_dim(value, declared->dims[i], dims[i], clash);
      }
    }
    if (clash) contradict(value, *declared, inferred);
    clashes = clash;
  }
  if (!clash && !contradictions.empty()) contradictions.erase(value.index());
  if (out.elem == ir::DataType::kUndefined && !out.has_shape) {
    return clash ? nullptr : declared;
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kUnknown) dims[i] = axis_unknown(value, i);
  }
  out.dims = dims;
  if (declared != nullptr && same_type(*declared, out)) return declared;
  return types_.intern(out);
}

void Solver::contradict(ValueId value, const ir::Type& declared,
                        const Inferred& found) {
  const ir::DimTable& dims = model().dims;
  Dims axes = found.dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == kUnknown) axes[i] = axis_unknown(value, i);
  }
  ir::Type inferred;
  inferred.elem = found.elem;
  inferred.has_shape = found.ranked;
  inferred.dims = axes;
  const std::string text = quoted_name(graph_.name(value)) +
                           " is declared as " + type_text(dims, declared) +
                           " but inferred as " + type_text(dims, inferred);
  contradictions[value.index()] = text;
  if (!warned_.insert(value.index()).second) return;
  warnings.push_back("value " + text + "; the declaration is kept");
}

}  // namespace ruleengine::analysis
