#include "runtime/executor_impl.h"

#include <algorithm>
#include <new>
#include <ranges>

#include "core/io/load.h"
#include "core/ir/order.h"
#include "core/ops/axis_flow.h"
#include "runtime/inputs.h"

namespace ruleengine::runtime {
namespace {

bool has(ops::Inputs inputs, std::size_t i) {
  return i < 32 ? (inputs >> i & 1) != 0 : inputs == ops::kAll;
}

// The nodes whose results are only read on the host, such as the arithmetic of
// shapes.
std::vector<bool> host_nodes(const ir::Graph& graph, const Backends& backends) {
  const auto reads_on_host = [&](const ir::Op& op, std::size_t i) {
    return std::ranges::any_of(backends, [&](const Backend* each) {
      return each->memory() != nullptr && has(each->host_inputs(op), i);
    });
  };
  std::vector<bool> out(graph.node_count());
  enum class Read : std::uint8_t { kNever, kOnHost, kElsewhere };
  std::vector<Read> reads(graph.value_count());
  for (std::size_t b = 0; b < graph.block_count(); ++b) {
    for (const ValueId v : graph.block(ir::BlockId(b)).outputs) {
      if (v) reads[v.index()] = Read::kElsewhere;
    }
  }
  const auto order = ir::topological_order(graph);
  for (const ir::NodeId node : std::views::reverse(*order)) {
    bool is_read = false, elsewhere = false;
    for (const ValueId v : graph.outputs(node)) {
      is_read = is_read || (v && reads[v.index()] == Read::kOnHost);
      elsewhere = elsewhere || (v && reads[v.index()] == Read::kElsewhere);
    }
    out[node.index()] = is_read && !elsewhere;
    const auto inputs = graph.inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].value) continue;
      Read& read = reads[inputs[i].value.index()];
      const bool here = out[node.index()] || reads_on_host(graph.op(node), i);
      if (!here) read = Read::kElsewhere;
      if (here && read == Read::kNever) read = Read::kOnHost;
    }
  }
  return out;
}

}  // namespace

// All nodes, but those of a wide run: it knows no weight as a double, and noise
// is_mixed attributes. What cannot be prepared fails when it is to run.
void Executor::Impl::prepare() {
  // For longer than a run, in the place of weights that no limit counts.
  state.memory = HostMemory::create();
  ModelTypes types(model);
  for (Plan* plan : plans->all()) {
    const ir::Graph& graph = *plan->graph;
    const auto is_host =
        is_mixed ? host_nodes(graph, options.backends) : std::vector<bool>();
    for (const std::vector<Step>& steps : plan->blocks) {
      for (const Step& step : steps) {
        if (step.function != nullptr || options.wide) continue;
        try {
          prepare(*plan, step, is_mixed && is_host[step.node.index()],
                  types.of(graph));
        } catch (const Declined&) {
          declined.emplace_back(&graph, step.node);
        } catch (const Failure&) {
        } catch (const std::bad_alloc&) {
        }
      }
    }
    for (Constant& each : plan->constants) read(each);
  }
  io::release_memory(model);
  state.memory = memory;
}

// The pages of the file that were read are given back now and then: what is
// copied or arranged would be there twice.
void Executor::Impl::read(Constant& constant) {
  if (!constant.value.is_absent()) return;
  constant.value = to_tensor(*constant.literal, model);
  constexpr std::size_t kStride = std::size_t{16} << 20;
  bytes_read += constant.value.tensor().byte_size();
  if (bytes_read < kStride) return;
  bytes_read = 0;
  io::release_memory(model);
}

