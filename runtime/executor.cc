#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <unordered_map>
#include <unordered_set>

#include "core/io/load.h"
#include "core/ir/narrow_float.h"
#include "core/ops/op_facts.h"
#include "runtime/adapt.h"
#include "runtime/inputs.h"
#include "runtime/lowering.h"
#include "runtime/plan.h"

namespace ruleengine::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using ir::ValueId;

// The values of one call of a graph.
struct Frame {
  const Plan& plan;
  std::vector<Datum> values;  // by ValueId
  // Of a wide run: what is known, in the types of the model.
  std::unordered_map<ValueId, Datum> known;

  explicit Frame(const Plan& p) : plan(p), values(p.graph->value_count()) {}

  bool is_constant(ValueId v) const {
    return values[v.index()].is_absent() && plan.constant_of[v.index()] >= 0;
  }

  Datum* slot(ValueId v) {
    if (!v) return nullptr;
    Datum& own = values[v.index()];
    if (!own.is_absent()) return &own;
    const std::int32_t constant = plan.constant_of[v.index()];
    // A constant is only read.
    return constant < 0
               ? &own
               : const_cast<Datum*>(
                     &plan.constants[static_cast<std::size_t>(constant)].value);
  }
};

bool has_blocks(const ir::Graph& graph, ir::NodeId node) {
  return std::ranges::any_of(
      graph.node(node).attributes,
      [](const ir::Attribute& a) { return !a.blocks.empty(); });
}

}  // namespace

struct Executor::Impl {
  Impl(const ir::Model& m, Lowered l, ExecutorOptions o,
       std::unique_ptr<Plans> p)
      : lowered(std::move(l.model)),
        model(lowered ? *lowered : m),
        options(std::move(o)),
        plans(std::move(p)),
        threads(options.threads),
        memory(options.memory ? options.memory : Memory::create()),
        prepared(plans->step_count()),
        in_float(plans->step_count()),
        is_known(plans->step_count()) {
    state.wide = options.wide;
    state.arranges_weights = options.arranges_weights;
    if (options.wide) find_known();
    state.memory = memory;
    state.threads = &threads;
    state.communicator = options.communicator;
    threads.check = [this] { check(); };
  }

  // Throws where the run is to end.
  void check() const {
    if (options.deadline.is_over()) throw Failure{options.deadline.passed()};
    if (options.is_cancelled && options.is_cancelled()) {
      throw Failure{{.kind = ErrorKind::kLimit, .what = "the run was ended"}};
    }
  }

  // The subgraphs of a frame.
  struct Blocks final : BlockRunner {
    Blocks(Impl& i, Frame& f) : impl(i), frame(f) {}
    std::vector<Datum> run_block(ir::BlockId block,
                                 std::vector<Datum> inputs) override {
      return impl.run_block(frame, block, std::move(inputs));
    }
    Impl& impl;
    Frame& frame;
  };

  void find_known();
  void prepare();
  void prepare(Plan& plan, const Step& step);
  void read(Constant& constant);
  std::vector<Datum> run_block(Frame& frame, ir::BlockId id,
                               std::vector<Datum> inputs);
  Result<Named> run(const Named& inputs);
  void run_step(Frame& frame, const Step& step);
  void run_kernel(Frame& frame, const Step& step, const ops::NodeView& view,
                  std::span<Datum* const> inputs, std::span<const bool> dying,
                  std::span<Datum> outputs);
  void run_wide(Frame& frame, const Step& step, const ops::NodeView& view,
                std::span<Datum* const> inputs, std::span<const bool> dying,
                std::span<Datum> outputs);
  void run_in_float(Frame& frame, const Step& step, const ops::NodeView& view,
                    std::span<Datum* const> inputs, std::span<Datum> outputs);
  Datum widened_constant(const Frame& frame, ValueId v, const Datum& own);
  void run_function(const Step& step, std::span<Datum* const> inputs,
                    std::span<Datum> outputs);

  std::shared_ptr<const ir::Model> lowered;
  const ir::Model& model;  // that runs
  ExecutorOptions options;
  std::unique_ptr<Plans> plans;
  Threads threads;
  std::shared_ptr<Memory> memory;
  std::vector<std::unique_ptr<const PreparedNode>> prepared;  // by step
  std::size_t bytes_read = 0;  // of constants, since memory was given back
  // Of a wide run, by step: whether its kernel has no double, or its inputs are
  // known. What is known may have been computed in the types of the model when
  // it was rewritten, so it is here, too.
  std::vector<bool> in_float;
  std::vector<bool> is_known;
  KernelRun state;
  std::unique_ptr<Frame> idle;  // for the next run; all values are absent
  Clock::time_point began;
};

