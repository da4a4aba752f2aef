// The checks of a whole edit before it is kept.
#include <algorithm>

#include "core/ir/shapes.h"
#include "core/ops/op_facts.h"
#include "core/ops/op_row.h"
#include "core/ranks/communication.h"
#include "core/rewrite/edits/declared.h"
#include "core/rewrite/edits/state.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/history/history.h"
#include "core/rewrite/region.h"

namespace ruleengine::rewrite {
namespace {

using ir::DataType;
using ir::Type;

// How far two shapes are proven to be the same, or not.
enum class Proof { kSame, kOpen, kDifferent };

Proof compare_shapes(const ir::DimTable& dims, ir::Facts& facts,
                     const Type& old, const Type& fresh) {
  if (!old.has_shape || !fresh.has_shape) return Proof::kOpen;
  if (old.rank() != fresh.rank()) return Proof::kDifferent;
  Proof proof = Proof::kSame;
  for (std::size_t i = 0; i < old.rank(); ++i) {
    const ir::Dim one = old.dims[i], two = fresh.dims[i];
    if (facts.is_same_size(one, two)) continue;
    if (dims.provably_different(one, two)) return Proof::kDifferent;
    proof = Proof::kOpen;
  }
  return proof;
}

bool same_elem(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (!a.is_tensor()) return std::ranges::equal(a.other, b.other);
  return a.elem == DataType::kUndefined || b.elem == DataType::kUndefined ||
         a.elem == b.elem;
}

// Whether `fresh` has less information than `old`.
bool says_less(const ir::DimTable& dims, const Type* fresh, const Type& old) {
  if (fresh == nullptr) return true;
  if (!old.is_tensor()) return false;
  if (fresh->elem == DataType::kUndefined && old.elem != fresh->elem) {
    return true;
  }
  if (!old.has_shape) return false;
  if (!fresh->has_shape) return true;
  for (std::size_t i = 0; i < old.rank(); ++i) {
    if (dims.is_fresh(fresh->dims[i]) && !dims.is_fresh(old.dims[i])) {
      return true;
    }
  }
  return false;
}

// Visits the values around matched, moved, new and removed nodes and those that
// were replaced, until `visit` returns true.
template <class Visit>
void visit_touched(const EditState& state, const Visit& visit) {
  const auto stops = [&](ir::ValueId value) { return value && visit(value); };
  for (const ReplacedValue& r : state.replacements) {
    if (stops(r.old_value) || stops(r.new_value)) return;
  }
  const std::span<const ir::NodeId> all[] = {
      state.provenance.from, state.provenance.context, state.moved, state.added,
      state.removed};
  for (const auto nodes : all) {
    for (ir::NodeId n : nodes) {
      for (const ir::Operand& o : state.graph.inputs(n)) {
        if (stops(o.value)) return;
      }
      for (ir::ValueId v : state.graph.outputs(n)) {
        if (stops(v)) return;
      }
    }
  }
}

class Checker {
 public:
  explicit Checker(EditState& state)
      : state_(state), graph_(state.graph), dims_(graph_.model().dims) {}

  std::optional<Rejection> check() {
    if (state_.failure) return state_.failure;
    if (auto rejection = find_unmentioned(state_)) return rejection;
    if (auto rejection = check_contradictions()) return rejection;
    if (auto rejection = check_added()) return rejection;
    // First all types are computed, then those of old values are passed on:
    // passing one on invalidates the node of the new value, for each of its
    // outputs.
    SmallVector<const Type*, 2> fresh;
    for (const ReplacedValue& r : state_.replacements) {
      const bool removed = graph_.value(r.new_value).removed;
      fresh.push_back(removed ? nullptr : state_.facts.type(r.new_value));
      if (auto rejection = check_type(r, fresh.back())) return rejection;
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      pass_on_type(state_.replacements[i], fresh[i]);
    }
    if (closes_cycle(state_)) {
      return Rejection{"the result would depend on itself", culprit()};
    }
    return std::nullopt;
  }

  // Whether the edit leaves any change.
  bool has_effect() const {
    const auto lives = [&](ir::NodeId n) { return !graph_.node(n).removed; };
    if (std::ranges::any_of(state_.added, lives)) return true;
    if (std::ranges::any_of(state_.moved, lives)) return true;
    if (!state_.outputs.empty()) return true;
    return std::ranges::any_of(state_.removed,
                               [&](ir::NodeId n) { return !state_.is_new(n); });
  }

