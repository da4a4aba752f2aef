// Small graphs for the tests that compare Machine and oracle: inputs, constants
// with equal and with different bits, nodes of a few ops.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/match_draft.h"

namespace ruleengine::match::testing {

struct NodeChoice {
  const char* op;
  std::vector<int> inputs;
  std::optional<int> k = std::nullopt;  // an attribute of F
};

// x, y, two equal constants and a different one: values 0 to 4.
class World {
 public:
  World() {
    model.import_opset("", 21);  // read as it stands
    static constexpr float kOne[] = {1.0f}, kTwo[] = {2.0f};
    for (const char* name : {"x", "y"}) {
      values_.push_back(model.graph.add_value(model.names.intern(name),
                                              ir::Graph::main_block(),
                                              ir::ValueKind::kInput));
    }
    for (const float* data : {kOne, kOne, kTwo}) constant(data, {});
  }

  void constant(const float* data, std::vector<std::int64_t> dims) {
    std::size_t count = 1;
    for (std::int64_t d : dims) count *= static_cast<std::size_t>(d);
    auto* tensor = model.arena.make<ir::Literal>();
    tensor->dtype = ir::DataType::kFloat;
    tensor->bytes = std::as_bytes(std::span(data, count));
    tensor->dims = model.arena.copy(std::span<const std::int64_t>(dims));
    values_.push_back(model.graph.add_value(
        model.names.intern("c" + std::to_string(values_.size())),
        ir::Graph::main_block(), ir::ValueKind::kInitializer));
    model.graph.add_initializer(values_.back(), tensor);
  }

  void shape(std::size_t value, std::vector<ir::Dim> dims) {
    auto* type = model.arena.make<ir::Type>();
    type->elem = ir::DataType::kFloat;
    type->has_shape = true;
    type->dims = model.arena.copy(std::span<const ir::Dim>(dims));
    model.graph.mutable_value(values_[value]).declared = type;
    text += "shape " + std::to_string(value) + "[";
    for (ir::Dim d : dims) text += " " + model.dims.text(d);
    text += " ] ";
  }

  // F is an op of an unknown domain, with two outputs and an attribute.
  void add(const NodeChoice& choice) {
    const bool is_f = choice.op == std::string_view("F");
    text += std::string(choice.op) + "(";
    std::vector<ir::ValueId> inputs, outputs;
    for (int i : choice.inputs) {
      inputs.push_back(i < 0 ? ir::ValueId() : values_[i]);
      text += " " + std::to_string(i);
    }
    text += " ) ";
    for (int o = 0; o < (is_f ? 2 : 1); ++o) {
      outputs.push_back(model.graph.add_value(
          model.names.intern("v" + std::to_string(values_.size())),
          ir::Graph::main_block(), ir::ValueKind::kUndefined));
      values_.push_back(outputs.back());
    }
    std::span<ir::Attribute> attributes;
    if (choice.k) {
      attributes = model.arena.array<ir::Attribute>(1);
      attributes[0].name = "k";
      attributes[0].kind = ir::AttributeKind::kInt;
      attributes[0].i = *choice.k;
      text += "k=" + std::to_string(*choice.k) + " ";
    }
    model.graph.add_node(model.ops.intern(is_f ? "t" : "", choice.op),
                         ir::Graph::main_block(), "", inputs, outputs,
                         attributes);
  }

  void output(std::size_t value) {
    model.graph.add_block_output(ir::Graph::main_block(), values_[value]);
    text += "out " + std::to_string(value) + " ";
  }

  std::size_t value_count() const { return values_.size(); }

  ir::Model model;
  std::string text;

 private:
  std::vector<ir::ValueId> values_;
};

}  // namespace ruleengine::match::testing
