// Log: the primitive steps of edits on one Graph. Each is applied at once and
// recorded with the data to undo it. undo_to() goes back in reverse, exactly:
// use lists keep their order, and new ids are freed (except values that Facts
// may have cached as constants, which stay as removed values). Every step tells
// Facts what to forget. Internal to core/rewrite; borrows the graph and the
// facts; not thread-safe; nothing here fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/small_vector.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::rewrite {

class Log {
 public:
  Log(ir::Graph& graph, ir::Facts& facts) : graph_(graph), facts_(facts) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  std::size_t size() const { return entries_.size(); }
  void undo_to(std::size_t size) { go_back(size, false); }
  // Undoes too, but parks new nodes and values: they are marked removed and
  // keep their ids, so that the same edit can be repeated with them (Replay).
  void park_to(std::size_t size) { go_back(size, true); }
  // Appends the steps of `other`, which were applied to the same graph.
  void append(Log&& other);
  // What all steps disconnected: the value that a slot read, the inputs of a
  // node, the output of a block. `slot` is valid for the first kind only.
  struct Taken {
    ir::ValueId value;
    ir::OperandId slot;
    ir::NodeId reader;  // invalid for a block output
    ir::BlockId block;  // whose output it was; else invalid
    std::uint32_t output = 0;
  };
  template <class Visit>
  void for_each_taken(const Visit& visit) const;

  // Adds a node with fresh, unnamed outputs.
  ir::NodeId add_node(ir::OpId op, ir::BlockId block,
                      std::span<const ir::ValueId> inputs,
                      std::uint32_t output_count,
                      std::span<const ir::Attribute> attributes,
                      std::uint64_t rank);
  // A body for a node that is added later, which is then made its owner.
  ir::BlockId add_body(ir::BlockId parent, std::string_view name,
                       std::uint32_t input_count);
  void give_outputs(ir::BlockId body, std::span<const ir::ValueId> outputs);
  ir::ValueId add_initializer(ir::BlockId block, const ir::Literal* tensor);
  // Replaces the latest node, whose outputs fold to `tensors`, by initializers.
  void fold_last(std::span<const ir::Literal* const> tensors);

  // Restores a parked node, with these inputs.
  void bring_back(ir::NodeId node, std::span<const ir::ValueId> inputs,
                  std::uint64_t rank);

  void set_operand(ir::OperandId slot, ir::ValueId value);
  void set_block_output(ir::BlockId block, std::uint32_t i, ir::ValueId value);
  void remove_node(ir::NodeId node);
  // Marks the value as removed; compacting the graph removes it from its
  // block's list.
  void drop_initializer(ir::ValueId value);
  void revive_initializer(ir::ValueId value);

  // These steps store the previous value.
  void set_metadata(ir::NodeId node, std::span<const ir::Metadata> metadata);
  void set_rank(ir::NodeId node, std::uint64_t rank);
  void set_name(ir::ValueId value, Name name);
  void set_declared(ir::ValueId value, const ir::Type* type);
  // Drops the node's encoding from the file, which is outdated.
  void forget_proto(ir::NodeId node);
  void mark_changed(ir::BlockId block);

 private:
  enum class Step : std::uint8_t {
    kNode,
    kBody,
    kBodyOutputs,
    kValue,
    kInitializer,
    kBack,
    kMetadata,
    kOperand,
    kBlockOutput,
    kRemove,
    kDrop,
    kRevive,
    kRank,
    kName,
    kDeclared,
    kProto,
    kChanged,
  };
  struct Entry {
    Step step;
    std::uint32_t id = 0;     // of a node, value, slot or block
    std::uint32_t index = 0;  // of a block output
  };

  void park_again(ir::NodeId node);
  void go_back(std::size_t size, bool park);
  void undo(const Entry& entry, bool park);
  void undo_node(const Entry& entry, bool park);
  void undo_value_entry(const Entry& entry, bool park);
  void undo_link(const Entry& entry);
  void undo_body(const Entry& entry);
  void undo_value(ir::ValueId value);
  void undo_initializer(ir::ValueId value);
  void forget_producer(ir::ValueId value);

  ir::Graph& graph_;
  ir::Facts& facts_;
  SmallVector<Entry, 16> entries_;
  SmallVector<ir::Operand, 8> operands_;
  SmallVector<ir::ValueId, 2> values_;
  SmallVector<ir::ValueId, 4> parked_;  // inputs of parked nodes
  SmallVector<std::span<const ir::Metadata>, 2> metadata_;
  SmallVector<std::uint64_t, 2> ranks_;
  SmallVector<Name, 4> names_;
  SmallVector<const ir::Type*, 4> types_;
  SmallVector<std::span<const std::byte>, 4> protos_;
};

template <class Visit>
void Log::for_each_taken(const Visit& visit) const {
  std::size_t operand = 0, value = 0;
  for (const Entry& entry : entries_) {
    if (entry.step == Step::kOperand) {
      const ir::Operand& before = operands_[operand++];
      visit(Taken{before.value, ir::OperandId(entry.id), before.user, {}});
    } else if (entry.step == Step::kBlockOutput) {
      visit(
          Taken{values_[value++], {}, {}, ir::BlockId(entry.id), entry.index});
    } else if (entry.step == Step::kRemove) {
      const ir::NodeId node(entry.id);
      for (const ir::Operand& o : graph_.inputs(node)) {
        visit(Taken{o.value, {}, node, {}});
      }
    }
  }
}

}  // namespace ruleengine::rewrite
