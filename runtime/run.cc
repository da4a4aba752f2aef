#include "runtime/run.h"

#include <algorithm>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

// In steps, since many strings take long to make.
std::shared_ptr<Strings> empty_strings(const KernelRun& run,
                                       std::size_t count) {
  constexpr std::size_t kStep = 1 << 16;
  auto out = run.memory->strings(0);
  out->reserve(count);
  while (out->size() < count) {
    run.threads->look();
    out->resize(std::min(count, out->size() + kStep));
  }
  return out;
}

}  // namespace

Tensor allocate(KernelRun& run, DataType dtype, Shape dims) {
  const std::int64_t count = count_of(dims);
  if (dtype == DataType::kString) {
    return {dims, empty_strings(run, static_cast<std::size_t>(count))};
  }
  if (ir::bit_width(dtype) == 0) fail("the element type is not known");
  Tensor out(dtype, dims, run.memory->allocate(bytes_of(dtype, count)));
  out.mark_own();
  return out;
}

}  // namespace ruleengine::runtime
