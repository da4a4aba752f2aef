#include "runtime/backend.h"

#include <algorithm>

namespace ruleengine::runtime {

ops::Inputs Backend::host_inputs(const ir::Op& op) const {
  const ops::OpRow* row = ops::find_row(op);
  return row == nullptr ? 0 : row->types.values;
}

bool has_kernel(const Backends& backends, const ir::Op& op) {
  return std::ranges::any_of(backends, [&](const Backend* each) {
    return each->has_kernel(op.domain, op.type);
  });
}

}  // namespace ruleengine::runtime
