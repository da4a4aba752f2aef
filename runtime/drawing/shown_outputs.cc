#include "runtime/drawing/shown_outputs.h"

#include <algorithm>
#include <cmath>

#include "core/ir/narrow_float.h"
#include "runtime/conversions.h"

namespace ruleengine::runtime {
namespace {

template <typename T, typename F>
std::int64_t count_numbers(const Tensor& t, F f) {
  return std::ranges::count_if(t.values<T>(),
                               [&](T x) { return f(static_cast<double>(x)); });
}

// For how many elements of a tensor of floats f holds.
template <typename F>
std::int64_t count_floats(const Tensor& t, F f) {
  if (t.dtype() == DataType::kFloat) return count_numbers<float>(t, f);
  if (t.dtype() == DataType::kDouble) return count_numbers<double>(t, f);
  if (!ir::is_narrow_float(t.dtype())) return 0;
  Threads threads(1);
  KernelRun run{.memory = HostMemory::create(), .threads = &threads};
  return count_numbers<float>(widened(t, run), f);
}

}  // namespace

ShownOutputs::Seen ShownOutputs::seen(const Datum& output) {
  if (!output.is_tensor()) return Seen::kNumbers;
  const Tensor& t = output.tensor();
  if (t.count() == 0) return Seen::kNothing;
  if (!ir::is_float(t.dtype())) return Seen::kNumbers;
  const auto unknown = count_floats(t, [](double x) { return std::isnan(x); });
  return 2 * unknown > t.count() ? Seen::kNaN : Seen::kNumbers;
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
