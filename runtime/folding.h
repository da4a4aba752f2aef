// Folding: nodes of constants, computed by the kernels that run them. Results
// are the same on every machine.
#pragma once

#include "core/ir/evaluator.h"
#include "runtime/kernel.h"

namespace ruleengine::runtime {

class Folding final : public ir::Evaluator {
 public:
  explicit Folding(FindKernel find_kernel) : find_kernel_(find_kernel) {}

  bool knows(const ir::Op& op) const override;
  Status evaluate(const ir::Computation& what, ir::ExternalData* external,
                  std::size_t limit, const Give& give) const override;

 private:
  FindKernel find_kernel_;
};

}  // namespace ruleengine::runtime
