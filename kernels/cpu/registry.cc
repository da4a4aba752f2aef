// The CPU as a backend: its kernels, and the types of their inputs and outputs.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/ir/narrow_float.h"
#include "kernels/cpu.h"
#include "kernels/cpu/families.h"
#include "kernels/kernel_table.h"
#include "runtime/conversions.h"
#include "runtime/folding.h"

namespace ruleengine::kernels {
namespace {

using runtime::KernelRun;

bool is_adapted(Adapt adapt, const Datum* value) {
  if (adapt == Adapt::kNone || value == nullptr) return false;
  if (value->is_sequence()) {
    return std::ranges::any_of(value->items(), [&](const Datum& each) {
      return is_adapted(adapt, &each);
    });
  }
  if (!value->is_tensor()) return false;
  const DataType type = value->tensor().dtype();
  if (type == DataType::kFloat) return false;  // most are
  return adapt == Adapt::kWiden ? ir::is_narrow_float(type)
                                : runtime::is_packed(type);
}

Datum adapted(Adapt adapt, const Datum& value, KernelRun& run) {
  if (value.is_sequence()) {
    Datum::List items;
    for (const Datum& each : value.items()) {
      items.push_back(is_adapted(adapt, &each) ? adapted(adapt, each, run)
                                               : each);
    }
    return Datum::sequence(std::move(items));
  }
  const Tensor& t = value.tensor();
  return adapt == Adapt::kWiden ? runtime::widened(t, run)
                                : runtime::unpacked(t, run);
}

DataType type_of(const Datum& value) {
  if (value.is_sequence()) {
    return value.items().empty() ? DataType::kUndefined
                                 : type_of(value.items()[0]);
  }
  return value.tensor().dtype();
}

// "seq(T)" has the parameter T.
std::string_view parameter(const ops::FormalValue* formal) {
  return formal == nullptr ? std::string_view() : formal->type;
}

// A node that is ready to run: the op of its kernel, and what adapts its
// inputs: those of types that the kernel does not compute in become a type that
// it does, constants once, and its outputs become their own type again. Which
// outputs follows from the schema: those that share the type parameter of an
// input that was changed.
class AdaptedNode final : public runtime::PreparedNode {
 public:
  AdaptedNode(const Kernel& kernel, const ops::NodeView& node,
              const runtime::KnownInputs& known, runtime::KernelRun& run);

  void run(Call& call) const override;
  bool is_released(std::size_t i) const override {
    return std::ranges::find(released_, i) != released_.end();
  }

 private:
  Op prepare(const Kernel& kernel, const ops::NodeView& node,
             const runtime::KnownInputs& inputs, runtime::KernelRun& run);
  void restore_types(Call& call, std::span<const DataType> given) const;

  Adapt adapt_;
  std::vector<Datum> held_;  // by input; adapted, or absent
  SmallVector<std::size_t, 2> released_;
  Op op_;
  // For each output the inputs of its type parameter.
  std::vector<std::vector<std::size_t>> alike_;
};

AdaptedNode::AdaptedNode(const Kernel& kernel, const ops::NodeView& node,
                         const runtime::KnownInputs& known, KernelRun& run)
    : adapt_(kernel.adapt), op_(prepare(kernel, node, known, run)) {
  if (adapt_ == Adapt::kNone) return;
  const ops::OpFacts* facts =
      ops::find_op(kernel.domain, kernel.type, static_cast<int>(node.opset()));
  const std::size_t inputs = node.graph().inputs(node.id()).size();
  alike_.resize(std::max<std::size_t>(node.output_count(), 1));
  for (std::size_t o = 0; o < alike_.size(); ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const bool is_alike = facts == nullptr || parameter(facts->input(i)) ==
                                                    parameter(facts->output(o));
      if (is_alike) alike_[o].push_back(i);
    }
  }
}

Op AdaptedNode::prepare(const Kernel& kernel, const ops::NodeView& node,
                        const runtime::KnownInputs& inputs, KernelRun& run) {
  const auto constants = inputs.constants;
  SmallVector<const Tensor*, 8> known;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    known.push_back(nullptr);
    const Datum* own = constants[i];
    if (own == nullptr) continue;
    if (is_adapted(adapt_, own)) {
      // Others are adapted at each call, and take no memory in between.
      constexpr std::int64_t kSmall = 1 << 12;
      const bool is_small = own->is_tensor() && own->tensor().count() <= kSmall;
      const bool is_half = ir::bit_width(type_of(*own)) == 16;
      if (!is_small && !(is_half && run.arranges_weights)) continue;
      held_.resize(constants.size());
      held_[i] = adapted(adapt_, *own, run);
      own = &held_[i];
    }
    if (own->is_tensor()) known.back() = &own->tensor();
  }
  const Preparation preparation(node, {known.data(), known.size()}, run,
                                inputs.types);
  Op op = kernel.prepare(preparation);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (!preparation.is_released(i)) continue;
    released_.push_back(i);
    if (i >= held_.size() || held_[i].is_absent()) continue;
    held_[i] = constants[i]->tensor().without_bytes();
  }
  return op;
}

