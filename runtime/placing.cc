// Before a model runs: each node is prepared by the first backend that takes
// it, and constants are read. And while it runs: inputs that are in another
// memory than the node reads are moved.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/analysis/inference.h"
#include "core/io/load.h"
#include "core/ops/axis_flow.h"
#include "runtime/executor_impl.h"
#include "runtime/host_nodes.h"

namespace ruleengine::runtime {
namespace {

// The types of the values of a model that is to run, inferred by the rules of
// its ops when somebody asks first; in a function, from what all of its calls
// give it.
class ModelTypes {
 public:
  ModelTypes(const ir::Model& model, const Plans& plans) : model_(model) {
    for (const Plan* plan : plans.all()) {
      for (const Step& step : plan->steps()) {
        if (step.function == nullptr) continue;
        calls_[step.function->graph].emplace_back(plan->graph, step.node);
      }
    }
  }

  // Of the main graph of the model, or of one of its functions.
  ValueTypes& of(const ir::Graph& graph) {
    std::unique_ptr<ValueTypes>& known = graphs_[&graph];
    if (known == nullptr) known = std::make_unique<GraphTypes>(*this, graph);
    return *known;
  }

 private:
  class GraphTypes final : public ValueTypes {
   public:
    GraphTypes(ModelTypes& all, const ir::Graph& graph)
        : all_(all), graph_(graph) {}

    const ir::Type* of(ir::ValueId value) override {
      if (!inference_) {
        if (all_.copy_ == nullptr) all_.copy_ = all_.model_.copy();
        ir::Graph& copy = graph_in(*all_.copy_, all_.model_, graph_);
        const auto& inputs = copy.block(ir::Graph::main_block()).inputs;
        const bool is_called = all_.calls_.contains(&graph_);
        for (std::size_t i = 0; is_called && i < inputs.size(); ++i) {
          const ir::Type* type = all_.given(graph_, i);
          if (type != nullptr) copy.mutable_value(inputs[i]).declared = type;
        }
        inference_.emplace(copy);
      }
      return inference_->type(value);
    }

   private:
    ModelTypes& all_;
    const ir::Graph& graph_;
    std::optional<analysis::Inference> inference_;
  };

  // What all calls of a function give as input `i`; nullptr: not alike.
  const ir::Type* given(const ir::Graph& body, std::size_t i) {
    const ir::Type* out = nullptr;
    for (const auto& [graph, node] : calls_.at(&body)) {
      const ValueId v = graph->input(node, i);
      const ir::Type* type = v ? of(*graph).of(v) : nullptr;
      const bool is_alike =
          type != nullptr && type->is_tensor() &&
          (out == nullptr ||
           (type->elem == out->elem && type->has_shape == out->has_shape &&
            std::ranges::equal(type->dims, out->dims)));
      if (!is_alike) return nullptr;
      out = type;
    }
    return out;
  }

