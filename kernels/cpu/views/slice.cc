#include "kernels/cpu/families.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cpu/strided.h"

namespace ruleengine::kernels {
namespace {

struct SliceRange {
  std::int64_t begin = 0, step = 1, count = 0;
};

// What Slice takes of an axis of `size`.
SliceRange range_of(const Call& c, std::int64_t size, std::int64_t start,
                    std::int64_t end, std::int64_t step) {
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  if (step == 0) fail("wrong value of input 'steps'", "not 0", "0");
  // Nothing is left, but ONNX Runtime goes to the end.
  if (c.run().agreed_only && step < 0 && end == kLast) {
    fail("wrong value of input 'ends'", "one that backward steps reach");
  }
  if (size == 0) return {};
  // So that it can be negated.
  step = std::max(step, -kLast);
  if (start < 0) start += size;
  if (end < 0) end += size;
  SliceRange out{.step = step};
  if (step > 0) {
    out.begin = std::clamp<std::int64_t>(start, 0, size);
    const std::int64_t stop = std::clamp<std::int64_t>(end, 0, size);
    if (stop > out.begin) out.count = (stop - out.begin - 1) / step + 1;
  } else {
    out.begin = std::clamp<std::int64_t>(start, 0, size - 1);
    const std::int64_t stop = std::clamp<std::int64_t>(end, -1, size - 1);
    if (stop < out.begin) out.count = (out.begin - stop - 1) / -step + 1;
  }
  // A step that is not taken may be of any size.
  if (out.count <= 1) out.step = 1;
  return out;
}

struct SliceOp {
  explicit SliceOp(const Preparation& p)
      : starts_said(p, "starts", 1),
        ends_said(p, "ends", 2),
        axes_said(p, "axes", 3) {}
  void operator()(Call& c) const;
  std::vector<SliceRange> ranges(const Call& c) const;

  AttributeOrInput starts_said, ends_said, axes_said;
};

std::vector<SliceRange> SliceOp::ranges(const Call& c) const {
  const Tensor& x = c.input(0);
  const Ints starts = starts_said.of(c).value_or(Ints());
  const Ints ends = ends_said.of(c).value_or(Ints());
  Ints axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  axes = axes_said.of(c).value_or(axes);
  if (c.has_input(4)) steps = c.ints(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    fail("'starts', 'ends', 'axes' and 'steps' have different lengths",
         std::to_string(starts.size()) + " each",
         std::to_string(starts.size()) + ", " + std::to_string(ends.size()) +
             ", " + std::to_string(axes.size()) + ", " +
             std::to_string(steps.size()));
  }
  std::vector<SliceRange> out;
  for (const std::int64_t size : x.dims()) out.push_back({.count = size});
  std::vector<bool> named(x.rank());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = axis_of(axes[i], x.rank());
    if (named[axis]) {
      fail("wrong value of input 'axes'", "each axis once",
           std::to_string(axis));
    }
    named[axis] = true;
    out[axis] = range_of(c, x.dim(axis), starts[i], ends[i], steps[i]);
  }
  return out;
}

void SliceOp::operator()(Call& c) const {
  const Tensor& x = c.input(0);
  const std::vector<SliceRange> taken = ranges(c);
  Dims dims;
  bool is_whole = true;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    dims.push_back(taken[i].count);
    is_whole = is_whole && taken[i].count == x.dim(i) && taken[i].step == 1;
  }
  if (is_whole) return c.set_output(0, x);
  Tensor& out = c.output(0, x.dtype(), dims);
  if (out.count() == 0) return;
  Places from = dense(x.dims());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    from.at += taken[i].begin * from.strides[i];
    from.strides[i] *= taken[i].step;
  }
  copy_block(c, dims, x, from, out, dense(dims));
}

}  // namespace

Op slice(const Preparation& p) { return SliceOp(p); }

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