void Executor::Impl::prepare(Plan& plan, const Step& step, bool on_host,
                             ValueTypes& types) {
  const ir::Graph& graph = *plan.graph;
  SmallVector<Constant*, 8> constants;
  SmallVector<const Datum*, 8> known;
  for (const ir::Operand& o : graph.inputs(step.node)) {
    const std::int32_t at = o.value ? plan.constant_of[o.value.index()] : -1;
    // The value of an initializer that is an input, too, may be given.
    const bool is_constant =
        at >= 0 && graph.value(o.value).kind == ir::ValueKind::kInitializer;
    constants.push_back(
        is_constant ? &plan.constants[static_cast<std::size_t>(at)] : nullptr);
    if (is_constant) read(*constants.back());
    known.push_back(is_constant ? &constants.back()->value : nullptr);
  }
  ReadyStep& made = ready[step.id];
  made = prepared(ops::NodeView(graph, step.node, step.opset),
                  {.constants = {known.data(), known.size()}, .types = &types},
                  on_host);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (!made.node->is_released(i)) continue;
    Constant& constant = *constants[i];
    if (--constant.readers > 0) continue;
    constant.value = constant.value.tensor().without_bytes();
  }
}

// By the first kernel that takes it.
ReadyStep Executor::Impl::prepared(const ops::NodeView& view,
                                   const KnownInputs& known, bool on_host) {
  const ir::Op& op = view.op();
  std::string reasons;
  for (const Backend* each : options.backends) {
    const bool is_asked = each->memory() == nullptr || (is_mixed && !on_host);
    if (!is_asked || !each->has_kernel(op.domain, op.type)) continue;
    ReadyStep out{.backend = each, .place = each->memory()};
    try {
      out.node = each->prepare(view, known, state);
    } catch (const Declined& declined_by) {
      if (!reasons.empty()) reasons += "; ";
      reasons += std::string(each->name()) + ": " + declined_by.reason;
      continue;
    }
    const std::size_t inputs = view.graph().inputs(view.id()).size();
    for (std::size_t i = 0; is_mixed && i < inputs; ++i) {
      using enum ReadyStep::Where;
      const bool anywhere =
          out.node->is_released(i) || ops::reads_type_only(op, i);
      const bool here = out.place == nullptr || has(each->host_inputs(op), i);
      out.inputs.push_back(anywhere ? kAnywhere : here ? kHost : kPlace);
    }
    return out;
  }
  decline(std::move(reasons));
}

// Inputs that are elsewhere become copies where the step reads them, which stay
// as long as the values.
void Executor::Impl::bring(Frame& frame, const Step& step,
                           std::span<Datum*> inputs) {
  const ReadyStep& how = ready[step.id];
  const auto operands = frame.plan.graph->inputs(step.node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    using enum ReadyStep::Where;
    if (inputs[i] == nullptr || !inputs[i]->is_tensor()) continue;
    const auto where = i < how.inputs.size() ? how.inputs[i] : kHost;
    Memory* place = where == kPlace ? how.place : nullptr;
    const Tensor& t = inputs[i]->tensor();
    if (where == kAnywhere || t.place() == place) continue;
    const ValueId v = operands[i].value;
    Datum& copy = frame.is_constant(v) ? constant_copies[{inputs[i], place}]
                                       : frame.copies[{v, place}];
    if (copy.is_absent()) copy = Datum(moved(t, state, place));
    inputs[i] = &copy;
  }
}

Datum Executor::Impl::on_host(const Datum& value) {
  if (!value.is_tensor()) return value;
  return Datum(moved(value.tensor(), state, nullptr));
}