 private:
  // If a declared type and an inferred type contradict each other, neither can
  // be relied on.
  std::optional<Rejection> check_contradictions() const {
    if (!state_.facts.has_contradictions()) return std::nullopt;
    std::optional<Rejection> rejection;
    visit_touched(state_, [&](ir::ValueId value) {
      const auto why = state_.facts.contradiction(value);
      if (!why) return false;
      rejection = Rejection{
          "the types that the model declares contradict each other", *why};
      return true;
    });
    return rejection;
  }

  // New nodes must be accepted by runtimes.
  std::optional<Rejection> check_added() const {
    for (ir::NodeId n : state_.added) {
      if (graph_.node(n).removed) continue;
      if (auto rejection = check_collective(n)) return rejection;
      if (auto rejection = check_call(n)) return rejection;
      const auto why = state_.facts.refusal(n);
      if (!why) continue;
      std::string inputs;
      for (const ir::Operand& o : graph_.inputs(n)) {
        inputs += (inputs.empty() ? "" : ", ") +
                  describe(graph_, state_.facts, o.value);
      }
      return Rejection{
          "a new " + graph_.op(n).text() + " is not valid: " + *why, inputs};
    }
    return std::nullopt;
  }

  // A call of the function whose body is edited would never end.
  std::optional<Rejection> check_call(ir::NodeId added) const {
    const ir::Function* const caller = graph_.function();
    if (caller == nullptr) return std::nullopt;
    const ir::Function* const callee =
        graph_.model().find_function(graph_.op(added));
    if (callee == nullptr || !reaches(*callee, *caller)) return std::nullopt;
    return Rejection{"the function would call itself", graph_.op(added).text()};
  }

  // All ranks must run a collective equally often. In a branch or a loop some
  // ranks might run it, and then wait for others for ever.
  std::optional<Rejection> check_collective(ir::NodeId added) const {
    if (!ranks::is_collective(graph_.op(added))) return std::nullopt;
    const Provenance& matched = state_.provenance;
    for (const auto nodes : {matched.from, matched.context}) {
      for (ir::NodeId n : nodes) {
        if (!ranks::is_collective(graph_.op(n)) ||
            graph_.node(n).block == graph_.node(added).block) {
          continue;
        }
        return Rejection{"a collective would move to another block",
                         graph_.describe(n)};
      }
    }
    return std::nullopt;
  }

  std::optional<Rejection> check_type(const ReplacedValue& r,
                                      const Type* fresh) const {
    if (graph_.value(r.new_value).removed) return std::nullopt;
    if (r.type != nullptr && fresh != nullptr) {
      if (!same_elem(*r.type, *fresh)) {
        return mismatch("wrong type of the result", r, fresh);
      }
      const Proof proof = compare_shapes(dims_, state_.facts, *r.type, *fresh);
      if (proof == Proof::kDifferent) {
        return mismatch("wrong shape of the result", r, fresh);
      }
      if (proof == Proof::kOpen && r.type->has_shape && !is_free(r)) {
        return mismatch("the result may have the wrong shape", r, fresh);
      }
    }
    const bool is_known =
        r.type != nullptr && (r.type->has_shape || !r.type->is_tensor());
    return is_known ? std::nullopt : check_unknown(r, fresh);
  }

  std::optional<Rejection> check_unknown(const ReplacedValue& r,
                                         const Type* fresh) const {
    if (auto rejection = check_stretched()) return rejection;
    if (is_free(r) || same_shape_by_ops(state_, r.old_value, r.new_value)) {
      return std::nullopt;
    }
    return mismatch("the result may have the wrong shape", r, fresh);
  }

  // Whether the shape need not be proven: the rule assumes something, the new
  // value is what the op means, or the engine does not know one of the ops.
  bool is_free(const ReplacedValue& r) const {
    if (state_.provenance.assumes || !state_.assumptions.empty()) return true;
    const ir::NodeId old = graph_.producer(r.old_value);
    const ir::NodeId fresh = graph_.producer(r.new_value);
    return std::ranges::find(state_.inlined, old) != state_.inlined.end() ||
           is_foreign(old) || (state_.is_new(fresh) && is_foreign(fresh));
  }

  bool is_foreign(ir::NodeId node) const {
    if (!node) return false;
    const ir::Op& op = graph_.op(node);
    return ops::newest_op(op.domain, op.type) == nullptr &&
           graph_.model().find_function(op) == nullptr;
  }

  // If the rank of a result is unknown, the values that it was broadcast with
  // must still be read: the other operand may have fewer axes.
  std::optional<Rejection> check_stretched() const {
    const auto consumed = state_.provenance.from;
    const auto is_inner = [&](ir::ValueId v) {
      return std::ranges::binary_search(consumed, graph_.producer(v));
    };
    for (ir::NodeId n : consumed) {
      if (!ops::roles_of(graph_.op(n)).broadcasts) continue;
      for (const ir::Operand& o : graph_.inputs(n)) {
        if (!o.value || is_inner(o.value) || is_read_now(o.value)) continue;
        const Type* type = state_.facts.type(o.value);
        if (type != nullptr && type->has_shape && type->rank() == 0) continue;
        return Rejection{"the shape may change",
                         describe(graph_, state_.facts, o.value)};
      }
    }
    return std::nullopt;
  }

