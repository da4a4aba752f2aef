// Small graphs for the tests of this folder. A builder makes one model.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ir/model.h"
#include "core/ir/shapes.h"
#include "kernels/cpu.h"

namespace ruleengine::analysis {

struct Builder {
  ir::Model model;
  ir::Graph& g = model.graph;
  int names = 0;

  explicit Builder(std::int64_t opset = 18) {
    model.ir_version = 9;
    model.evaluator = kernels::cpu_evaluator();
    model.import_opset("", opset);
    model.import_opset("ruleengine", 1);
    model.import_opset("tensor_cast", 1);
    model.import_opset("aten", 1);
  }

  ir::ValueId value(ir::ValueKind kind, std::string_view name = {}) {
    const std::string made =
        name.empty() ? "v" + std::to_string(names++) : std::string(name);
    return g.add_value(model.names.intern(made), ir::Graph::main_block(), kind);
  }

  ir::Dim dim(const std::string& text) {
    if (text.empty()) return model.dims.fresh();
    const bool is_size = text.find_first_not_of("0123456789") == text.npos;
    return is_size ? ir::Dim(std::stoll(text)) : model.dims.symbol(text);
  }

  // The dimensions as text: "2", "B", "S + 1"; "" for an unknown one.
  const ir::Type* type(ir::DataType elem, std::vector<std::string> dims) {
    std::vector<ir::Dim> axes;
    for (const std::string& d : dims) axes.push_back(dim(d));
    ir::Type t;
    t.elem = elem;
    t.has_shape = true;
    t.dims = model.arena.copy(std::span<const ir::Dim>(axes));
    return model.arena.make<ir::Type>(t);
  }

  ir::ValueId input(std::vector<std::string> dims,
                    ir::DataType elem = ir::DataType::kFloat) {
    const ir::ValueId v = value(ir::ValueKind::kInput);
    g.mutable_value(v).declared = type(elem, std::move(dims));
    g.add_block_input(ir::Graph::main_block(), v);
    return v;
  }

  template <typename T>
  const ir::Literal* tensor(ir::DataType dtype, std::vector<std::int64_t> dims,
                            std::vector<T> values) {
    ir::Literal t;
    t.dtype = dtype;
    t.dims = model.arena.copy(std::span<const std::int64_t>(dims));
    auto bytes = model.arena.array<std::byte>(values.size() * sizeof(T));
    if (!values.empty()) {
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    t.bytes = bytes;
    return model.arena.make<ir::Literal>(t);
  }
  ir::ValueId initializer(const ir::Literal* t) {
    const ir::ValueId v = value(ir::ValueKind::kInitializer);
    g.add_initializer(v, t);
    return v;
  }
  ir::ValueId ints(std::vector<std::int64_t> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return initializer(tensor(ir::DataType::kInt64, {n}, std::move(values)));
  }
  ir::ValueId scalar(std::int64_t v) {
    return initializer(tensor<std::int64_t>(ir::DataType::kInt64, {}, {v}));
  }
  ir::ValueId floats(std::vector<std::int64_t> dims, std::vector<float> v) {
    return initializer(
        tensor(ir::DataType::kFloat, std::move(dims), std::move(v)));
  }

  ir::Attribute i(std::string_view name, std::int64_t v) {
    ir::Attribute a;
    a.name = name;
    a.kind = ir::AttributeKind::kInt;
    a.i = v;
    return a;
  }
  ir::Attribute is(std::string_view name, std::vector<std::int64_t> v) {
    ir::Attribute a;
    a.name = name;
    a.kind = ir::AttributeKind::kInts;
    a.ints = model.arena.copy(std::span<const std::int64_t>(v));
    return a;
  }
  ir::Attribute t(std::string_view name, const ir::Literal* v) {
    ir::Attribute a;
    a.name = name;
    a.kind = ir::AttributeKind::kTensor;
    a.tensors = model.arena.copy(std::span<const ir::Literal* const>(&v, 1));
    return a;
  }

  // "Add", "ruleengine::Linear".
  ir::NodeId node(std::string_view op, std::vector<ir::ValueId> inputs,
                  std::vector<ir::Attribute> attributes = {},
                  std::size_t outputs = 1) {
    std::string_view domain;
    if (const auto at = op.find("::"); at != op.npos) {
      domain = op.substr(0, at);
      op = op.substr(at + 2);
    }
    std::vector<ir::ValueId> made;
    for (std::size_t n = 0; n < outputs; ++n) {
      made.push_back(value(ir::ValueKind::kNodeOutput));
    }
    const ir::NodeId id = g.add_node(
        model.ops.intern(domain, op), ir::Graph::main_block(), "", inputs, made,
        model.arena.copy(std::span<const ir::Attribute>(attributes)));
    g.mutable_node(id).rank = id.index();
    return id;
  }
  ir::ValueId add(std::string_view op, std::vector<ir::ValueId> inputs,
                  std::vector<ir::Attribute> attributes = {}) {
    return g.output(node(op, std::move(inputs), std::move(attributes)));
  }

  std::string text(ir::Facts& facts, ir::ValueId v) {
    const ir::Type* found = facts.type(v);
    return found == nullptr ? "none" : type_text(model.dims, *found);
  }
  // "{B, -1, 64}", "none".
  std::string elements(ir::Facts& facts, ir::ValueId v) {
    const auto found = facts.dims_of(v);
    if (!found) return "none";
    std::string out = "{";
    for (std::size_t n = 0; n < found->size(); ++n) {
      out += (n > 0 ? ", " : "") + model.dims.text((*found)[n]);
    }
    return out + "}";
  }
  // The numbers of a constant as "float[2]: 1 2", "none".
  std::string constant(ir::Facts& facts, ir::ValueId v) {
    const ir::Literal* found = facts.constant(v);
    if (found == nullptr) return "none";
    std::string out(ir::data_type_name(found->dtype));
    for (std::int64_t d : found->dims) out += "[" + std::to_string(d) + "]";
    out += ":";
    const auto all = ir::to_doubles(*found, nullptr, 100);
    if (!all) return out + " ...";
    for (double d : *all) {
      std::string number = std::to_string(d);
      number.erase(number.find_last_not_of('0') + 1);
      if (number.ends_with(".")) number.pop_back();
      out += " " + number;
    }
    return out;
  }
};

}  // namespace ruleengine::analysis
