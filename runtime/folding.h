// Folding: nodes of constants, computed by the kernels that run them. Results
// are the same on every machine.
#pragma once

#include "core/ir/evaluator.h"
#include "runtime/backend.h"

namespace ruleengine::runtime {

class Folding final : public ir::Evaluator {
 public:
  // `backend`: of the host; it must outlive this.
  explicit Folding(const Backend& backend) : backend_(backend) {}

  bool knows(const ir::Op& op) const override;
  Status evaluate(const ir::Computation& what, ir::ExternalData* external,
                  std::size_t limit, const Give& give) const override;

 private:
  const Backend& backend_;
};

}  // namespace ruleengine::runtime
