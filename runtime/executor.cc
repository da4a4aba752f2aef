#include "runtime/executor_impl.h"

#include <algorithm>
#include <new>
#include <optional>

#include "runtime/joining.h"

namespace ruleengine::runtime {
namespace {

constexpr const char* kTooLittle =
    "the machine has too little memory for the run";

// The node that failed, and in a function also those that call it.
void add_place(Diagnostic& error, const Step& step,
               std::span<const Datum* const> inputs) {
  std::string& where = error.where;
  if (!where.empty() && step.function == nullptr) return;
  if (!where.empty()) where += ", in ";
  where += step.view.graph().describe(step.node);
  const std::string given = inputs_text(step.view, inputs);
  if (!given.empty()) where += " (" + given + ")";
}

}  // namespace

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

// `widened`: where constants of a wide run are.
void Executor::Impl::read_inputs(const Frame& frame, const Step& step,
                                 SmallVector<const Datum*, 8>& inputs,
                                 std::vector<Datum>& widened) {
  const auto operands = frame.plan.graph->inputs(step.node);
  if (options.wide) widened.reserve(operands.size());
  for (const ir::Operand& o : operands) {
    const Datum* value = frame.slot(o.value);
    // An output of an optional kind that its node did not compute.
    if (value != nullptr && value->is_absent()) value = nullptr;
    if (options.wide && value != nullptr && frame.is_constant(o.value)) {
      widened.push_back(widened_constant(frame, o.value, *value));
      value = &widened.back();
    }
    inputs.push_back(value);
  }
}

void Executor::Impl::run_step(Frame& frame, const Step& step) {
  const ir::Graph& graph = *frame.plan.graph;
  const auto begin = options.trace ? Clock::now() : Clock::time_point();
  SmallVector<const Datum*, 8> inputs;
  try {
    check();
    std::vector<Datum> widened;
    read_inputs(frame, step, inputs, widened);
    const bool is_kernel = step.function == nullptr;
    const std::span<const Datum*> given(inputs.data(), inputs.size());
    if (is_mixed && is_kernel) bring(frame, step, given);
    const auto made = graph.outputs(step.node);
    const bool is_one = made.size() == 1 && made[0];
    std::vector<Datum> more(is_one ? 0 : std::max<std::size_t>(made.size(), 1));
    const std::span<Datum> outputs =
        is_one ? std::span(&frame.values[made[0].index()], 1)
               : std::span<Datum>(more);
    if (!is_kernel) {
      run_function(step, given, outputs);
    } else if (options.wide) {
      run_wide(frame, step, given, outputs);
    } else {
      run_kernel(frame, step, given, outputs, step.dying);
    }
    for (std::size_t i = 0; !is_one && i < made.size(); ++i) {
      if (made[i]) frame.values[made[i].index()] = std::move(outputs[i]);
    }
    for (const ValueId v : step.dead) {
      frame.clear(v);
      if (options.wide) frame.known.erase(v);
    }
  } catch (Failure& failure) {
    add_place(failure.error, step, {inputs.data(), inputs.size()});
    throw;
  }
  const bool is_waited_for = options.trace || is_queue_full(step);
  if (is_waited_for && ready[step.id].backend != nullptr) {
    ready[step.id].backend->wait();
  }
  if (options.trace) {
    const auto since = [&](Clock::time_point at) {
      return std::chrono::duration<double>(at - began).count();
    };
    options.trace(graph, step.node, since(begin), since(Clock::now()));
  }
}

// A device that is far behind would go on for long after the time is over.
bool Executor::Impl::is_queue_full(const Step& step) {
  constexpr std::size_t kMost = 64;
  if (ready[step.id].place == nullptr || ++queued < kMost) return false;
  queued = 0;
  return true;
}

void Executor::Impl::run_kernel(Frame& frame, const Step& step,
                                std::span<const Datum* const> inputs,
                                std::span<Datum> outputs,
                                std::span<const bool> dying) {
  Blocks blocks(*this, frame);
  const ReadyStep& known = ready[step.id];
  Call call(step.view, inputs, outputs, state, &blocks, known.place);
  call.set_dying(dying);
  if (known.node != nullptr) return known.node->run(call);
  try {
    prepared(step.view, {}, true).node->run(call);
  } catch (Declined& declined_by) {
    fail("no kernel takes the node", {}, std::move(declined_by.reason));
  }
}

void Executor::Impl::run_function(const Step& step,
                                  std::span<const Datum* const> inputs,
                                  std::span<Datum> outputs) {
  Frame frame(*step.function);
  const ir::BlockId main = ir::Graph::main_block();
  std::vector<Datum> given;
  for (const Datum* each : inputs) given.push_back(each ? *each : Datum());
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
                  .spells_gelu = options.spells_gelu};
  std::vector<std::shared_ptr<const ir::Model>> lowered;
  std::unique_ptr<Impl> impl;
  // A node that all kernels decline runs by its meaning, of which they may
  // decline nodes again.
  do {
    auto next = lower(lowered.empty() ? model : *lowered.back(), choice);
    if (!next) return next.error();
    if (impl != nullptr && next->spelled.empty()) break;
    choice.spelled.merge(next->spelled);
    if (next->model != nullptr) lowered.push_back(next->model);
    // What was declined stays apart.
    if (impl == nullptr && !options.wide) {
      auto joined = join(lowered.empty() ? model : *lowered.back(), choice);
      if (joined != nullptr) lowered.push_back(std::move(joined));
    }
    const ir::Model& runs = lowered.empty() ? model : *lowered.back();
    auto plans = Plans::make(runs, choice, next->reasons);
    if (!plans) return plans.error();
    try {
      impl = std::make_unique<Impl>(runs, options, *std::move(plans));
      impl->lowered = lowered;
      impl->prepare();
    } catch (const Failure& failure) {
      return failure.error;
    }
    choice.declined = impl->declined;
  } while (!choice.declined.empty());
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

// Gives memory back that is kept for runs to come; whether there was any.
bool Executor::Impl::drop_kept() {
  bool had_some = !recorded.empty();
  recorded.clear();
  had_some = arena.drop() || had_some;
  for (const OpenBackend& each : backends) {
    if (each.arena != nullptr) had_some = each.arena->drop() || had_some;
  }
  return had_some;
}

Result<Executor::Named> Executor::Impl::run(const Named& inputs) {
  auto out = run_once(inputs);
  bool goes_again = std::exchange(recording_failed, false);
  // What is kept may be what leaves too little memory.
  const bool is_short =
      !out && out.error().kind == ErrorKind::kLimit && !was_ended;
  if (is_short && !goes_again) {
    goes_again = options.communicator == nullptr && drop_kept();
  }
  return goes_again ? run_once(inputs) : std::move(out);
}

std::vector<Datum> Executor::Impl::given_inputs(const Named& inputs) {
  std::vector<Datum> out = bind_inputs(model, inputs);
  for (Datum& each : out) {
    if (!options.wide) break;
    each = as_doubles(each, state);
    if (state.noise != nullptr) each = state.noise->input(each);
  }
  return out;
}

Executor::Named Executor::Impl::named(std::vector<Datum> results) const {
  const ir::Graph& graph = model.graph;
  const auto& outputs = graph.block(ir::Graph::main_block()).outputs;
  Named out;
  out.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    out.emplace_back(graph.name(outputs[i]), std::move(results[i]));
  }
  return out;
}

