// Runs one precision up (runtime/widening.h).
#include <algorithm>
#include <unordered_set>

#include "core/ir/narrow_float.h"
#include "core/ops/op_facts.h"
#include "runtime/executor_impl.h"

namespace ruleengine::runtime {
namespace {

bool has_blocks(const ir::Graph& graph, ir::NodeId node) {
  return std::ranges::any_of(
      graph.node(node).attributes,
      [](const ir::Attribute& a) { return !a.blocks.empty(); });
}

}  // namespace

void Executor::Impl::find_known() {
  const Plan& plan = plans->main();
  const ir::Graph& graph = *plan.graph;
  std::unordered_set<ValueId> known;
  for (const Step& step : plan.blocks[graph.main_block().index()]) {
    const auto inputs = graph.inputs(step.node);
    const bool is_one = step.function == nullptr && !inputs.empty() &&
                        !has_blocks(graph, step.node) &&
                        std::ranges::all_of(inputs, [&](const ir::Operand& o) {
                          return !o.value ||
                                 plan.constant_of[o.value.index()] >= 0 ||
                                 known.contains(o.value);
                        });
    if (!is_one) continue;
    is_known[step.id] = true;
    for (const ValueId v : graph.outputs(step.node)) known.insert(v);
  }
}

Datum Executor::Impl::widened_constant(const Frame& frame, ValueId v,
                                       const Datum& own) {
  Datum doubles = as_doubles(own, state);
  if (state.noise == nullptr || !own.is_tensor()) return doubles;
  const auto at = static_cast<std::size_t>(frame.plan.constant_of[v.index()]);
  return state.noise->constant(doubles, *frame.plan.constants[at].literal,
                               model);
}

void Executor::Impl::run_wide(Frame& frame, const Step& step,
                              std::span<const Datum* const> inputs,
                              std::span<Datum> outputs) {
  const ops::NodeView& view = step.view;
  if (has_blocks(view.graph(), step.node)) {
    return run_kernel(frame, step, inputs, outputs, step.dying);
  }
  bool in_float = is_known[step.id];
  if (!in_float) {
    try {
      run_kernel(frame, step, inputs, outputs, step.dying);
    } catch (const Failure& failure) {
      if (failure.error.kind == ErrorKind::kLimit) throw;
      in_float = true;  // its kernel has no double
    }
  }
  if (in_float) run_in_float(frame, step, inputs, outputs);
  if (is_known[step.id]) {
    for (std::size_t i = 0; i < view.output_count(); ++i) {
      const ValueId v = view.graph().outputs(step.node)[i];
      if (v) frame.known[v] = outputs[i];
    }
  }
  const ops::Roles roles = ops::roles_of(view.op());
  const bool moves = roles.moves || roles.joins;
  for (Datum& each : outputs) {
    each = as_doubles(each, state);
    if (state.noise == nullptr || moves) continue;
    each = in_float ? state.noise->of_float(each) : state.noise->result(each);
  }
}

// The kernel on inputs of the types that the model gives them.
void Executor::Impl::run_in_float(Frame& frame, const Step& step,
                                  std::span<const Datum* const> inputs,
                                  std::span<Datum> outputs) {
  const ir::Graph& graph = step.view.graph();
  const auto operands = graph.inputs(step.node);
  std::vector<Datum> own(inputs.size());
  std::vector<const Datum*> given(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    const ValueId v = operands[i].value;
    given[i] = &own[i];
    const auto known = frame.known.find(v);
    if (frame.is_constant(v) || known != frame.known.end()) {
      const Datum& constant =
          known != frame.known.end() ? known->second : *frame.slot(v);
      own[i] = state.noise == nullptr || !constant.is_tensor()
                   ? constant
                   : as_type(*inputs[i], constant.tensor().dtype(), state);
      continue;
    }
    const ir::Type* declared = graph.value(v).declared;
    const bool is_narrow = declared != nullptr && declared->is_tensor() &&
                           ir::is_narrow_float(declared->elem);
    own[i] = as_type(
        state.noise != nullptr ? state.noise->of_float(*inputs[i]) : *inputs[i],
        is_narrow ? declared->elem : DataType::kFloat, state);
  }
  for (Datum& each : outputs) each = Datum();
  struct InFloat {
    explicit InFloat(KernelRun& r) : run(r) { run.wide = false; }
    ~InFloat() { run.wide = true; }
    KernelRun& run;
  };
  const InFloat now(state);
  run_kernel(frame, step, given, outputs);
}

}  // namespace ruleengine::runtime
