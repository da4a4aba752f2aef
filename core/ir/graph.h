// Graph: the body of a model or of a model-local function, with the bodies of
// its If, Loop and Scan nodes. Nodes, values and operands are 32-bit ids into
// dense arrays; every use of a value is linked both ways. A Graph keeps no
// textual order: order is computed (core/ir/order.h). Subgraphs are
// Blocks of the same Graph, so a value captured from outside simply has one
// more user.
//
// The mutators here are the primitives of core/rewrite's Edit, which journals
// them and undoes them in reverse order; loaders call them directly. Removed
// nodes and values stay as tombstones. An id is reused only after an undo has
// removed the latest node or value. Not thread-safe.
#pragma once

#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/id.h"
#include "core/ir/attribute.h"
#include "core/ir/literal.h"
#include "core/ir/op.h"
#include "core/ir/type.h"

namespace ruleengine::ir {

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using OperandId = Id<struct OperandTag>;

class Model;
struct Function;

// One input slot of one node. Slots of a node are consecutive. Users of a
// value form a doubly linked list in the order in which they were made.
struct Operand {
  ValueId value;  // invalid: an absent optional input
  NodeId user;
  OperandId next, previous;  // other uses of the same value
};

// One entry of a node's metadata_props.
struct Metadata {
  std::string_view key, value;
};

struct Node {
  OpId op;
  BlockId block;
  std::string_view name;
  std::uint32_t first_operand = 0;
  std::uint32_t operand_count = 0;
  std::uint32_t first_output = 0;  // into Graph's output list
  std::uint32_t output_count = 0;
  std::span<const Attribute> attributes;
  // The encoded NodeProto, saved verbatim while nothing of the node changed;
  // empty for new and changed nodes.
  std::span<const std::byte> proto;
  // Fields of the NodeProto that are not modelled (doc_string,
  // unknown): their encoding, carried over when `proto` was dropped.
  std::span<const std::byte> extra;
  // metadata_props; parsed at load, written when `proto` was dropped.
  std::span<const Metadata> metadata;
  // Topological key: never falls from a producer to its users, nor from a node
  // of a body to the body's owner. Zero everywhere in a new graph; a sweep of
  // core/rewrite numbers the nodes, and an Edit keeps the order when it
  // commits. A search for cycles stops at nodes whose rank is past that of its
  // goal, so code that adds nodes must set their ranks; core/verify checks
  // them.
  std::uint64_t rank = 0;
  bool removed = false;
};

enum class ValueKind : std::uint8_t {
  kNodeOutput,
  kInput,        // of a block: graph input, Loop/Scan body input
  kInitializer,  // constant: an initializer that is not also an input
  kUndefined,    // read by a node, but defined nowhere (the loader reports it)
};

// "an input", "an initializer", "a node output"; for diagnostics.
std::string_view kind_text(ValueKind kind);

struct Value {
  Name name;
  BlockId block;  // where it is defined
  ValueKind kind = ValueKind::kUndefined;
  bool removed = false;
  NodeId producer;                 // kNodeOutput
  std::uint32_t output_index = 0;  // among the producer's outputs
  OperandId first_use, last_use;
  std::uint32_t use_count = 0;
  // Changes with every change of the uses; a number is never given twice.
  std::uint32_t use_stamp = 0;
  std::uint32_t block_output_count = 0;  // times it is an output of a block
  // True when the uses may not be in the order of their nodes.
  bool uses_mixed = false;
  // Initializer, or default of an overridable input; else nullptr.
  const Literal* tensor = nullptr;
  // Declared by the file (input, output, value_info) or set by an edit;
  // nullptr when nothing is declared. core/analysis merges it with inference.
  const Type* declared = nullptr;
};

// A GraphProto: the main graph, a function's body, or a subgraph attribute.
struct Block {
  NodeId owner;    // the node whose attribute it is; invalid for block 0
  BlockId parent;  // the block of `owner`
  std::string_view name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<NodeId> nodes;  // in file order, then in order of creation
  std::vector<ValueId> initializers;  // likewise
  std::span<const std::byte> proto;   // the encoded GraphProto
  bool changed = false;               // anything inside differs from `proto`
};

class Graph {
 public:
  explicit Graph(Model& model);
  // A copy as a graph of `model`, which has the same names, ops and Dims.
  Graph(const Graph& other, Model& model);
  Graph& operator=(const Graph&) = delete;

  Model& model() const { return *model_; }
  static constexpr BlockId main_block() { return BlockId(0u); }
  // Whose body this is; nullptr for the main graph.
  Function* function() const { return function_; }
  void set_function(Function* function) { function_ = function; }
  // The version imported for `domain` where this graph stands, 0 if none.
  std::int64_t opset(std::string_view domain) const;

  // --- reading -------------------------------------------------------------
  std::size_t node_count() const { return nodes_.size(); }  // with tombstones
  std::size_t live_node_count() const { return live_nodes_; }
  // By id; not those that are added while this is walked.
  auto live_nodes() const {
    return std::views::iota(std::uint32_t{0},
                            static_cast<std::uint32_t>(nodes_.size())) |
           std::views::transform([](std::uint32_t i) { return NodeId(i); }) |
           std::views::filter([this](NodeId id) { return !node(id).removed; });
  }
  std::size_t value_count() const { return values_.size(); }
  std::size_t block_count() const { return blocks_.size(); }
  // Grows whenever some rank may have fallen; see number_nodes in
  // core/ir/order.h.
  std::uint64_t numbering() const { return numbering_; }
  void mark_renumbered() { ++numbering_; }

  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  const Value& value(ValueId id) const { return values_[id.index()]; }
  const Block& block(BlockId id) const { return blocks_[id.index()]; }
  const Operand& operand(OperandId id) const { return operands_[id.index()]; }

