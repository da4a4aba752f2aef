#include "core/analysis/cost.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/solver/solver.h"
#include "core/ops/op_row.h"

namespace ruleengine::analysis {
namespace {

using ir::NodeId;
using ir::ValueId;
using ops::OpRow;
using ops::SizedNode;

class Counter {
 public:
  Counter(ops::Sizes& sizes, Cost& cost) : sizes_(sizes), cost_(cost) {}

  void count(Solver& solver) {
    const ir::Graph& graph = solver.graph();
    for (const NodeId node : graph.live_nodes()) {
      if (!folds(solver, node)) count(solver, node);
    }
  }

 private:
  static bool folds(Solver& solver, NodeId node) {
    return std::ranges::all_of(solver.graph().outputs(node), [&](ValueId v) {
      return !v || solver.answer(v, Ask::kOrigin).origin == Origin::kConstant;
    });
  }

  void count(Solver& solver, NodeId node) {
    const ir::Graph& graph = solver.graph();
    for (const ir::Operand& o : graph.inputs(node)) ask(solver, o.value);
    for (const ValueId v : graph.outputs(node)) ask(solver, v);
    const NodeView view = solver.view(node);
    const OpRow* row = ops::find_row(view.op());
    if (row == nullptr && count_body(solver, view)) return;
    const SizedNode sized(view, sizes_);
    const double bytes =
        row != nullptr && row->roles.free ? 0 : bytes_moved(sized, row);
    const double products =
        row != nullptr && row->products != nullptr ? row->products(sized) : 0;
    if (std::isfinite(bytes)) cost_.bytes += bytes;
    if (std::isfinite(products)) cost_.products += products;
    cost_.unknown += std::isfinite(bytes) && std::isfinite(products) ? 0 : 1;
  }

  static void ask(Solver& solver, ValueId value) {
    if (value) solver.answer(value, Ask::kType);
  }

  bool count_body(Solver& solver, const NodeView& view) {
    ir::Function* called = solver.model().find_function(view.op());
    return called != nullptr && visit_body(solver, view, *called,
                                           [&](Solver& body) { count(body); });
  }

  static double bytes_moved(const SizedNode& sized, const OpRow* row) {
    const NodeView& v = sized.node;
    double written = 0;
    for (std::size_t i = 0; i < v.output_count(); ++i) {
      const ValueId value = v.graph().output(v.id(), i);
      // What nothing reads only keeps the place of an output.
      if (!value || v.graph().reader_count(value) == 0) continue;
      written += bytes_of(sized, v.output_type(i));
    }
    double out = written;
    for (std::size_t i = 0; i < v.input_count(); ++i) {
      const bool is_read =
          row == nullptr || i >= 32 || (row->types_only >> i & 1) == 0;
      if (!v.has_input(i) || !is_read) continue;
      const double read = bytes_of(sized, v.input(i));
      out +=
          row != nullptr && row->roles.picks && read > written ? written : read;
    }
    return out;
  }

  static double bytes_of(const SizedNode& sized, const ir::Type* type) {
    const int bits = type == nullptr ? 0 : ir::bit_width(type->elem);
    return bits == 0 ? SizedNode::kUnsized : sized.count(type) * bits / 8;
  }

  ops::Sizes& sizes_;
  Cost& cost_;
};

}  // namespace

Cost cost_of(ir::Model& model, ops::Sizes& sizes) {
  Cost cost;
  Solver solver(model.graph, {});
  Counter(sizes, cost).count(solver);
  return cost;
}

}  // namespace ruleengine::analysis
