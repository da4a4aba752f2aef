#include "core/analysis/solver/solver.h"

#include <algorithm>

namespace ruleengine::analysis {
namespace {

constexpr int kMaxNesting = 8;
// In nodes, which are inferred again for each call.
constexpr std::size_t kMaxBody = 1000;

CallContext context_of(Solver& solver, const NodeView& view,
                       const ir::Function& function) {
  CallContext call;
  call.attributes = solver.graph().node(view.id()).attributes;
  call.defaults = function.attribute_defaults;
  call.opsets = &function.opset_imports;
  call.depth = solver.call() != nullptr ? solver.call()->depth + 1 : 1;
  for (std::size_t i = 0; i < view.input_count(); ++i) {
    call.inputs.push_back({view.input(i), view.constant(i), {}});
    if (const auto known = view.elements(i); known && !known->empty()) {
      call.inputs.back().elements.emplace(known->begin(), known->end());
    }
  }
  return call;
}

}  // namespace

bool visit_body(Solver& solver, const NodeView& view, ir::Function& function,
                const std::function<void(Solver& body)>& visit) {
  const std::size_t nodes = function.body.live_node_count();
  const int depth = solver.call() != nullptr ? solver.call()->depth : 0;
  if (nodes > kMaxBody || depth >= kMaxNesting || solver.spend(nodes)) {
    return false;
  }
  const CallContext call = context_of(solver, view, function);
  Solver body(function.body, solver.options(), &call);
  body.take_budget(solver);
  visit(body);
  if (body.has_doubts()) view.doubt();
  solver.take_budget(body);
  return true;
}

bool infer_function(Solver& solver, const NodeView& view, Outputs outputs) {
  ir::Function* f = solver.model().find_function(view.op());
  if (f == nullptr || f->body.live_node_count() > kMaxBody) return false;
  // Otherwise unknown: the function hides a standard op of that name.
  visit_body(solver, view, *f, [&](Solver& body) {
    const auto& results = f->body.block(ir::Graph::main_block()).outputs;
    for (std::size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
      const ir::Type* t = body.answer(results[i], Ask::kType).type;
      if (t == nullptr) continue;
      if (!t->is_tensor()) outputs[i].whole = t;
      outputs[i].elem = t->elem;
      if (t->has_shape) outputs[i].set_dims(t->dims);
    }
    for (Inferred& out : outputs) {
      for (ir::Dim& d : out.dims) {
        if (body.is_own_unknown(d)) d = kUnknown;
      }
    }
  });
  return true;
}

const CallContext::Given* Solver::given(ir::ValueId value) const {
  if (call_ == nullptr) return nullptr;
  const auto& inputs = graph_.block(ir::Graph::main_block()).inputs;
  // Formal inputs are the first values of a body.
  std::size_t place = value.index();
  if (place >= inputs.size() || inputs[place] != value) {
    const auto at = std::ranges::find(inputs, value);
    place = static_cast<std::size_t>(at - inputs.begin());
  }
  const bool is_given = place < inputs.size() && place < call_->inputs.size();
  return is_given ? &call_->inputs[place] : nullptr;
}

}  // namespace ruleengine::analysis