void Executor::Impl::find_known() {
  const Plan& plan = plans->main();
  const ir::Graph& graph = *plan.graph;
  std::unordered_set<ValueId> known;
  for (const Step& step : plan.blocks[graph.main_block().index()]) {
    const auto inputs = graph.inputs(step.node);
    const bool is_one = step.kernel != nullptr && !inputs.empty() &&
                        !has_blocks(graph, step.node) &&
                        std::ranges::all_of(inputs, [&](const ir::Operand& o) {
                          return !o.value ||
                                 plan.constant_of[o.value.index()] >= 0 ||
                                 known.contains(o.value);
                        });
    if (!is_one) continue;
    is_known[step.id] = in_float[step.id] = true;
    for (const ValueId v : graph.outputs(step.node)) known.insert(v);
  }
}

// All nodes, but those of a wide run: it knows no weight as a double, and noise
// moves attributes. What cannot be prepared fails when it is to run.
void Executor::Impl::prepare() {
  state.memory = memory->beside();  // for longer than a run
  for (Plan* plan : plans->all()) {
    for (const std::vector<Step>& steps : plan->blocks) {
      for (const Step& step : steps) {
        if (step.kernel == nullptr || options.wide) continue;
        try {
          prepare(*plan, step);
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

void Executor::Impl::prepare(Plan& plan, const Step& step) {
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
  prepared[step.id] = std::make_unique<const PreparedNode>(
      *step.kernel, ops::NodeView(graph, step.node, step.opset),
      std::span(known.data(), known.size()), state);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (!prepared[step.id]->is_released(i)) continue;
    Constant& constant = *constants[i];
    if (--constant.readers > 0) continue;
    constant.value = constant.value.tensor().without_bytes();
  }
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
  for (const ValueId v : block.inputs) frame.values[v.index()] = Datum();
  for (const ValueId v : block.outputs) {
    if (graph.value(v).block == id) frame.values[v.index()] = Datum();
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
    const std::size_t count = view.output_count();
    Datum one;  // without an allocation where there are no more
    std::vector<Datum> more(count > 1 ? count : 0);
    const std::span<Datum> outputs =
        count > 1 ? std::span<Datum>(more) : std::span(&one, 1);
    const std::span<Datum* const> given(inputs.data(), inputs.size());
    const std::span<const bool> dying(step.dying.data(), step.dying.size());
    if (step.kernel != nullptr) {
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
      frame.values[v.index()] = Datum();
      if (options.wide) frame.known.erase(v);
    }
  } catch (Failure& failure) {
    // The node, and in a function also those that call it.
    const bool is_inner = step.kernel == nullptr;
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
  Call call(view, inputs, outputs, state, &blocks);
  call.set_dying(dying);
  if (prepared[step.id] != nullptr) return prepared[step.id]->run(call);
  PreparedNode(*step.kernel, view, {}, state).run(call);
}

Datum Executor::Impl::widened_constant(const Frame& frame, ValueId v,
                                       const Datum& own) {
  Datum doubles = as_doubles(own, state);
  if (state.noise == nullptr || !own.is_tensor()) return doubles;
  return state.noise->constant(doubles, *frame.plan.graph->value(v).tensor,
                               model);
}

void Executor::Impl::run_wide(Frame& frame, const Step& step,
                              const ops::NodeView& view,
                              std::span<Datum* const> inputs,
                              std::span<const bool> dying,
                              std::span<Datum> outputs) {
  if (has_blocks(view.graph(), step.node))
    return run_kernel(frame, step, view, inputs, dying, outputs);
  if (!in_float[step.id]) {
    try {
      run_kernel(frame, step, view, inputs, dying, outputs);
    } catch (const Failure& failure) {
      if (failure.error.kind == ErrorKind::kLimit) throw;
      in_float[step.id] = true;
    }
  }
  if (in_float[step.id]) run_in_float(frame, step, view, inputs, outputs);
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
    each = in_float[step.id] ? state.noise->of_float(each)
                             : state.noise->result(each);
  }
}

// The kernel on inputs of the types that the model gives them.
void Executor::Impl::run_in_float(Frame& frame, const Step& step,
                                  const ops::NodeView& view,
                                  std::span<Datum* const> inputs,
                                  std::span<Datum> outputs) {
  const ir::Graph& graph = view.graph();
  const auto operands = graph.inputs(step.node);
  std::vector<Datum> own(inputs.size());
  std::vector<Datum*> given(inputs.size());
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
  run_kernel(frame, step, view, given, {}, outputs);
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
  const OpChoice choice{.find_kernel = options.find_kernel,
                        .prefers_functions = options.prefers_functions,
                        .spells_gelu = options.spells_gelu};
  auto lowered = lower(model, choice);
  if (!lowered) return lowered.error();
  auto plans = Plans::make(lowered->model ? *lowered->model : model, choice,
                           lowered->reasons);
  if (!plans) return plans.error();
  auto impl = std::make_unique<Impl>(model, *std::move(lowered),
                                     std::move(options), *std::move(plans));
  try {
    impl->prepare();
  } catch (const Failure& failure) {
    return failure.error;
  }
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
    Named out;
    out.reserve(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      out.emplace_back(
          graph.name(graph.block(ir::Graph::main_block()).outputs[i]),
          std::move(results[i]));
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
