#include "runtime/folding.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "core/analysis/inference.h"
#include "core/ops/older_meanings.h"
#include "core/ops/upgrade.h"
#include "runtime/conversions.h"
#include "runtime/vectors.h"

namespace ruleengine::runtime {
namespace {

// A model of the node alone, in its newest form.
class Alone {
 public:
  Alone(const ir::Computation& what, ir::ExternalData* external) {
    model_.import_opset("", what.opset);
    // Not owned.
    model_.external = {std::shared_ptr<void>(), external};
    ir::Graph& graph = model_.graph;
    std::vector<ir::ValueId> inputs, outputs(what.outputs);
    for (const ir::Literal* each : what.inputs) {
      inputs.push_back(each == nullptr
                           ? ir::ValueId()
                           : add_value(ir::ValueKind::kInitializer));
      if (each != nullptr) graph.mutable_value(inputs.back()).tensor = each;
    }
    for (ir::ValueId& each : outputs) {
      each = add_value(ir::ValueKind::kNodeOutput);
    }
    node_ = graph.add_node(model_.ops.intern(what.op.domain, what.op.type),
                           ir::Graph::main_block(), {}, inputs, outputs,
                           what.attributes);
    make_newest(what);
  }

  const ir::Model& model() const { return model_; }
  ops::NodeView view() const {
    return {model_.graph, node_, ops::newest_opset("")};
  }

 private:
  ir::ValueId add_value(ir::ValueKind kind) {
    return model_.graph.add_value(Name(), ir::Graph::main_block(), kind);
  }

  void make_newest(const ir::Computation& what) {
    const auto* older = ops::older_meaning(what.op.type, what.opset);
    constexpr auto kOther = "newer opsets mean something else by the node";
    if (older != nullptr && !older->may_upgrade) fail(kOther);
    if (!ops::Upgrades::needed(what.op, what.opset)) return;
    analysis::Inference facts(model_.graph);
    ops::NewestForm form;
    ops::Upgrades(model_.graph, what.opset).view(node_, facts, form);
    if (!form.readable) fail(kOther);
    node_ = model_.graph.replace_node(
        node_, form.inputs,
        model_.arena.copy(std::span<const ir::Attribute>(form.attributes)));
  }

  ir::Model model_;
  ir::NodeId node_;
};

std::vector<Datum> run(const Backend& backend, const Alone& node,
                       std::size_t limit) {
  const ops::NodeView view = node.view();
  std::vector<Datum> values;
  for (const ir::Operand& o : view.graph().inputs(view.id())) {
    const ir::Literal* t =
        o.value ? view.graph().value(o.value).tensor : nullptr;
    values.push_back(t == nullptr ? Datum() : to_tensor(*t, node.model()));
  }
  std::vector<const Datum*> inputs;
  for (Datum& each : values) {
    inputs.push_back(each.is_absent() ? nullptr : &each);
  }
  Threads threads(1);
  KernelRun run{.memory = HostMemory::create(limit),
                .threads = &threads,
                .agreed_only = true};
  std::vector<Datum> outputs(std::max<std::size_t>(view.output_count(), 1));
  Call call(view, inputs, outputs, run);
  // Nothing else reads the inputs.
  const SmallVector<bool, 8> dying(inputs.size(), true);
  call.set_dying({dying.data(), dying.size()});
  const CommonVectors common;
  backend.open()->prepare(view, {}, run)->run(call);
  return outputs;
}

}  // namespace

bool Folding::knows(const ir::Op& op) const {
  return backend_.has_kernel(op.domain, op.type);
}

Status Folding::evaluate(const ir::Computation& what,
                         ir::ExternalData* external, std::size_t limit,
                         const Give& give) const {
  if (!knows(what.op)) return Diagnostic{.what = "the op has no kernel"};
  try {
    const Alone node(what, external);
    const std::vector<Datum> outputs = run(backend_, node, limit);
    for (const Datum& each : outputs) {
      if (!each.is_tensor() || each.tensor().is_string()) {
        return Diagnostic{.what = "a result is no tensor of numbers",
                          .found = each.text()};
      }
    }
    for (std::size_t i = 0; i < what.outputs; ++i) {
      const Tensor& t = outputs[i].tensor();
      give(i, {.dtype = t.dtype(), .dims = t.dims(), .bytes = t.bytes()},
           t.owner());
    }
    return {};
  } catch (const Failure& failure) {
    return failure.error;
  } catch (Declined& declined) {
    return Diagnostic{.what = std::move(declined.reason)};
  } catch (const std::bad_alloc&) {
    return Diagnostic{.kind = ErrorKind::kLimit,
                      .what = "the machine has too little memory to fold"};
  }
}

}  // namespace ruleengine::runtime
