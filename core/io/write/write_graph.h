// GraphWriter: writes one ir::Graph as GraphProto or FunctionProto. What did
// not change is a view of its old encoding. A changed body keeps the order of
// its fields; its nodes are in topological order, as close to the old order as
// possible; everything that the engine does not model is kept. A graph without
// an encoding is written whole. Borrows the model, which must not change; one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/read/order.h"
#include "core/io/read/read_graph.h"
#include "core/io/write/emit.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Properties of a result that its source does not have.
struct WriteSettings {
  std::int64_t source_ir_version = 0;  // 0: there is no source
};

// Writes opset imports: those of a message, updated. Call field() for each in
// turn, then finish().
class OpsetWriter {
 public:
  OpsetWriter(Rope& rope, std::uint32_t field, const ir::OpsetImports& imports)
      : rope_(rope), field_(field), imports_(imports), seen_(imports.size()) {}
  void field(const Cursor& cursor);
  void finish();

 private:
  Rope& rope_;
  std::uint32_t field_;
  const ir::OpsetImports& imports_;
  std::vector<bool> seen_;
};

class GraphWriter {
 public:
  // `fresh`: the old encoding of the main block is ignored.
  GraphWriter(const ir::Model& model, const ir::Graph& graph, Emitter& emitter,
              const WriteSettings& settings, bool fresh = false);

  bool changed() const { return changed_; }

  // Writes the main block as field `field`.
  Status write(std::uint32_t field);
  // Writes the inside of a function's message; the caller writes the rest.
  Status write_function(const ir::Function& function);

 private:
  // What was found in the fields of a body that is written anew.
  struct Body {
    ir::BlockId block;
    const BodyLayout& layout;
    bool nodes = false, initializers = false;
    std::size_t outputs = 0;
    std::vector<ir::ValueId> rescued;  // initializers of kept annotations
  };

  void find_changes(bool fresh);
  void sort_values();
  void write_block(ir::BlockId block, std::uint32_t field);
  void write_body(Body& body, Bytes proto, OpsetWriter* opsets = nullptr);
  void write_field(Body& body, const Cursor& cursor);
  void finish_body(Body& body);
  void enter_names(ir::BlockId block);
  void leave_names(ir::BlockId block);

  void write_nodes(Body& body);
  void write_initializers(Body& body);
  void write_input(Body& body, const Cursor& cursor);
  void write_output(Body& body, const Cursor& cursor);
  void write_value_info(Body& body, const Cursor& cursor);
  void write_info(const Cursor& info, ir::ValueId v);
  void write_sizes(const Cursor& old, const schema::Message& message,
                   const ir::Type* type, std::size_t& axis);
  void write_annotation(Body& body, const Cursor& cursor);
  void rescue(Body& body, std::string_view name);
  void write_interface(Body& body);
  void write_value(const BodyLayout& layout, std::uint32_t field,
                   ir::ValueId value);
  void write_new_infos(const Body& body);
  void write_new_inputs(const Body& body);
  void write_function_head(const ir::Function& function);

  void write_node(ir::NodeId node, std::uint32_t field);
  bool names_hold(ir::NodeId node);
  void write_attribute(std::uint32_t field, const ir::Attribute& attribute);
  void write_graph_attribute(const ir::Attribute& attribute);

  std::span<const ir::ValueId> values_of(ir::BlockId block) const;
  bool lives(ir::ValueId value) const;
  ir::ValueId own_value(std::string_view name) const;
  std::string_view name_of(ir::ValueId value);

  const ir::Model& model_;
  const ir::Graph& graph_;
  Emitter& emitter_;
  Rope& rope_;
  const WriteSettings& settings_;
  bool changed_ = false;
  std::vector<bool> dirty_;        // blocks
  std::vector<bool> dirty_owner_;  // nodes with a dirty block; empty: none
  Passage passage_;
  std::optional<Orderer> orderer_;
  std::vector<ir::ValueId> by_block_;  // values, those of a block together
  std::vector<std::size_t> block_begin_;
  std::vector<std::vector<ir::ValueId>> shadowed_;
  std::vector<ir::ValueId>& by_name_;  // in the body being written
  std::vector<bool> is_initializer_, is_input_, has_info_;
  std::map<std::uint32_t, std::string> made_names_;  // by value
  std::optional<Diagnostic> error_;
};

}  // namespace ruleengine::io
