// Ops along an axis for which the order of the elements matters.
#include "kernels/cuda/device/lines.h"

#include "kernels/cuda/families.h"
#include "kernels/keeping.h"
#include "kernels/reduced.h"

namespace ruleengine::kernels::cuda {
namespace {

using device::LineSizes;
using device::TopKArgs;

LineSizes sizes_at(Shape dims, std::size_t axis) {
  const CutShape cut = cut_at(dims, axis);
  return {.outer = cut.outer, .n = cut.size, .inner = cut.inner};
}

Launch blocks_for(const LineSizes& sizes) {
  return blocks(line_blocks(sizes), device::kLineThreads);
}

// The launches that find the first elements of lines.
struct Ranking {
  CUfunction whole, parts, join;

  Ranking(Session& session, DataType type)
      : whole(kernel_of(session, "lines", "top_k", type, kNumbers)),
        parts(kernel_of(session, "lines", "top_k_parts", type, kNumbers)),
        join(kernel_of(session, "lines", "top_k_join", type, kNumbers)) {}

  void run(const Call& c, Session& session, TopKArgs args) const {
    split_lines(args, session.multiprocessors());
    if (args.splits == 1) {
      return session.launch(whole, blocks_for(args.sizes), args);
    }
    const std::int64_t lines = args.sizes.outer * args.sizes.inner;
    // As long as the kernels are being launched.
    Tensor found =
        c.allocate(DataType::kInt64, Dims{lines, args.splits, args.k});
    args.parts = found.mutable_data<std::int64_t>();
    session.launch(parts, blocks(part_blocks(args), device::kLineThreads),
                   args);
    session.launch(join, blocks_for(args.sizes), args);
  }
};

Op cum_sum(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  return [&session, type,
          kernel = kernel_of(session, "lines", "cum_sum", type, kNumbers),
          is_exclusive = p.attribute_flag("exclusive"),
          is_reverse = p.attribute_flag("reverse")](Call& c) {
    const Tensor x = c.expect_type(0, type);
    const std::size_t axis = input_place(c, 1, x.rank());
    Tensor& out = c.output_in_place(0, 0, type, x.dims());
    if (out.count() == 0) return;
    const device::CumSumArgs args{.sizes = sizes_at(x.dims(), axis),
                                  .in = x.data<std::byte>(),
                                  .out = out.mutable_data<std::byte>(),
                                  .is_exclusive = is_exclusive,
                                  .is_reverse = is_reverse};
    session.launch(kernel, blocks_for(args.sizes), args);
  };
}

// ArgMax and ArgMin: the first in an order, in which NaN comes first.
template <bool kIsLargest>
Op arg_of(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  return [&session, type, ranking = Ranking(session, type),
          axis_said = AttributeAxis(p),
          is_last_first = p.attribute_flag("select_last_index"),
          keepdims = p.attribute_flag("keepdims")](Call& c) {
    const Tensor& x = c.expect_type(0, type);
    const std::size_t axis = axis_said.of(c, x.rank());
    const Dims dims = reduced_shape(x.dims(), {axis}, keepdims).result;
    Tensor& out = c.output(0, DataType::kInt64, dims);
    if (out.count() == 0) return;
    if (x.dim(axis) == 0) c.wrong_shape(0, "1 element or more along the axis");
    const TopKArgs args{.sizes = sizes_at(x.dims(), axis),
                        .in = x.data<std::byte>(),
                        .values = nullptr,
                        .indices = out.mutable_data<std::int64_t>(),
                        .k = 1,
                        .is_largest = kIsLargest,
                        .is_nan_first = true,
                        .is_last_first = is_last_first};
    ranking.run(c, session, args);
  };
}

// A line is gone through as often as elements are asked for.
Op top_k(const Preparation& p, Session& session) {
  constexpr std::int64_t kMost = 256;
  const Tensor* given = p.constant(1);
  if (given == nullptr || given->dtype() != DataType::kInt64 ||
      given->count() != 1 || given->data<std::int64_t>()[0] > kMost) {
    decline("more than " + std::to_string(kMost) +
            " elements may be asked for");
  }
  const DataType type = input_type(p, 0);
  return [&session, type, ranking = Ranking(session, type),
          axis_said = AttributeAxis(p),
          is_largest = p.attribute_flag("largest")](Call& c) {
    const Tensor& x = c.expect_type(0, type);
    const std::size_t axis = axis_said.of(c, x.rank());
    const TopKShape shape = top_k_shape(c, axis);
    Tensor* values = c.wants(0) ? &c.output(0, type, shape.dims) : nullptr;
    Tensor* indices =
        c.wants(1) ? &c.output(1, DataType::kInt64, shape.dims) : nullptr;
    if (x.count() == 0 || shape.k == 0) return;
    const TopKArgs args{
        .sizes = sizes_at(x.dims(), axis),
        .in = x.data<std::byte>(),
        .values = values ? values->mutable_data<std::byte>() : nullptr,
        .indices = indices ? indices->mutable_data<std::int64_t>() : nullptr,
        .k = shape.k,
        .is_largest = is_largest,
        .is_nan_first = is_largest,  // it is above all numbers
        .is_last_first = false};
    ranking.run(c, session, args);
  };
}

constexpr Kernel kLineKernels[] = {
    {"", "ArgMax", arg_of<true>},
    {"", "ArgMin", arg_of<false>},
    {"", "CumSum", cum_sum, kSecondInput},
    {"", "TopK", top_k, kSecondInput},
};

}  // namespace

const KernelRows kLineRows = kLineKernels;

}  // namespace ruleengine::kernels::cuda