std::vector<Datum> Executor::Impl::run_block(Frame& frame, ir::BlockId id,
                                             std::vector<Datum> inputs) {
  const ir::Graph& graph = *frame.plan.graph;
  const ir::Block& block = graph.block(id);
  for (std::size_t i = 0; i < block.inputs.size(); ++i) {
    if (i < inputs.size()) {
      frame.values[block.inputs[i].index()] = std::move(inputs[i]);
    }
  }
  inputs.clear();
  const std::vector<Step>& steps = frame.plan.blocks[id.index()];
  const bool is_main = &graph == &model.graph && id == graph.main_block();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    run_step(frame, steps[i]);
    if (is_main && options.progress) options.progress(i + 1, steps.size());
  }
  std::vector<Datum> outputs;
  for (const ValueId v : block.outputs) {
    const Datum& value = *frame.slot(v);
    outputs.push_back(options.wide ? as_doubles(value, state) : value);
  }
  // What no step has read last.
  for (const ValueId v : block.inputs) frame.clear(v);
  for (const ValueId v : block.outputs) {
    if (graph.value(v).block == id) frame.clear(v);
  }
  return outputs;
}

void Executor::Impl::run_step(Frame& frame, const Step& step) {
  const ir::Graph& graph = *frame.plan.graph;
  const ops::NodeView view(graph, step.node, step.opset);
  const auto begin = options.trace ? Clock::now() : Clock::time_point();
  SmallVector<Datum*, 8> inputs;
  try {
    check();
    const auto operands = graph.inputs(step.node);
    std::vector<Datum> widened;  // constants
    widened.reserve(options.wide ? operands.size() : 0);
    for (const ir::Operand& o : operands) {
      Datum* value = frame.slot(o.value);
      // An output of an optional kind that its node did not compute.
      if (value != nullptr && value->is_absent()) value = nullptr;
      if (options.wide && value != nullptr && frame.is_constant(o.value)) {
        widened.push_back(widened_constant(frame, o.value, *value));
        value = &widened.back();
      }
      inputs.push_back(value);
    }
    const bool is_kernel = step.function == nullptr;
    if (is_mixed && is_kernel) {
      bring(frame, step, {inputs.data(), inputs.size()});
    }
    const std::size_t count = view.output_count();
    Datum one;  // without an allocation where there are no more
    std::vector<Datum> more(count > 1 ? count : 0);
    const std::span<Datum> outputs =
        count > 1 ? std::span<Datum>(more) : std::span(&one, 1);
    const std::span<Datum* const> given(inputs.data(), inputs.size());
    const std::span<const bool> dying(step.dying.data(), step.dying.size());
    if (is_kernel) {
      const auto run = options.wide ? &Impl::run_wide : &Impl::run_kernel;
      (this->*run)(frame, step, view, given, dying, outputs);
    } else {
      run_function(step, given, outputs);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId v = graph.outputs(step.node)[i];
      if (v) frame.values[v.index()] = std::move(outputs[i]);
    }
    for (const ValueId v : step.dead) {
      frame.clear(v);
      if (options.wide) frame.known.erase(v);
    }
  } catch (Failure& failure) {
    // The node, and in a function also those that call it.
    const bool is_inner = step.function != nullptr;
    std::string& where = failure.error.where;
    if (where.empty() || is_inner) {
      if (!where.empty()) where += ", in ";
      where += graph.describe(step.node);
      const std::string given =
          inputs_text(view, {inputs.data(), inputs.size()});
      if (!given.empty()) where += " (" + given + ")";
    }
    throw;
  }
  if (options.trace) {
    if (const Backend* each = ready[step.id].backend) each->finish();
    const auto since = [&](Clock::time_point at) {
      return std::chrono::duration<double>(at - began).count();
    };
    options.trace(graph, step.node, since(begin), since(Clock::now()));
  }
}

void Executor::Impl::run_kernel(Frame& frame, const Step& step,
                                const ops::NodeView& view,
                                std::span<Datum* const> inputs,
                                std::span<const bool> dying,
                                std::span<Datum> outputs) {
  Blocks blocks(*this, frame);
  const ReadyStep& known = ready[step.id];
  Call call(view, inputs, outputs, state, &blocks, known.place);
  call.set_dying(dying);
  if (known.node != nullptr) return known.node->run(call);
  try {
    prepared(view, {}, true).node->run(call);
  } catch (Declined& declined_by) {
    fail("no kernel takes the node", {}, std::move(declined_by.reason));
  }
}