std::vector<Datum> Executor::Impl::run_nodes(Run& now,
                                             std::vector<Datum> given) {
  now.start(given);
  // A run that fails leaves values behind.
  std::unique_ptr<Frame> frame = std::move(idle);
  if (!frame) frame = std::make_unique<Frame>(plans->main());
  auto results = run_block(*frame, ir::Graph::main_block(), std::move(given));
  if (!options.wide) idle = std::move(frame);
  now.complete(results);
  return results;
}

Result<Executor::Named> Executor::Impl::run_once(const Named& inputs) {
  state.seed = options.seed;
  state.drawn.clear();
  was_ended = false;
  began = Clock::now();
  memory->reset_peak();
  try {
    std::vector<Datum> given = given_inputs(inputs);
    if (is_like_others()) {
      if (auto done = replay(given)) return named(*std::move(done));
    }
    Run now(*this);
    try {
      return named(run_nodes(now, std::move(given)));
    } catch (const Failure& failure) {
      now.why_it_failed = failure.error.what;
      throw;
    } catch (const std::bad_alloc&) {
      now.why_it_failed = kTooLittle;
      throw;
    }
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return Diagnostic{.kind = ErrorKind::kLimit, .what = kTooLittle};
  }
}

Result<Executor::Named> Executor::run(const Named& inputs, const Noise* noise,
                                      const DrawnCounts* alike) {
  std::optional<NoiseSource> source;
  KernelRun& state = impl_->state;
  if (noise != nullptr) state.noise = &source.emplace(*noise, state);
  state.alike = alike;
  auto out = impl_->run(inputs);
  state.noise = nullptr;
  state.alike = nullptr;
  return out;
}

Status Executor::warm_up(const Named& inputs) {
  // The second run writes down where tensors are, the third is recorded.
  constexpr int kRuns = 3;
  for (int i = 0; i < kRuns; ++i) {
    if (auto out = impl_->run(inputs); !out) return out.error();
  }
  try {
    for (const auto& each : impl_->backends) {
      each.session->settle([this] { impl_->check(); });
    }
    return {};
  } catch (const Failure& failure) {
    return failure.error;
  }
}

void Executor::trace(Trace hears) { impl_->options.trace = std::move(hears); }

const ir::Model& Executor::model() const { return impl_->model; }

Executor::Placing Executor::placing() const {
  Placing out;
  for (const auto& each : impl_->backends) {
    out.emplace_back().first = each.backend->name();
  }
  for (const Plan* plan : impl_->plans->all()) {
    for (const Step& step : plan->steps()) {
      if (step.function != nullptr) continue;
      // What is prepared when it runs does so on the host.
      const BackendSession* on = impl_->ready[step.id].backend;
      auto at = std::ranges::find(impl_->backends, on, [](const auto& each) {
        return each.session.get();
      });
      if (at == impl_->backends.end()) --at;
      ir::Op op = step.view.op();
      op.overload = {};
      ++out[static_cast<std::size_t>(at - impl_->backends.begin())]
            .second[op.text()];
    }
  }
  return out;
}

const DrawnCounts& Executor::drawn() const { return impl_->state.drawn; }

std::size_t Executor::peak_bytes() const { return impl_->memory->peak(); }
std::size_t Executor::held_bytes() const { return impl_->memory->held(); }

}  // namespace ruleengine::runtime
