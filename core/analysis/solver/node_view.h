// NodeView: one node as the rules for types and elements see it: its op, its
// attributes, and what is already known of its inputs. Looking never works
// anything out: the Solver did that before. A view lives for one call.
// Internal to core/analysis.
#ifndef RULEENGINE_CORE_ANALYSIS_SOLVER_NODE_VIEW_H_
#define RULEENGINE_CORE_ANALYSIS_SOLVER_NODE_VIEW_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/analysis/solver/memo.h"
#include "core/base/small_vector.h"
#include "core/ir/model.h"
#include "core/ops/op_facts.h"

namespace ruleengine::analysis {

class Solver;

using Dims = SmallVector<ir::Dim, 6>;

// A type in the making. Axes may be kUnknown.
struct Inferred {
  ir::DataType elem = ir::DataType::kUndefined;
  bool ranked = false;
  Dims dims;
  const ir::Type* whole = nullptr;  // instead: this one (not a tensor)

  void set_dims(std::span<const ir::Dim> d) {
    ranked = true;
    dims.assign(d);
  }
};

class NodeView {
 public:
  NodeView(Solver& solver, ir::NodeId node);

  // In a function body without a call: attributes are not known.
  bool blocked() const;

  ir::NodeId id() const { return node_; }
  const ir::Op& op() const { return op_; }
  std::int64_t opset() const { return opset_; }  // of the op's domain
  ir::DimTable& dims() const;
  ir::Graph& graph() const;

  std::size_t input_count() const;
  std::size_t output_count() const;
  bool has_input(std::size_t i) const;
  bool has_output(std::size_t i) const;

  // nullptr when absent or unknown.
  const ir::Type* input(std::size_t i) const;
  // The type of an output, if the question is not about it.
  const ir::Type* output_type(std::size_t i) const;
  // A tensor of known rank.
  bool ranked(std::size_t i) const;
  std::span<const ir::Dim> shape(std::size_t i) const;  // when ranked
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  ir::DataType elem(std::size_t i) const;  // kUndefined when unknown

  // Elements of a small integer input; single ones may be kUnknown.
  std::optional<std::span<const ir::Dim>> elements(std::size_t i) const;
  // The same when all are known numbers.
  std::optional<std::vector<std::int64_t>> ints(std::size_t i) const;
  const ir::Tensor* constant(std::size_t i) const;

  // The attribute, that of the call where a function body refers to one;
  // nullptr when absent.
  const ir::Attribute* attribute(std::string_view name) const;
  // As written, or the schema's default; 0 or "" where it has none.
  std::int64_t attribute_int(std::string_view name) const;
  std::string_view attribute_string(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> attribute_ints(
      std::string_view name) const;

  // Up to opset `until` an attribute, then input `i` (Squeeze's axes). Outer
  // none: there, but not known; inner none: absent.
  using MaybeInts = std::optional<std::vector<std::int64_t>>;
  std::optional<MaybeInts> ints_of(std::string_view name, std::size_t i) const;

  Solver& solver() const { return solver_; }

  // The node cannot be: what a rule for types says beside its answer, since
  // files are read whatever they say. The first reason stays; it is a literal.
  void refuse(std::string_view why) const {
    if (refusal_.empty()) refusal_ = why;
  }
  std::string_view refusal() const { return refusal_; }

 private:
  const ir::FormalAttribute* formal(std::string_view attribute) const;

  Solver& solver_;
  ir::NodeId node_;
  const ir::Op& op_;
  std::int64_t opset_;
  mutable std::string_view refusal_;
};

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_SOLVER_NODE_VIEW_H_