  // Whether a new node reads the value, or it is a result.
  bool is_read_now(ir::ValueId value) const {
    const auto reads = [&](ir::NodeId n) {
      return !graph_.node(n).removed &&
             std::ranges::find(graph_.inputs(n), value, &ir::Operand::value) !=
                 graph_.inputs(n).end();
    };
    return std::ranges::any_of(state_.added, reads) ||
           std::ranges::find(state_.replacements, value,
                             &ReplacedValue::new_value) !=
               state_.replacements.end();
  }

  std::string text_of(const Type* type) const {
    const bool is_unknown =
        type == nullptr || (type->is_tensor() && !type->has_shape &&
                            type->elem == DataType::kUndefined);
    return is_unknown ? "an unknown type" : ir::type_text(dims_, *type);
  }

  Rejection mismatch(const char* reason, const ReplacedValue& r,
                     const Type* fresh) const {
    return {reason, quoted_name(graph_.name(r.old_value)) + " expected " +
                        text_of(r.type) + ", found " + text_of(fresh)};
  }

  // Gives the new value the known or declared type of the old one, unless that
  // declaration was not believed, or is a shape without an element type.
  void pass_on_type(const ReplacedValue& r, const Type* fresh) {
    const ir::Value& v = graph_.value(r.new_value);
    if (r.type == nullptr || v.removed) return;
    if (v.kind != ir::ValueKind::kNodeOutput) return;
    const Type* declared = graph_.value(r.old_value).declared;
    const bool is_output = v.block_output_count > 0;
    if (is_output && declared != nullptr) {
      if (v.declared != declared) state_.declare(r.new_value, declared);
      return;
    }
    if (v.declared != nullptr) return;
    if (state_.is_new(r.new_value) && declared != nullptr &&
        is_believed(*declared, *r.type)) {
      state_.declare(r.new_value, declared);
    } else if (says_less(dims_, fresh, *r.type)) {
      const bool has_elem =
          !r.type->is_tensor() || r.type->elem != DataType::kUndefined;
      if (has_elem) state_.declare(r.new_value, r.type);
    }
  }

  std::string culprit() const {
    for (const ReplacedValue& r : state_.replacements) {
      if (!graph_.value(r.new_value).removed) {
        return describe(graph_, state_.facts, r.new_value);
      }
    }
    return {};
  }

  EditState& state_;
  ir::Graph& graph_;
  const ir::DimTable& dims_;
};

void list_touched(EditState& state) {
  state.touched.append(state.added);
  state.touched.append(state.moved);
  state.touched.append(state.readers);
  state.touched.sort_unique();
}

}  // namespace

std::optional<Assumption> Edit::doubt() const {
  const EditState& s = *journal_;
  if (s.done) return std::nullopt;
  // Doubts about new nodes are known once these have types.
  for (ir::NodeId n : s.added) {
    if (!s.graph.node(n).removed) s.facts.type(s.graph.output(n, 0));
  }
  SmallVector<ir::ValueId, 64> touched;
  visit_touched(s, [&](ir::ValueId value) {
    touched.push_back(value);
    return false;
  });
  const auto found = s.facts.doubt(touched);
  if (!found) return std::nullopt;
  return Assumption{std::string(found->unless), s.graph.describe(found->node)};
}

std::optional<Rejection> Edit::commit(const Judged& judge) {
  EditState& s = *journal_;
  if (s.done) return std::nullopt;
  Checker checker(s);
  std::optional<Rejection> rejection = checker.check();
  if (rejection || !checker.has_effect()) {
    s.undo();
    return rejection;
  }
  if (judge) {
    if (auto why = judge(region_of(s))) {
      s.undo();
      return Rejection{*std::move(why), ""};
    }
  }
  settle_names(s);
  keep(s);
  list_touched(s);
  s.changed = true;
  s.done = true;
  if (History* history = s.workspace->history()) history->record(s);
  return std::nullopt;
}

std::optional<Rejection> Edit::rehearse() {
  EditState& s = *journal_;
  if (s.done) return std::nullopt;
  Checker checker(s);
  std::optional<Rejection> rejection = checker.check();
  if (!rejection && !checker.has_effect()) {
    rejection = Rejection{"the rewrite changes nothing", ""};
  }
  s.undo();
  return rejection;
}

}  // namespace ruleengine::rewrite