  const ir::Model& model_;
  // The nodes that call a function, by its body.
  std::map<const ir::Graph*,
           std::vector<std::pair<const ir::Graph*, ir::NodeId>>>
      calls_;
  std::shared_ptr<ir::Model> copy_;  // inference adds to the model
  std::map<const ir::Graph*, std::unique_ptr<ValueTypes>> graphs_;
};

}  // namespace

// All nodes. Those of a wide run only to learn which are declined: it knows no
// weight as a double, and noise moves attributes. What cannot be prepared fails
// when it is to run.
void Executor::Impl::prepare() {
  // For longer than a run, in the place of weights that no limit counts.
  state.memory = HostMemory::create();
  ModelTypes types(model, *plans);
  Backends devices;
  for (const auto& [backend, session, tensors] : backends) {
    if (session->memory() != nullptr) devices.push_back(backend);
  }
  std::optional<HostNodes> on_host;
  if (is_mixed) on_host.emplace(*plans, devices);
  // By id. A constant belongs to the host.
  std::set<std::size_t> settled;
  bool may_settle = options.runs_often && !is_mixed;
  for (Plan* plan : plans->all()) {
    const ir::Graph& graph = *plan->graph;
    for (const Step& step : plan->steps()) {
      if (step.function != nullptr) continue;
      try {
        if (options.wide) {
          prepared(step.view, {}, true);
        } else {
          prepare(*plan, step, on_host && on_host->contains(*plan, step.node),
                  types.of(graph));
          if (may_settle && settle(*plan, step)) settled.insert(step.id);
        }
      } catch (const Declined&) {
        // All is prepared again, without this node.
        declined.emplace_back(&graph, step.node);
        state.arranges_weights = may_settle = false;
      } catch (const Failure& failure) {
        if (failure.error.kind == ErrorKind::kLimit) throw;
      }
    }
    if (!settled.empty()) remove(*plan, std::exchange(settled, {}));
    for (Constant& each : plan->constants) read(each);
  }
  io::release_memory(model);
  state.memory = memory;
  recordable = find_recordable();
}

// nullptr where it is no constant: an initializer that is an input, too, may be
// given another value.
Constant* Executor::Impl::constant_at(Plan& plan, ValueId v) {
  const std::int32_t at = v ? plan.constant_of[v.index()] : -1;
  if (at < 0 || plan.graph->value(v).kind == ir::ValueKind::kInput) {
    return nullptr;
  }
  return &plan.constants[static_cast<std::size_t>(at)];
}

void Executor::Impl::drop_reader(Constant& constant) {
  if (--constant.readers > 0) return;
  constant.value = constant.value.tensor().without_bytes();
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
    constants.push_back(constant_at(plan, o.value));
    if (constants.back() != nullptr) read(*constants.back());
    known.push_back(constants.back() ? &constants.back()->value : nullptr);
  }
  ReadyStep& made = ready[step.id];
  made = prepared(step.view,
                  {.constants = {known.data(), known.size()}, .types = &types},
                  on_host);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (made.node->is_released(i)) drop_reader(*constants[i]);
  }
}

// A step that computes the same in each run, as all its inputs are constants,
// computes it now, where that takes no more memory than its inputs explain:
// numbers of 4 bits become floats. Whether it did.
bool Executor::Impl::settle(Plan& plan, const Step& step) {
  constexpr std::size_t kGrowth = 8, kSmall = std::size_t{1} << 16;
  constexpr std::size_t kMost = std::size_t{1} << 30;  // of all together
  const ir::Graph& graph = *plan.graph;
  const ops::Roles roles = ops::roles_of(step.view.op());
  if (!roles.folds && !roles.dequantizes && !roles.quantizes) return false;
  std::vector<const Datum*> inputs;
  std::size_t given = 0;
  for (const ir::Operand& o : graph.inputs(step.node)) {
    const Constant* constant = constant_at(plan, o.value);
    if (o.value && constant == nullptr) return false;
    inputs.push_back(constant == nullptr ? nullptr : &constant->value);
    if (constant != nullptr) given += constant->value.tensor().byte_size();
  }
  const auto outputs = graph.outputs(step.node);
  std::vector<Datum> results(std::max<std::size_t>(outputs.size(), 1));
  const std::size_t most =
      std::min(std::max(kSmall, given * kGrowth), kMost - settled_bytes);
  const auto outer = std::exchange(state.memory, HostMemory::create(most));
  bool is_done = true;
  try {
    Call call(step.view, inputs, results, state);
    ready[step.id].node->run(call);
  } catch (const Failure&) {
    if (was_ended) throw;
    is_done = false;  // it fails when it is to run, or takes too much
  }
  state.memory = outer;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    is_done = is_done && (!outputs[i] || results[i].is_tensor());
  }
  if (!is_done) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId v = outputs[i];
    if (!v) continue;
    settled_bytes += results[i].tensor().byte_size();
    plan.constant_of[v.index()] =
        static_cast<std::int32_t>(plan.constants.size());
    plan.constants.push_back(
        {.value = std::move(results[i]), .readers = graph.reader_count(v)});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Constant* constant = constant_at(plan, graph.input(step.node, i));
    const bool is_counted = !ready[step.id].node->is_released(i);
    if (constant != nullptr && is_counted) drop_reader(*constant);
  }
  return true;
}

