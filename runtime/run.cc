#include "runtime/run.h"

#include <algorithm>
#include <cstdlib>

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

std::vector<StridedAxis> joined_axes(Shape dims, Shape from, Shape to) {
  std::vector<StridedAxis> axes, out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) axes.push_back({dims[i], from[i], to[i]});
  }
  std::ranges::stable_sort(axes, std::ranges::greater(),
                           [](const StridedAxis& a) { return std::abs(a.to); });
  for (const StridedAxis& axis : axes) {
    if (!out.empty() && out.back().from == axis.from * axis.size &&
        out.back().to == axis.to * axis.size) {
      out.back() = {out.back().size * axis.size, axis.from, axis.to};
    } else {
      out.push_back(axis);
    }
  }
  if (out.empty()) out.push_back({1, 1, 1});
  return out;
}

Tensor compact(const Tensor& t, KernelRun& run) {
  if (t.is_dense()) return t;
  Tensor out = allocate(run, t.dtype(), t.dims(), t.place());
  Dims steps(t.rank(), 1);
  for (std::size_t i = t.rank(); i-- > 1;) {
    steps[i - 1] = steps[i] * t.dim(i);
  }
  const auto axes = joined_axes(t.dims(), t.strides(), steps);
  t.place()->copy(
      {.element_bytes = static_cast<std::int64_t>(bytes_of(t.dtype(), 1)),
       .axes = axes,
       .from = t.data<std::byte>(),
       .to = out.mutable_data<std::byte>()});
  return out;
}

Tensor moved(const Tensor& t, KernelRun& run, DeviceMemory* place) {
  if (!t.is_dense()) return moved(compact(t, run), run, place);
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
