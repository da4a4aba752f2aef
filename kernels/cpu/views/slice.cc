#include "kernels/cpu/families.h"

#include <limits>

#include "core/ops/slice_math.h"
#include "kernels/cpu/strided.h"

namespace ruleengine::kernels {

void slice(Call& c) {
  const Tensor& x = c.input(0);
  const Ints starts = c.ints(1), ends = c.ints(2);
  const auto axes = input_axes(c, 3, starts.size(), x.rank());
  const Ints steps = c.has_input(4) ? c.ints(4) : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    fail("'starts', 'ends', 'axes' and 'steps' have different lengths",
         std::to_string(starts.size()) + " each",
         std::to_string(starts.size()) + ", " + std::to_string(ends.size()) +
             ", " + std::to_string(axes.size()) + ", " +
             std::to_string(steps.size()));
  }
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  Dims dims(x.dims());
  Places from = dense(dims);
  bool is_whole = true;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) fail("wrong value of input 'steps'", "not 0", "0");
    // Nothing is left, but ONNX Runtime goes to the end.
    if (c.run().agreed_only && steps[i] < 0 && ends[i] == kLast) {
      fail("wrong value of input 'ends'", "one that backward steps reach");
    }
    const std::size_t axis = axes[i];
    const auto taken =
        ops::slice_range(dims[axis], starts[i], ends[i], steps[i])
            .value_or(ops::SliceRange());
    // A step that is not taken may be of any size.
    const std::int64_t step = taken.count <= 1 ? 1 : steps[i];
    is_whole = is_whole && taken.count == dims[axis] && step == 1;
    dims[axis] = taken.count;
    from.at += taken.start * from.strides[axis];
    from.strides[axis] *= step;
  }
  if (is_whole) return c.set_output(0, x);
  Tensor& out = c.output(0, x.dtype(), dims);
  if (out.count() == 0) return;
  copy_block(c, dims, x, from, out, dense(dims));
}

void check_parts(const Ints& sizes, std::int64_t size) {
  std::int64_t rest = size;
  for (const std::int64_t each : sizes) {
    if (each < 0) {
      fail("wrong value of 'split'", "0 or more", std::to_string(each));
    }
    if (each > rest) {
      fail("wrong sum of 'split'",
           std::to_string(size) + ", the size of the axis",
           std::to_string(each) + " where " + std::to_string(rest) +
               " are left");
    }
    rest -= each;
  }
  if (rest != 0) {
    fail("wrong sum of 'split'",
         std::to_string(size) + ", the size of the axis",
         std::to_string(size - rest));
  }
}

}  // namespace ruleengine::kernels
