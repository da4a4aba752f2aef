// Moving the readers of one value to another, block outputs included.
#include <algorithm>

#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

using ir::BlockId;
using ir::NodeId;
using ir::OperandId;
using ir::ValueId;
using ir::ValueKind;

class Mover {
 public:
  Mover(EditState& state, ValueId from, ValueId to)
      : state_(state), graph_(state.graph), from_(from), to_(to) {}

  void run() {
    if (from_ == to_) return;
    if (!to_) {
      if (graph_.reader_count(from_) == 0) return;
      state_.reject(
          "the rewrite gives no value for a result that is still read", from_);
      return;
    }
    if (!encloses(graph_, graph_.value(to_).block, graph_.value(from_).block)) {
      state_.reject(
          "the new value is not visible to all readers of the old one", to_);
      return;
    }
    // When the edit is repeated, types are not checked again.
    const ir::Type* type = state_.again ? nullptr : state_.facts.type(from_);
    state_.replacements.push_back({from_, to_, type});
    move_outputs();
    if (stays_) return;
    move_readers();
    const bool unnamed = !name_is_carried_ &&
                         state_.heir_of(to_, true) == nullptr &&
                         state_.heir_of(to_, false) == nullptr;
    if (state_.is_new(to_) && unnamed) {
      state_.add_heir({to_, from_, name_of(from_), false});
    }
  }

 private:
  bool is_identity_of(NodeId node, ValueId input) const {
    return node && graph_.op(node).standard("Identity") &&
           graph_.input(node, 0) == input;
  }

  void move_readers() {
    SmallVector<OperandId, 8> slots;
    const NodeId maker = graph_.producer(to_);
    for (OperandId u = graph_.first_use(from_); u; u = graph_.next_use(u)) {
      const NodeId user = graph_.operand(u).user;
      if (user != maker && !state_.is_new(user)) slots.push_back(u);
    }
    for (OperandId u : slots) state_.set_operand(u, to_);
  }

  void move_outputs() {
    // Inputs and initializers keep their names.
    if (graph_.value(from_).kind != ValueKind::kNodeOutput) return;
    const auto slots = state_.workspace->output_places(from_);
    if (slots.empty()) return;
    const bool direct = std::ranges::all_of(
        slots, [&](const auto& slot) { return can_carry(slot.first); });
    ValueId carrier = to_;
    if (!direct) {
      // The rule removed an Identity that is needed for the name of the output.
      if (is_identity_of(graph_.producer(from_), to_)) return keep_identity();
      carrier = add_identity(slots[0].first);
    }
    state_.add_heir({carrier, from_, name_of(from_), true});
    name_is_carried_ = true;
    for (const auto& [block, i] : slots) {
      state_.log.set_block_output(block, i, carrier);
      state_.workspace->note_output(carrier, {block, i});
      state_.outputs.push_back(block);
    }
    state_.lose_reader(from_);
    state_.win_reader(carrier);
  }

  // Whether the new value can take the name of an output of `block`.
  bool can_carry(BlockId block) const {
    const ir::Value& v = graph_.value(to_);
    return v.kind == ValueKind::kNodeOutput && v.block == block &&
           v.block_output_count == 0 && state_.heir_of(to_, true) == nullptr;
  }

  void keep_identity() {
    const NodeId identity = graph_.producer(from_);
    state_.replacements.pop_back();
    // Other readers may still skip the Identity.
    SmallVector<OperandId, 8> slots;
    for (OperandId u = graph_.first_use(from_); u; u = graph_.next_use(u)) {
      if (graph_.operand(u).user != identity) slots.push_back(u);
    }
    for (OperandId u : slots) state_.set_operand(u, to_);
    stays_ = true;
  }

  ValueId add_identity(BlockId block) {
    const ir::OpId op = graph_.model().ops.intern("", "Identity");
    const ValueId inputs[] = {to_};
    const std::size_t made = state_.carriers.size();
    NodeId node;
    if (state_.again && made < state_.again->carriers.size()) {
      node = state_.again->carriers[made];
      state_.bring_back(node, inputs);
    } else {
      node = state_.add_node(op, block, inputs, 1, {});
    }
    state_.carriers.push_back(node);
    const ValueId carrier = graph_.output(node);
    state_.replacements.push_back(
        {from_, carrier, state_.replacements.back().type});
    return carrier;
  }

  // The name that `value` has or will get.
  Name name_of(ValueId value) const {
    const Heir* heir = state_.heir_of(value, true);
    if (heir == nullptr) heir = state_.heir_of(value, false);
    return heir == nullptr ? graph_.value(value).name : heir->name;
  }

  EditState& state_;
  ir::Graph& graph_;
  ValueId from_, to_;
  bool stays_ = false;
  bool name_is_carried_ = false;  // a block output took it
};

}  // namespace

void replace_value(EditState& state, ValueId old_value, ValueId new_value) {
  if (state.failure) return;
  Mover(state, old_value, new_value).run();
}

}  // namespace ruleengine::rewrite
