#include "kernels/cuda/device/indexed.h"

#include "kernels/cuda/device/device.h"

namespace ruleengine::kernels::device {
namespace {

// The slice of an item; -1: none.
__device__ __forceinline__ i64 place_of(const PlacesArgs& args, i64 item) {
  i64 place = 0;
  i64 rest = item;
  for (int i = args.rank - 1; i >= 0; --i) {
    const i64 next = divide(rest, args.sizes[i]);
    place += (rest - next * args.sizes[i]) * args.steps[i];
    rest = next;
  }
  for (int k = 0; k < args.depth; ++k) {
    const i64 at = item * args.depth + k;
    i64 index = load_index(args.indices, args.is_wide, at);
    if (index < 0) index += args.index_sizes[k];
    if (index < 0 || index >= args.index_sizes[k]) {
      *args.beyond = 1;
      return -1;
    }
    place += index * args.index_steps[k];
  }
  return place;
}

template <typename T>
__device__ __forceinline__ void gather_at(const GatherAtArgs& args) {
  const T* in = static_cast<const T*>(args.in);
  T* out = static_cast<T*>(args.out);
  for_each(args.places.count * args.inner, [&](i64 i) {
    const i64 item = divide(i, args.inner);
    const i64 place = place_of(args.places, item);
    out[i] = place < 0 ? T{} : in[(place - item) * args.inner + i];
  });
}

template <typename T>
__device__ __forceinline__ void scatter_at(const ScatterAtArgs& args) {
  const T* from = static_cast<const T*>(args.updates);
  T* out = static_cast<T*>(args.out);
  for_each(args.places.count * args.inner, [&](i64 i) {
    const i64 item = divide(i, args.inner);
    const i64 place = place_of(args.places, item);
    if (place < 0) return;
    if (args.marks != nullptr && args.marks[place] != item + 1) return;
    out[(place - item) * args.inner + i] = from[i];
  });
}

}  // namespace

using Unit = Pack<u32, 4>;
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, gather_at, GatherAtArgs,
                  kIndexedThreads)
RULEENGINE_KERNEL_OF(16, Unit, gather_at, GatherAtArgs, kIndexedThreads)
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, scatter_at, ScatterAtArgs,
                  kIndexedThreads)
RULEENGINE_KERNEL_OF(16, Unit, scatter_at, ScatterAtArgs, kIndexedThreads)

RULEENGINE_KERNEL(mark_last, MarkArgs, kIndexedThreads) {
  for_each(args.places.count, [&](i64 i) {
    const i64 place = place_of(args.places, i);
    if (place >= 0) atomicMax(args.marks + place, static_cast<u32>(i + 1));
  });
}

}  // namespace ruleengine::kernels::device
