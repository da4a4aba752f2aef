// Ops whose elements depend on where they are.
#include "kernels/cuda/device/patterns.h"

#include "kernels/cuda/families.h"
#include "kernels/keeping.h"
#include "kernels/pads.h"
#include "kernels/patterns.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::int64_t kSmall = std::int64_t{1} << 31;

// The size of an axis from the end.
device::Divisor divisor_at(const Tensor& x, std::size_t from_end) {
  return device::divisor_of(
      static_cast<std::uint64_t>(x.dim(x.rank() - from_end)));
}

Op trilu(const Preparation& p, Session& session) {
  const DataType type = moved_type(p);
  return
      [&session, type,
       kernel = kernel_of_width(session, "patterns", "trilu", width_of(type)),
       is_upper = p.attribute_flag("upper")](Call& c) {
        const Tensor x = c.expect_min_rank(0, 2);
        c.expect_type(0, type);
        const std::int64_t diagonal = diagonal_of(c);
        Tensor& out = c.output_in_place(0, 0, type, x.dims());
        if (out.count() == 0) return;
        session.launch(kernel, spread(out.count(), device::kPatternThreads),
                       device::TriluArgs{.in = x.data<std::byte>(),
                                         .out = out.mutable_data<std::byte>(),
                                         .count = out.count(),
                                         .is_small = out.count() < kSmall,
                                         .height = divisor_at(x, 2),
                                         .width = divisor_at(x, 1),
                                         .diagonal = diagonal,
                                         .is_upper = is_upper});
      };
}

Op range(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  return [&session, type,
          kernel = kernel_of(session, "patterns", "range", type, kNumbers)](
             Call& c) {
    device::RangeArgs args{};
    const bool is_float = type != DataType::kInt32 && type != DataType::kInt64;
    for (const std::size_t i : {0, 1, 2}) c.expect_count(i, 1, type);
    if (is_float) {
      args.start = c.scalar_float(0);
      args.delta = c.scalar_float(2);
      args.count = range_count(args.start, c.scalar_float(1), args.delta);
    } else {
      args.int_start = c.scalar_int(0);
      args.int_delta = c.scalar_int(2);
      args.count = range_count(args.int_start, c.scalar_int(1), args.int_delta);
    }
    Tensor& out = c.output(0, type, {&args.count, 1});
    if (args.count == 0) return;
    args.out = out.mutable_data<std::byte>();
    session.launch(kernel, spread(args.count, device::kPatternThreads), args);
  };
}

Op one_hot(const Preparation& p, Session& session) {
  const DataType type = moved_type(p, 2);
  const DataType index_type = indices_type(p, 0);
  return [&session, type, index_type, axis = AttributeAxis(p),
          kernel = kernel_of_width(session, "patterns", "one_hot",
                                   width_of(type))](Call& c) {
    const Tensor& indices = c.expect_type(0, index_type);
    const Tensor& values = c.expect_count(2, 2, type);
    const OneHotShape shape =
        one_hot_shape(c, whole_numbers(c, c.expect_count(1, 1))[0], axis);
    Tensor& out = c.output(0, type, shape.dims);
    if (out.count() == 0) return;
    session.launch(
        kernel, spread(out.count(), device::kPatternThreads),
        device::OneHotArgs{.indices = indices.data<std::byte>(),
                           .values = values.data<std::byte>(),
                           .out = out.mutable_data<std::byte>(),
                           .count = indices.count(),
                           .depth = shape.depth,
                           .inner = shape.inner,
                           .is_wide = index_type == DataType::kInt64});
  };
}

// Axes that are not padded are joined with each other.
void set_axes(const Call& c, Shape dims, const Pads& pads,
              device::PadArgs& args) {
  const Dims strides = strides_of(dims);
  std::size_t rank = 0;
  bool joins = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool stays = pads[i].is_none();
    if (stays && joins) {
      device::PadArgs::Axis& last = args.axes[rank - 1];
      last.size *= dims[i];
      last.step = strides[i];
      last.source.high = last.size;
      continue;
    }
    joins = stays;
    check_axes(++rank);
    args.axes[rank - 1] = {.size = padded_size(dims[i], pads[i]),
                           .step = strides[i],
                           .source = source_of(c, dims[i], pads[i], args.mode)};
  }
  args.rank = static_cast<std::int32_t>(rank);
}

Op pad(const Preparation& p, Session& session) {
  need_few_axes(p);
  const DataType type = moved_type(p);
  return [&session, type, mode = pad_mode_of(p),
          kernel = kernel_of_width(session, "patterns", "pad", width_of(type))](
             Call& c) {
    const Tensor& x = c.expect_type(0, type);
    const Pads pads = pads_of(c);
    Tensor& out = c.output(0, type, padded_shape(x.dims(), pads));
    if (out.count() == 0) return;
    device::PadArgs args{.in = x.data<std::byte>(),
                         .value = nullptr,
                         .out = out.mutable_data<std::byte>(),
                         .count = out.count(),
                         .rank = 0,
                         .mode = mode,
                         .axes = {}};
    if (c.has_input(2)) {
      args.value = c.expect_count(2, 1, type).data<std::byte>();
    }
    set_axes(c, x.dims(), pads, args);
    session.launch(kernel, spread(out.count(), device::kPatternThreads), args);
  };
}

constexpr Kernel kPatternKernels[] = {
    {"", "OneHot", one_hot, kSecondInput},
    {"", "Pad", pad},
    {"", "Range", range},
    {"", "Trilu", trilu, kSecondInput},
};

}  // namespace

const KernelRows kPatternRows = kPatternKernels;

}  // namespace ruleengine::kernels::cuda
