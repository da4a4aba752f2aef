// NodeView: one node as the rules of ops see it: its op, its inputs and
// outputs by place or by the schema's name, its attributes with the schema's
// defaults, and what is already known of the values around it. Looking never
// works anything out: whoever made the view did that before. A view lives for
// one call and owns nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/small_vector.h"
#include "core/ir/model.h"
#include "core/ops/op_facts.h"

namespace ruleengine::ops {

// A size, or an element of an integer tensor, that is not known.
inline constexpr ir::Dim kUnknown = ir::Dim::expression(0xffffffffu);

// Tensors with more elements are not followed element by element.
inline constexpr std::int64_t kMaxElements = 64;

// What is known of values.
class Known {
 public:
  // nullptr where nothing is known.
  virtual const ir::Type* type(ir::ValueId value) const = 0;
  // Elements of a small integer tensor; single ones may be kUnknown.
  virtual std::optional<std::span<const ir::Dim>> elements(
      ir::ValueId value) const = 0;
  // What the value folds to, where that does not stand in the graph.
  virtual const ir::Literal* constant(ir::ValueId value) const = 0;
  // The unknown that a broadcast of these two gives: the same for all.
  virtual ir::Dim pair_unknown(ir::Dim a, ir::Dim b) = 0;
  // Two expressions of one size.
  virtual void equate(ir::Dim, ir::Dim) {}

 protected:
  ~Known() = default;
};

// Where nothing is known.
Known& nothing_known();

// The attributes of a call for which a function's body is looked at.
struct CallAttributes {
  std::span<const ir::Attribute> attributes;  // of the call
  std::span<const ir::Attribute> defaults;    // of the function
};

class NodeView {
 public:
  // `opset`: the version of the op's domain.
  NodeView(const ir::Graph& graph, ir::NodeId node, std::int64_t opset,
           Known& known = nothing_known(), const CallAttributes* call = nullptr)
      : graph_(graph),
        node_(node),
        op_(graph.op(node)),
        opset_(opset),
        known_(known),
        call_(call) {}

  // In a function body without a call: attributes are not known.
  bool blocked() const;

  ir::NodeId id() const { return node_; }
  const ir::Op& op() const { return op_; }
  std::int64_t opset() const { return opset_; }
  const ir::Graph& graph() const { return graph_; }
  ir::Model& model() const { return graph_.model(); }
  ir::DimTable& dims() const { return model().dims; }
  Known& known() const { return known_; }

  std::size_t input_count() const { return graph_.inputs(node_).size(); }
  std::size_t output_count() const { return graph_.outputs(node_).size(); }
  bool has_input(std::size_t i) const { return graph_.input(node_, i).valid(); }
  bool has_output(std::size_t i) const {
    return graph_.output(node_, i).valid();
  }
  // By the name of the formal input.
  bool has_input(std::string_view name) const;

  // nullptr when absent or unknown.
  const ir::Type* input(std::size_t i) const {
    return known_.type(graph_.input(node_, i));
  }
  // The type of an output, if the question is not about it.
  const ir::Type* output_type(std::size_t i) const {
    return known_.type(graph_.output(node_, i));
  }
  // A tensor of known rank.
  bool ranked(std::size_t i) const;
  std::span<const ir::Dim> shape(std::size_t i) const;  // when ranked
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  ir::DataType elem(std::size_t i) const;  // kUndefined when unknown

  // Elements of a small integer input; single ones may be kUnknown.
  std::optional<std::span<const ir::Dim>> elements(std::size_t i) const {
    return known_.elements(graph_.input(node_, i));
  }
  // The same when all are known numbers.
  std::optional<std::vector<std::int64_t>> ints(std::size_t i) const;
  const ir::Literal* constant(std::size_t i) const;

  // The attributes that are written.
  std::span<const ir::Attribute> attributes() const {
    return graph_.node(node_).attributes;
  }
  // The attribute, that of the call where a function body refers to one;
  // nullptr when absent.
  const ir::Attribute* attribute(std::string_view name) const;
  // Whether any version of the op has such an attribute.
  bool may_have(std::string_view attribute) const {
    return formal(attribute) != nullptr;
  }
  // As written, or the schema's default; 0, "" or none where it has none.
  std::int64_t attribute_int(std::string_view name) const;
  float attribute_float(std::string_view name) const;
  std::string_view attribute_string(std::string_view name) const;
  std::vector<float> attribute_floats(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> attribute_ints(
      std::string_view name) const;

  // An attribute in older opsets, then input `i` (Squeeze's axes). Outer none:
  // there, but not known; inner none: absent.
  using MaybeInts = std::optional<std::vector<std::int64_t>>;
  std::optional<MaybeInts> ints_of(std::string_view name, std::size_t i) const;

  // The node cannot be: what a rule for types says beside its answer, since
  // files are read whatever they say. The first reason stays; it is a literal.
  void refuse(std::string_view why) const {
    if (refusal_.empty()) refusal_ = why;
  }
  std::string_view refusal() const { return refusal_; }

  // The type that a rule gives is wrong where a size that is computed is 0,
  // unless the model cannot run then.
  void doubt() const { doubted_ = true; }
  bool is_doubted() const { return doubted_; }

 private:
  const FormalAttribute* formal(std::string_view attribute) const;

  const ir::Graph& graph_;
  ir::NodeId node_;
  const ir::Op& op_;
  std::int64_t opset_;
  Known& known_;
  const CallAttributes* call_;
  mutable std::string_view refusal_;
  mutable bool doubted_ = false;
};

}  // namespace ruleengine::ops
