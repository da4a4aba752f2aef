// Why a node cannot be: element types against the table of ops, then what the
// rule for its types has against it, and the ONNX library's word where no rule
// of ours follows the op.
#include <algorithm>
#include <map>

#include "core/analysis/solver/solver.h"
#include "core/ops/op_facts.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;

// Letters of inputs that may differ among themselves (bodies' own, extras).
bool is_free(const ops::FormalValue& formal) {
  return formal.arity == ops::Arity::kVariadic &&
         (formal.type == "V" || formal.type == "E");
}

std::string refused_elements(const NodeView& v) {
  const ops::OpFacts* op =
      ops::find_op(v.op().domain, v.op().type, static_cast<int>(v.opset()));
  if (op == nullptr) return {};
  std::map<std::string_view, DataType> by_letter;
  for (std::size_t i = 0; i < v.input_count(); ++i) {
    const ops::FormalValue* formal = op->input(i);
    const DataType elem = v.elem(i);
    if (formal == nullptr || elem == DataType::kUndefined) continue;
    const auto bit = static_cast<unsigned>(elem);
    const std::string name(ir::data_type_name(elem));
    if (formal->elems != 0 && (bit > 31 || (formal->elems >> bit & 1) == 0)) {
      return "input " + std::to_string(i + 1) + " cannot be " + name;
    }
    if (is_free(*formal)) continue;
    const auto [at, is_new] = by_letter.emplace(formal->type, elem);
    if (at->second != elem) {
      return "input " + std::to_string(i + 1) + " is " + name +
             " beside one that is " +
             std::string(ir::data_type_name(at->second));
    }
  }
  return {};
}

// The library takes a size that is missing for one that is wrong.
bool knows_inputs(const NodeView& v) {
  for (std::size_t i = 0; i < v.input_count(); ++i) {
    if (!v.has_input(i)) continue;
    const ir::Type* t = v.input(i);
    if (t == nullptr || (t->is_tensor() && !t->has_shape)) return false;
  }
  return std::ranges::none_of(
      v.attributes(), [](const ir::Attribute& a) { return !a.blocks.empty(); });
}

}  // namespace

std::optional<std::string> Solver::refusal(ir::NodeId node) {
  for (ir::ValueId v : graph_.outputs(node)) {
    if (v) answer(v, Ask::kType);
  }
  const NodeView view = this->view(node);
  if (view.blocked() || model().find_function(view.op()) != nullptr) {
    return std::nullopt;
  }
  std::string why = refused_elements(view);
  std::vector<Inferred> out(view.output_count());
  const ops::TypeRule* rule = rules_of(graph_.node(node).op).type;
  if (why.empty() && !out.empty()) {
    if (rule != nullptr && rule->infer(view, out)) {
      why = view.refusal();
    } else if (options_.use_schemas && knows_inputs(view)) {
      out.assign(out.size(), {});
      infer_by_schema(view, out, &why);
    }
  }
  return why.empty() ? std::nullopt : std::optional(std::move(why));
}

}  // namespace ruleengine::analysis
