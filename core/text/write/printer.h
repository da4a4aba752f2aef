// Printer: prints one model in parts; and functions that the printers share.
// Borrows the model; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/ir/model.h"
#include "core/text/print.h"
#include "core/wire/wire.h"

namespace ruleengine::text {

// The text of an encoded TypeProto.
std::string encoded_type_text(Bytes proto);
std::string tensor_type_text(const ir::Literal& tensor);
// The text of the elements alone: "{1, 2}".
std::string data_text(const ir::Literal& tensor, ir::ExternalData* external,
                      const PrintOptions& options);

class Printer {
 public:
  Printer(const ir::Model& model, const PrintOptions& options)
      : model_(model), options_(options) {}

  std::string model();
  // The attribute on one line; graphs inside are shown as "{3 nodes}".
  std::string one_line(const ir::Graph& graph, const ir::Attribute& attribute);

 private:
  void header();
  void imports(const ir::OpsetImports& list);
  void source_fields();
  void function(const ir::Function& f);
  void body(const ir::Graph& graph);
  void block(ir::BlockId id, int depth);
  void constants(ir::BlockId id, int depth);
  void node(ir::NodeId id, int depth);
  void label(const ir::Node& n);
  void attributes(std::span<const ir::Attribute> list, int depth);
  void attribute(const ir::Attribute& a, int depth);
  void attribute_types(const ir::Attribute& a);
  void graphs(const ir::Attribute& a, int depth);
  std::string value_name(ir::ValueId id) const;
  std::string declared(ir::ValueId id) const;  // "float[2] x"
  // "float[2] w = {1, 2}"
  std::string constant(ir::ValueId id, const ir::Literal& data) const;
  std::string indent(int depth) const {
    return std::string(static_cast<std::size_t>(2 * depth), ' ');
  }

  const ir::Model& model_;
  const PrintOptions& options_;
  std::string out_;

  // The body that is being printed.
  const ir::Graph* graph_ = nullptr;
  std::vector<std::vector<ir::NodeId>> order_;   // by block
  std::vector<std::vector<ir::ValueId>> typed_;  // likewise: declared outputs
  bool short_ = false;
};

}  // namespace ruleengine::text
