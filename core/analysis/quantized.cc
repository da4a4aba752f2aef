#include "core/analysis/quantized.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/ir/model.h"
#include "core/ops/op_row.h"

namespace ruleengine::analysis {
namespace {

using ir::NodeId;
using ir::ValueId;

// The most views or readers that are followed, which bounds the work.
constexpr int kFarQuantizer = 64;

class QuantizedCheck {
 public:
  QuantizedCheck(const ir::Graph& graph, ir::Facts& facts)
      : graph_(graph), facts_(facts) {}

  // Whether a factor is stored as integers, or quantized from a constant.
  bool has_weight(NodeId product) const {
    const NodeId from = dequantizer(graph_, graph_.input(product, 1));
    if (!from) return false;
    ValueId stored = graph_.input(from, 0);
    const NodeId maker = graph_.producer(stored);
    if (maker && ops::roles_of(graph_.op(maker)).quantizes) {
      stored = graph_.input(maker, 0);
    }
    return stored && facts_.is_constant(stored);
  }

  // Whether at least one input is dequantized, and no other one is a computed
  // float.
  bool has_dequantized_inputs(NodeId node) const {
    bool any = false;
    for (const ir::Operand& in : graph_.inputs(node)) {
      if (!in.value) continue;
      if (dequantizer(graph_, in.value)) {
        any = true;
      } else if (may_be_float(in.value) && !facts_.is_constant(in.value)) {
        return false;
      }
    }
    return any;
  }

  bool has_dequantized_factors(NodeId product) const {
    return dequantizer(graph_, graph_.input(product, 0)) &&
           dequantizer(graph_, graph_.input(product, 1));
  }

  bool is_read_by_quantizers(NodeId node) {
    left_ = kFarQuantizer;
    for (ValueId v : graph_.outputs(node)) {
      if (v && !goes_to_quantizers(v)) return false;
    }
    return true;
  }

 private:
  bool may_be_float(ValueId v) const {
    const ir::Type* type = facts_.type(v);
    return type == nullptr || !type->is_tensor() ||
           type->elem == ir::DataType::kUndefined || ir::is_float(type->elem);
  }

  bool goes_to_quantizers(ValueId v) {
    const ir::Value& value = graph_.value(v);
    if (value.block_output_count > 0 || value.use_count == 0) return false;
    for (auto u = graph_.first_use(v); u; u = graph_.next_use(u)) {
      if (--left_ < 0) return false;
      const NodeId reader = graph_.operand(u).user;
      const ops::Roles roles = ops::roles_of(graph_.op(reader));
      if (roles.quantizes) continue;
      // Runtimes merge constant bounds into the range of QuantizeLinear.
      const bool merges = roles.bounds && !roles.broadcasts;
      if (!roles.passes_quantizers && !merges) return false;
      if (!goes_to_quantizers(graph_.output(reader))) return false;
    }
    return true;
  }

  const ir::Graph& graph_;
  ir::Facts& facts_;
  int left_ = 0;
};

}  // namespace

NodeId dequantizer(const ir::Graph& graph, ValueId v) {
  for (int far = 0; far < kFarQuantizer; ++far) {
    const NodeId node = graph.producer(v);
    if (!node) break;
    const ops::Roles roles = ops::roles_of(graph.op(node));
    if (roles.dequantizes) return node;
    if (!roles.passes_quantizers) break;
    v = graph.input(node, 0);
  }
  return {};
}

bool is_quantizer(const ir::Op& op) {
  const ops::Roles roles = ops::roles_of(op);
  return roles.quantizes || roles.dequantizes;
}

bool may_be_quantized(const ir::Model& model) {
  static const std::vector<const ops::OpRow*> kRows = [] {
    std::vector<const ops::OpRow*> out;
    std::ranges::copy_if(
        ops::all_rows(), std::back_inserter(out),
        [](const ops::OpRow* row) { return row->roles.dequantizes; });
    return out;
  }();
  return std::ranges::any_of(kRows, [&](const ops::OpRow* row) {
    return model.ops.find(row->domain, row->type).valid();
  });
}

bool is_quantized(const ir::Graph& graph, ir::Facts& facts, NodeId node) {
  const ir::Op& op = graph.op(node);
  const ops::OpRow* row = ops::find_row(op);
  if (row == nullptr || !row->roles.integers) return false;
  QuantizedCheck check(graph, facts);
  if (row->products != nullptr &&
      (check.has_dequantized_factors(node) || check.has_weight(node))) {
    return true;
  }
  return check.has_dequantized_inputs(node) &&
         check.is_read_by_quantizers(node);
}

}  // namespace ruleengine::analysis
