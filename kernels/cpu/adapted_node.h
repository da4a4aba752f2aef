// A node on the CPU: inputs of types that its kernel does not compute in become
// a type that it does, and its outputs become their own type again. Which
// outputs follows from the schema: those that share the type parameter of an
// input that was changed. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/kernel.h"
#include "kernels/dispatch.h"
#include "runtime/backend.h"

namespace ruleengine::kernels {

// A node that is ready to run: the op of its kernel, and what adapts its
// inputs. Those that are constants are adapted once.
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

}  // namespace ruleengine::kernels
