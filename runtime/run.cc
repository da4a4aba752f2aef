#include "runtime/run.h"

#include <algorithm>

#include "runtime/failure.h"
#include "runtime/tensor_arena.h"

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

Tensor allocate(KernelRun& run, DataType dtype, Shape dims,
                DeviceMemory* place) {
  const std::int64_t count = count_of(dims);
  if (dtype == DataType::kString) {
    return {dims, empty_strings(run, static_cast<std::size_t>(count))};
  }
  if (ir::bit_width(dtype) == 0) fail("the element type is not known");
  const std::size_t bytes = bytes_of(dtype, count);
  TensorArena* arena = place != nullptr ? place->arena : run.arena;
  const bool in_arena = arena != nullptr && !Threads::is_inside();
  Memory& memory =
      place != nullptr ? static_cast<Memory&>(*place) : *run.memory;
  Tensor out(dtype, dims,
             in_arena ? arena->allocate(bytes) : memory.allocate(bytes), place);
  out.mark_own();
  return out;
}

Tensor moved(const Tensor& t, KernelRun& run, DeviceMemory* place) {
  if (t.place() == place) return t;
  if (t.place() != nullptr && place != nullptr) {
    return moved(moved(t, run, nullptr), run, place);
  }
  if (t.is_string()) fail("strings are on the host alone");
  Tensor out = allocate(run, t.dtype(), t.dims(), place);
  auto* to = out.mutable_data<std::byte>();
  if (place != nullptr) {
    place->write(t.bytes(), to);
  } else {
    const DeviceMemory::CopyOut copy{t.data<std::byte>(), {to, t.byte_size()}};
    t.place()->read({&copy, 1});
  }
  return out;
}

}  // namespace ruleengine::runtime