void Executor::Impl::run_function(const Step& step,
                                  std::span<Datum* const> inputs,
                                  std::span<Datum> outputs) {
  Frame frame(*step.function);
  const ir::BlockId main = ir::Graph::main_block();
  std::vector<Datum> given;
  for (Datum* each : inputs) given.push_back(each ? *each : Datum());
  auto results = run_block(frame, main, std::move(given));
  for (std::size_t i = 0; i < std::min(results.size(), outputs.size()); ++i) {
    outputs[i] = std::move(results[i]);
  }
}

Executor::Executor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(const ir::Model& model,
                                                   ExecutorOptions options) {
  OpChoice choice{.backends = options.backends,
                  .prefers_functions = options.prefers_functions,
                  .spells_gelu = options.spells_gelu,
                  .declined = {}};
  std::vector<std::shared_ptr<const ir::Model>> lowered;
  std::unique_ptr<Impl> impl;
  // A node that all kernels decline runs by its meaning, of which they may
  // decline nodes again.
  do {
    auto next = lower(lowered.empty() ? model : *lowered.back(), choice);
    if (!next) return next.error();
    if (impl != nullptr && next->replaced == 0) break;
    if (next->model != nullptr) lowered.push_back(next->model);
    const ir::Model& runs = lowered.empty() ? model : *lowered.back();
    auto plans = Plans::make(runs, choice, next->reasons);
    if (!plans) return plans.error();
    impl = std::make_unique<Impl>(runs, options, *std::move(plans));
    impl->lowered = lowered;
    try {
      impl->prepare();
    } catch (const Failure& failure) {
      return failure.error;
    }
    choice.declined = impl->declined;
  } while (!choice.declined.empty());
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

Result<Executor::Named> Executor::Impl::run(const Named& inputs) {
  const ir::Graph& graph = model.graph;
  state.seed = options.seed;
  state.drawn.clear();
  began = Clock::now();
  memory->reset_peak();
  try {
    std::vector<Datum> given = bind_inputs(model, inputs);
    if (options.wide) {
      for (Datum& each : given) {
        each = as_doubles(each, state);
        if (state.noise != nullptr) each = state.noise->input(each);
      }
    }
    // A run that fails leaves values behind.
    std::unique_ptr<Frame> frame = std::move(idle);
    if (!frame) frame = std::make_unique<Frame>(plans->main());
    auto results = run_block(*frame, ir::Graph::main_block(), std::move(given));
    if (!options.wide) idle = std::move(frame);
    for (const Backend* each : options.backends) each->finish();
    Named out;
    out.reserve(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      out.emplace_back(
          graph.name(graph.block(ir::Graph::main_block()).outputs[i]),
          on_host(results[i]));
    }
    return out;
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return Diagnostic{.kind = ErrorKind::kLimit,
                      .what = "the machine has too little memory for the run"};
  }
}

Result<Executor::Named> Executor::run(const Named& inputs) {
  return impl_->run(inputs);
}

Result<Executor::Named> Executor::run_with_noise(const Named& inputs,
                                                 const Noise& noise) {
  NoiseSource source(noise, impl_->state);
  impl_->state.noise = &source;
  auto out = impl_->run(inputs);
  impl_->state.noise = nullptr;
  return out;
}

const ir::Model& Executor::model() const { return impl_->model; }

Result<Executor::Named> Executor::run_redrawn(const Named& inputs,
                                              const DrawnCounts& alike) {
  impl_->state.alike = &alike;
  auto out = impl_->run(inputs);
  impl_->state.alike = nullptr;
  return out;
}

const DrawnCounts& Executor::drawn() const { return impl_->state.drawn; }

std::size_t Executor::peak_bytes() const { return impl_->memory->peak(); }
std::size_t Executor::held_bytes() const { return impl_->memory->held(); }

}  // namespace ruleengine::runtime
