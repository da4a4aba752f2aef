#include "core/analysis/solver/functions.h"

#include <algorithm>

namespace ruleengine::analysis {
namespace {

constexpr int kMaxNesting = 8;
constexpr std::size_t kMaxBody =
    1000;  // nodes; they are inferred again for each call

std::optional<std::size_t> formal_place(const Solver& solver,
                                        ir::ValueId value) {
  if (solver.call() == nullptr) return std::nullopt;
  const auto& inputs = solver.graph().block(ir::Graph::main_block()).inputs;
  // Formal inputs are the first values of a body.
  std::size_t place = value.index();
  if (place >= inputs.size() || inputs[place] != value) {
    const auto at = std::find(inputs.begin(), inputs.end(), value);
    if (at == inputs.end()) return std::nullopt;
    place = static_cast<std::size_t>(at - inputs.begin());
  }
  if (place >= solver.call()->types.size()) return std::nullopt;
  return place;
}

CallContext context_of(Solver& solver, const NodeView& view,
                       const ir::Function& function) {
  CallContext call;
  call.attributes = solver.graph().node(view.id()).attributes;
  call.defaults = function.attribute_defaults;
  call.opsets = &function.opset_imports;
  call.depth = solver.call() != nullptr ? solver.call()->depth + 1 : 1;
  for (std::size_t i = 0; i < view.input_count(); ++i) {
    call.types.push_back(view.input(i));
    call.constants.push_back(view.constant(i));
    std::vector<ir::Dim> elements;
    if (const auto known = view.elements(i)) {
      elements.assign(known->begin(), known->end());
    }
    call.elements.push_back(std::move(elements));
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
  body.share_budget(solver);
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

const ir::Type* bound_input_type(const Solver& solver, ir::ValueId value) {
  const auto place = formal_place(solver, value);
  return place ? solver.call()->types[*place] : nullptr;
}

const ir::Literal* bound_input_constant(const Solver& solver,
                                        ir::ValueId value) {
  const auto place = formal_place(solver, value);
  return place ? solver.call()->constants[*place] : nullptr;
}

MaybeElements bound_input_elements(const Solver& solver, ir::ValueId value) {
  const auto place = formal_place(solver, value);
  if (!place || solver.call()->elements[*place].empty()) return std::nullopt;
  return solver.call()->elements[*place];
}

}  // namespace ruleengine::analysis
