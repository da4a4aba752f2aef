// GraphReader: reads GraphProto and FunctionProto bodies into an ir::Graph.
// Names are resolved by scope: a body sees its own names and those of the
// enclosing bodies, wherever in the file they are defined. A name may be
// defined once in a body and may hide an outer one, as in ONNX. Nodes need not
// be in topological order, but there must be such an order. Bodies nest to a
// bounded depth and are read from a worklist. See context.h for failure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/io/read/context.h"
#include "core/io/read/parts.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// The limit on the nesting of bodies of control-flow nodes.
inline constexpr int kMaxNesting = 100;

// The field numbers of a body in its message; 0: the message has no such field.
struct BodyLayout {
  const schema::Message& message;
  std::uint32_t node, initializer, sparse, input, output, value_info;
  bool formal;  // inputs and outputs are bare names
};
extern const BodyLayout kGraphBody, kFunctionBody;

// The values that are visible at the moment, by name; shared by all readers of
// a model.
using Scope = std::vector<ir::ValueId>;

class GraphReader : public BlockMaker {
 public:
  GraphReader(Context& context, ir::Graph& graph, ir::OpsetImports& imports,
              Scope& scope);

  // Fills the graph: the main block from `proto`, then all nested ones.
  bool read(Bytes proto, const BodyLayout& layout, const Place& place);

  ir::BlockId make_block(Bytes graph) override;

 private:
  struct Task {
    ir::BlockId block;  // invalid: end of a scope
    Bytes proto;
    std::size_t undo = 0;
  };
  struct NodeParts {
    std::string_view name, type, domain, overload;
    std::size_t attributes = 0, metadata = 0;
    Bytes extra;
    bool scattered = false;  // `extra` is incomplete

    void add_extra(Bytes field);
  };

  bool read_block(ir::BlockId block, Bytes proto, const BodyLayout& layout,
                  const Place& place);
  bool reserve(Bytes proto, const BodyLayout& layout, const Place& place);
  void split(const Cursor& field, const BodyLayout& layout);
  bool define(std::string_view name, ir::ValueKind kind, const Place& place,
              ir::ValueId& value);
  bool read_interface(const Cursor& field, const BodyLayout& layout,
                      const Place& place, ValueInfo& info);
  bool is_own(ir::ValueId value) const;  // defined in the current block
  bool define_inputs(const BodyLayout& layout, const Place& place);
  bool define_initializers(const BodyLayout& layout, const Place& place);
  bool define_initializer(Bytes proto, const Place& place);
  bool define_broken(const ir::Literal& tensor, std::string_view name,
                     const Place& place);
  bool check_broken();
  bool define_sparse(Bytes proto, const Place& place);
  bool define_node_outputs(const BodyLayout& layout, const Place& place);
  bool declare(const BodyLayout& layout, const Place& place);
  void declare_type(ir::ValueId value, const ir::Type* type);
  bool declare_output(std::string_view name, Bytes type, const Place& place);
  void check_order(ir::BlockId reader, ir::ValueId value);
  ir::ValueId visible(std::string_view name);

  bool link_nodes(const BodyLayout& layout, const Place& place);
  bool link_node(Bytes proto, const Place& place);
  bool scan_node(Bytes proto, const Place& place, NodeParts& parts);
  bool scan_operand(const Cursor& cursor, Bytes node, const Place& place);
  std::string_view first_output() const;
  bool check_node(const NodeParts& parts, const Place& place, ir::OpId& op);
  bool read_attributes(Bytes proto, const NodeParts& parts, const Place& place,
                       std::span<const ir::Attribute>& attributes);
  bool read_metadata(Bytes proto, const NodeParts& parts, const Place& place,
                     std::span<const ir::Metadata>& metadata);
  Bytes gather_extra(Bytes proto, const NodeParts& parts);

  bool order_blocks();
  bool rank_bodies();

  // Whether this is the main graph of the model.
  bool is_main() const {
    return block_ == ir::Graph::main_block() && !context_.in_function;
  }
  bool imply(std::string_view domain, const Place& place);

  Context& context_;
  ir::Graph& graph_;
  ir::OpsetImports& imports_;
  Scope& scope_;
  const std::uint32_t serial_;  // number of this reader in the model
  std::vector<std::pair<Name, ir::ValueId>> undo_;
  std::vector<Task> tasks_;
  std::vector<Task> children_;  // of the current block
  std::vector<int> depths_;     // by block
  // The fields of the current block: initializers, and all others. Several
  // passes go over the others alone, so that they do not touch the weights.
  std::vector<Bytes> constants_, others_;
  std::vector<std::pair<ir::ValueId, Diagnostic>> broken_;
  ir::BlockId block_;              // the current block
  std::uint32_t next_output_ = 0;  // value of the next node output to link
  std::uint64_t next_rank_ = 0;
  std::vector<ir::ValueId> inputs_, outputs_;
  bool sorted_ = true;
};

}  // namespace ruleengine::io
