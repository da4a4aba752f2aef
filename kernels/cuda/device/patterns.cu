#include "kernels/cuda/device/patterns.h"

#include "kernels/cuda/device/chunks.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

template <typename T>
__device__ __forceinline__ void trilu(const TriluArgs& args) {
  const T* in = static_cast<const T*>(args.in);
  T* out = static_cast<T*>(args.out);
  for_each(args.count, [&](i64 i) {
    const i64 line = quotient(i, args.width, args.is_small);
    const i64 column = i - line * static_cast<i64>(args.width.divisor);
    const i64 matrix = quotient(line, args.height, args.is_small);
    const i64 row = line - matrix * static_cast<i64>(args.height.divisor);
    const i64 above = column - row - args.diagonal;
    const bool stays = args.is_upper ? above >= 0 : above <= 0;
    out[i] = stays ? in[i] : T{0};
  });
}

template <typename T>
__device__ __forceinline__ void range(const RangeArgs& args) {
  T* out = static_cast<T*>(args.out);
  for_each(args.count, [&](i64 i) {
    if constexpr (kIsFloat<Wide<T>>) {
      const double value = args.start + static_cast<double>(i) * args.delta;
      out[i] = narrow<T>(static_cast<float>(value));
    } else {
      out[i] = static_cast<T>(static_cast<u64>(args.int_start) +
                              static_cast<u64>(i) *
                                  static_cast<u64>(args.int_delta));
    }
  });
}

template <typename T>
__device__ __forceinline__ void one_hot(const OneHotArgs& args) {
  const T* values = static_cast<const T*>(args.values);
  T* out = static_cast<T*>(args.out);
  const T off = values[0], on = values[1];
  for_each(args.count * args.depth, [&](i64 i) {
    const i64 line = divide(i, args.inner);
    const i64 outer = divide(line, args.depth);
    const i64 at = outer * args.inner + i - line * args.inner;
    i64 index = load_index(args.indices, args.is_wide, at);
    if (index < 0) index += args.depth;
    out[i] = index == line - outer * args.depth ? on : off;
  });
}

template <typename T>
__device__ __forceinline__ void pad(const PadArgs& args) {
  const T* in = static_cast<const T*>(args.in);
  T* out = static_cast<T*>(args.out);
  const T value =
      args.value == nullptr ? T{0} : *static_cast<const T*>(args.value);
  for_each(args.count, [&](i64 i) {
    i64 rest = i, place = 0;
    bool is_inside = true;
    for (int k = args.rank - 1; k >= 0; --k) {
      const PadArgs::Axis& axis = args.axes[k];
      const i64 next = divide(rest, axis.size);
      const i64 source = axis.source.of(rest - next * axis.size, args.mode);
      is_inside = is_inside && source >= 0;
      place += source * axis.step;
      rest = next;
    }
    out[i] = is_inside ? in[place] : value;
  });
}

}  // namespace

RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, trilu, TriluArgs, kPatternThreads)
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, one_hot, OneHotArgs, kPatternThreads)
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, pad, PadArgs, kPatternThreads)
RULEENGINE_NUMBERS(RULEENGINE_KERNEL_OF, range, RangeArgs, kPatternThreads)

}  // namespace ruleengine::kernels::device