  std::span<const Operand> inputs(NodeId id) const {
    const Node& n = nodes_[id.index()];
    return {operands_.data() + n.first_operand, n.operand_count};
  }
  // Input `i`, invalid when absent or beyond the end.
  ValueId input(NodeId id, std::size_t i) const {
    const Node& n = nodes_[id.index()];
    if (i >= n.operand_count) return ValueId();
    return operands_[n.first_operand + i].value;
  }
  std::span<const ValueId> outputs(NodeId id) const {
    const Node& n = nodes_[id.index()];
    return {outputs_.data() + n.first_output, n.output_count};
  }
  ValueId output(NodeId id, std::size_t i = 0) const {
    const Node& n = nodes_[id.index()];
    if (i >= n.output_count) return ValueId();
    return outputs_[n.first_output + i];
  }
  // nullptr when the node has no attribute of that name.
  const Attribute* attribute(NodeId id, std::string_view name) const;
  NodeId producer(ValueId id) const {
    return id ? values_[id.index()].producer : NodeId();
  }
  // The number of uses; each block output counts as one use.
  std::uint32_t reader_count(ValueId id) const {
    const Value& v = values_[id.index()];
    return v.use_count + v.block_output_count;
  }
  // Walks the uses of a value: for (OperandId u = g.first_use(v); u;
  // u = g.next_use(u)).
  OperandId first_use(ValueId id) const {
    return values_[id.index()].first_use;
  }
  OperandId next_use(OperandId id) const { return operands_[id.index()].next; }
  std::uint32_t operand_index(OperandId id) const {  // position in its node
    return id.index() -
           nodes_[operands_[id.index()].user.index()].first_operand;
  }

  std::string_view name(ValueId id) const;  // text of the value's name
  const Op& op(NodeId id) const;            // domain, type, overload
  // The constant tensor of an initializer (not an overridable input) or of a
  // Constant node's value; nullptr otherwise. No folding: see Facts.
  const Literal* direct_constant(ValueId id) const;
  // "Add_3" or, for unnamed nodes, "of output 'y'"; for diagnostics.
  std::string describe(NodeId id) const;

  // --- building and primitives of an edit ----------------------------------
  BlockId add_block(NodeId owner, BlockId parent, std::string_view name);
  ValueId add_value(Name name, BlockId block, ValueKind kind);
  // Appends a node with these inputs (invalid = absent); outputs are existing
  // values of kind kUndefined or kNodeOutput without producer.
  NodeId add_node(OpId op, BlockId block, std::string_view name,
                  std::span<const ValueId> inputs,
                  std::span<const ValueId> outputs,
                  std::span<const Attribute> attributes);
  // Appends a node with other inputs and attributes in the place of `old`,
  // which is removed: it has the op, the name, the outputs, the bodies and the
  // rank of that one.
  NodeId replace_node(NodeId old, std::span<const ValueId> inputs,
                      std::span<const Attribute> attributes);
  void pop_node();   // undoes the latest add_node
  void pop_value();  // undoes the latest add_value (no uses left)
  void pop_block();  // undoes the latest add_block (no nodes left)

  void set_operand(OperandId slot, ValueId value);  // links at the tail
  // Unlinks `slot` but remembers its neighbours; relink undoes it exactly, when
  // called in reverse order.
  void unlink(OperandId slot);
  void relink(OperandId slot);

  // Takes the node out: operands unlinked, outputs orphaned; restore undoes it
  // exactly, when called in reverse order.
  void remove_node(NodeId id);
  void restore_node(NodeId id);

  void set_block_output(BlockId block, std::size_t i, ValueId value);
  // For loaders: appends to the interface of a block.
  void add_block_input(BlockId block, ValueId value);
  void add_block_output(BlockId block, ValueId value);
  void add_initializer(ValueId value, const Literal* tensor);

  Node& mutable_node(NodeId id) { return nodes_[id.index()]; }
  Value& mutable_value(ValueId id) { return values_[id.index()]; }
  Block& mutable_block(BlockId id) { return blocks_[id.index()]; }
  // For undoing set_operand: sets the old neighbours of an unlinked slot,
  // before relink.
  Operand& mutable_operand(OperandId id) { return operands_[id.index()]; }
  // Gives output slot `i` of a node another value (the old one is orphaned).
  void set_output(NodeId id, std::size_t i, ValueId value);

  void reserve(std::size_t nodes, std::size_t values, std::size_t operands);

 private:
  Graph(const Graph&) = default;

  void link_last(OperandId slot, ValueId value);
  // Sets what the neighbours of `use` take for the next and the previous use.
  Value& set_around(const Operand& use, OperandId next, OperandId previous);

  Model* model_;
  Function* function_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Operand> operands_;
  std::vector<ValueId> outputs_;
  std::vector<Block> blocks_;
  std::size_t live_nodes_ = 0;
  std::uint64_t numbering_ = 0;
  std::uint32_t use_clock_ = 0;
};

}  // namespace ruleengine::ir