void AdaptedNode::run(Call& call) const {
  const auto given = call.values();
  const bool as_they_are = std::ranges::none_of(
      given, [&](const Datum* each) { return is_adapted(adapt_, each); });
  if (as_they_are) return op_.run(call);
  std::vector<Datum> own;
  SmallVector<const Datum*, 8> inputs;
  SmallVector<DataType, 8> types;  // of those that were adapted
  for (std::size_t i = 0; i < given.size(); ++i) {
    inputs.push_back(given[i]);
    types.push_back(DataType::kUndefined);
    if (!is_adapted(adapt_, given[i])) continue;
    types.back() = type_of(*given[i]);
    if (i < held_.size() && !held_[i].is_absent()) {
      inputs.back() = &held_[i];
      continue;
    }
    if (own.empty()) own.resize(given.size());
    own[i] = adapted(adapt_, *given[i], call.run());
    inputs.back() = &own[i];
  }
  Call inner(call, {inputs.data(), inputs.size()});
  op_.run(inner);
  restore_types(call, {types.data(), types.size()});
}

void AdaptedNode::restore_types(Call& call,
                                std::span<const DataType> given) const {
  const auto outputs = call.outputs();
  for (std::size_t o = 0; o < std::min(outputs.size(), alike_.size()); ++o) {
    if (!outputs[o].is_tensor()) continue;
    const auto it = std::ranges::find_if(alike_[o], [&](std::size_t i) {
      return i < given.size() && given[i] != DataType::kUndefined;
    });
    if (it == alike_[o].end()) continue;
    const Tensor& t = outputs[o].tensor();
    if (adapt_ == Adapt::kWiden && t.dtype() != DataType::kFloat) continue;
    outputs[o] = adapt_ == Adapt::kWiden
                     ? runtime::narrowed(t, given[*it], call.run())
                     : runtime::packed(t, given[*it], call.run());
  }
}

const KernelTable<Kernel>& table() {
  static const KernelTable<Kernel> kTable(kFamilies);
  return kTable;
}

class CpuSession final : public runtime::BackendSession {
 public:
  std::unique_ptr<const runtime::PreparedNode> prepare(
      const ops::NodeView& node, const runtime::KnownInputs& known,
      runtime::KernelRun& run) override {
    const ir::Op& op = node.op();
    return first_taking(
        table().find(op.domain, op.type), [&](const Kernel& each) {
          return std::make_unique<const AdaptedNode>(each, node, known, run);
        });
  }
};

class Cpu final : public runtime::Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return !table().find(domain, type).empty();
  }
  std::unique_ptr<runtime::BackendSession> open() const override {
    return std::make_unique<CpuSession>();
  }
};

}  // namespace

const runtime::Backend& cpu() {
  static const Cpu kCpu;
  return kCpu;
}

const ir::Evaluator* cpu_evaluator() {
  static const runtime::Folding kFolding(cpu());
  return &kFolding;
}

std::vector<ir::Op> cpu_ops() {
  std::vector<ir::Op> out;
  for (const Kernel* each : table().all()) {
    const ir::Op op{.domain = each->domain, .type = each->type, .overload = {}};
    if (out.empty() || out.back() != op) out.push_back(op);
  }
  return out;
}

}  // namespace ruleengine::kernels
