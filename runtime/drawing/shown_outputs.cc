#include "runtime/drawing/shown_outputs.h"

#include <algorithm>
#include <cmath>

#include "core/ir/element_types.h"
#include "runtime/conversions.h"

namespace ruleengine::runtime {
namespace {

// How many elements of a tensor of floats are NaN.
std::int64_t count_unknown(const Tensor& given) {
  Threads threads(1);
  KernelRun run{.memory = HostMemory::create(), .threads = &threads};
  const Tensor t = widened(given, run);
  std::int64_t out = 0;
  ir::visit_type(ir::FloatTypes(), t.dtype(), [&]<typename T>() {
    out =
        std::ranges::count_if(t.values<T>(), [](T x) { return std::isnan(x); });
  });
  return out;
}

}  // namespace

ShownOutputs::Seen ShownOutputs::seen(const Datum& output) {
  if (!output.is_tensor()) return Seen::kNumbers;
  const Tensor& t = output.tensor();
  if (t.count() == 0) return Seen::kNothing;
  if (!ir::is_float(t.dtype())) return Seen::kNumbers;
  return 2 * count_unknown(t) > t.count() ? Seen::kNaN : Seen::kNumbers;
}

void ShownOutputs::note(const Executor::Named& outputs) {
  outputs_.resize(outputs.size(), Seen::kNothing);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs_[i] = std::max(outputs_[i], seen(outputs[i].second));
  }
}

bool ShownOutputs::hides() const {
  return std::ranges::find(outputs_, Seen::kNaN) != outputs_.end();
}

bool ShownOutputs::reveals(const Executor::Named& outputs) const {
  for (std::size_t i = 0; i < std::min(outputs.size(), outputs_.size()); ++i) {
    if (outputs_[i] == Seen::kNaN &&
        seen(outputs[i].second) == Seen::kNumbers) {
      return true;
    }
  }
  return false;
}

}  // namespace ruleengine::runtime