// What is constant now is not written over.
void Executor::Impl::remove(Plan& plan, const std::set<std::size_t>& settled) {
  for (std::vector<Step>& steps : plan.blocks) {
    std::vector<Step> left;
    for (Step& step : steps) {
      if (!settled.contains(step.id)) left.push_back(std::move(step));
    }
    steps = std::move(left);
    for (Step& step : steps) {
      const auto inputs = plan.graph->inputs(step.node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ValueId v = inputs[i].value;
        if (v && plan.constant_of[v.index()] >= 0) step.dying[i] = false;
      }
    }
  }
}

// By the first kernel that takes it.
ReadyStep Executor::Impl::prepared(const ops::NodeView& view,
                                   const KnownInputs& known, bool on_host) {
  const ir::Op& op = view.op();
  std::string reasons;
  for (const auto& [backend, session, tensors] : backends) {
    ReadyStep out{.backend = session.get(), .place = session->memory()};
    const bool is_asked = out.place == nullptr || !on_host;
    if (!is_asked || !backend->has_kernel(op.domain, op.type)) continue;
    try {
      out.node = session->prepare(view, known, state);
    } catch (const Declined& declined_by) {
      if (!reasons.empty()) reasons += "; ";
      reasons += std::string(backend->name()) + ": " + declined_by.reason;
      continue;
    }
    const std::size_t inputs = view.graph().inputs(view.id()).size();
    for (std::size_t i = 0; is_mixed && i < inputs; ++i) {
      using enum ReadyStep::Where;
      const bool anywhere = out.node->is_released(i) ||
                            ops::reads_type_only(op, i) ||
                            ops::roles_of(op).measures;
      const bool here =
          out.place == nullptr || has_input(backend->host_inputs(op), i);
      out.inputs.push_back(anywhere ? kAnywhere : here ? kHost : kPlace);
    }
    return out;
  }
  decline(std::move(reasons));
}

// Inputs that are elsewhere become copies where the step reads them, and views
// dense ones unless it takes views. They stay as long as the values.
void Executor::Impl::bring(Frame& frame, const Step& step,
                           std::span<const Datum*> inputs) {
  const ReadyStep& how = ready[step.id];
  const auto takes_views = [&](std::size_t i) {
    return how.node != nullptr && how.node->takes_views(i);
  };
  const auto operands = frame.plan.graph->inputs(step.node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    using enum ReadyStep::Where;
    if (inputs[i] == nullptr || !inputs[i]->is_tensor()) continue;
    const auto where = i < how.inputs.size() ? how.inputs[i] : kHost;
    DeviceMemory* place = where == kPlace ? how.place : nullptr;
    const Tensor& t = inputs[i]->tensor();
    const bool is_readable = t.is_dense() || takes_views(i);
    if (where == kAnywhere || (t.place() == place && is_readable)) continue;
    const ValueId v = operands[i].value;
    Datum& copy = frame.is_constant(v) ? constant_copies[{inputs[i], place}]
                                       : frame.copies[{v, place}];
    if (copy.is_absent()) copy = Datum(moved(t, state, place));
    inputs[i] = &copy;
  }
}

void Executor::Impl::to_host(std::span<Datum> values) {
  for (const OpenBackend& backend : backends) {
    DeviceMemory* memory_of = backend.session->memory();
    std::vector<Tensor> from;  // as long as they are read
    std::vector<DeviceMemory::CopyOut> copies;
    for (Datum& each : values) {
      if (memory_of == nullptr || !each.is_tensor()) continue;
      if (each.tensor().place() != memory_of) continue;
      const Tensor t = compact(each.tensor(), state);
      from.push_back(t);
      each = Datum(allocate(state, t.dtype(), t.dims()));
      copies.push_back(
          {t.data<std::byte>(),
           {each.tensor().mutable_data<std::byte>(), t.byte_size()}});
    }
    if (!copies.empty()) memory_of->read(copies);
  }
}

}  // namespace ruleengine::runtime
