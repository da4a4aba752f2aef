// Removing nodes and values that an edit left without readers.
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {
namespace {

class Reaper {
 public:
  explicit Reaper(EditState& state) : state_(state), graph_(state.graph) {}

  void consider(ir::NodeId node) { pending_.push_back(node); }

  // Checks a value that may have lost its last reader.
  void consider(ir::ValueId value) {
    const ir::Value& v = graph_.value(value);
    if (v.removed || graph_.reader_count(value) != 0) return;
    if (v.producer) {
      pending_.push_back(v.producer);
    } else if (v.kind == ir::ValueKind::kInitializer &&
               !state_.is_adopted(value)) {
      state_.log.drop_initializer(value);
    }
  }

  void run() {
    while (!pending_.empty()) {
      const ir::NodeId node = pending_.back();
      pending_.pop_back();
      if (is_dead(node)) remove(node);
    }
  }

 private:
  bool is_dead(ir::NodeId node) const {
    const ir::Node& n = graph_.node(node);
    if (n.removed || n.output_count == 0) return false;
    for (ir::ValueId v : graph_.outputs(node)) {
      if (v && graph_.reader_count(v) != 0) return false;
    }
    return true;
  }

  void remove(ir::NodeId node) {
    state_.log.remove_node(node);
    state_.removed.push_back(node);
    for (const ir::Attribute& a : graph_.node(node).attributes) {
      for (ir::BlockId b : a.blocks) remove_block(b);
    }
    for (const ir::Operand& slot : graph_.inputs(node)) {
      if (!slot.value) continue;
      state_.lose_reader(slot.value);
      consider(slot.value);
    }
  }

  // Removes the whole body of a removed node.
  void remove_block(ir::BlockId block) {
    const auto outputs = graph_.block(block).outputs.size();
    for (std::uint32_t i = 0; i < outputs; ++i) {
      const ir::ValueId v = graph_.block(block).outputs[i];
      state_.log.set_block_output(block, i, {});
      if (v) consider(v);
    }
    const std::vector<ir::NodeId> nodes = graph_.block(block).nodes;
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (!graph_.node(*it).removed) orphans_.push_back(*it);
    }
    if (draining_) return;
    draining_ = true;
    while (!orphans_.empty()) {
      const ir::NodeId node = orphans_.back();
      orphans_.pop_back();
      if (!graph_.node(node).removed) remove(node);
    }
    draining_ = false;
  }

  EditState& state_;
  ir::Graph& graph_;
  SmallVector<ir::NodeId, 16> pending_;
  SmallVector<ir::NodeId, 4> orphans_;
  bool draining_ = false;
};

}  // namespace

void remove_dead(EditState& state, std::span<const ir::NodeId> roots) {
  Reaper reaper(state);
  for (ir::NodeId n : roots) reaper.consider(n);
  for (ir::NodeId n : state.added) reaper.consider(n);
  for (std::size_t i = state.considered; i < state.lost.size(); ++i) {
    reaper.consider(state.lost[i]);
  }
  // New constants that nothing reads.
  for (const auto& [value, stem] : state.stems) {
    if (!state.is_adopted(value)) reaper.consider(value);
  }
  reaper.run();
  state.considered = state.lost.size();
}

}  // namespace ruleengine::rewrite
