// Ops that move elements or give them another shape.
#include "kernels/moves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "core/ir/narrow_float.h"
#include "kernels/cuda/device/views.h"
#include "kernels/cuda/families.h"
#include "kernels/reduced.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

template <auto prepare>
Op move(const Preparation& p, Session&) {
  moved_type(p);
  return prepare(p);
}

// --- copies within the memory ------------------------------------------------

using Axes = std::span<const runtime::StridedAxis>;

// The last two axes of the result are those of whole matrices, swapped. Of a
// matrix that is narrower than half a tile most threads would have no work.
std::optional<device::TransposeArgs> as_transpose(
    const runtime::StridedCopy& block) {
  const Axes axes = block.axes;
  if (axes.size() < 2 || axes.size() > 3) return std::nullopt;
  const auto& columns = axes[axes.size() - 2];
  const auto& rows = axes[axes.size() - 1];
  const std::int64_t narrow = std::min(rows.size, columns.size);
  if (narrow < device::kTile / 2) return std::nullopt;
  const std::int64_t area = rows.size * columns.size;
  const bool is_swapped = rows.to == 1 && rows.from == columns.size &&
                          columns.from == 1 && columns.to == rows.size;
  const bool is_whole =
      axes.size() == 2 || (axes[0].from == area && axes[0].to == area);
  if (!is_swapped || !is_whole) return std::nullopt;
  return device::TransposeArgs{.in = block.from,
                               .out = block.to,
                               .batch = axes.size() == 2 ? 1 : axes[0].size,
                               .rows = rows.size,
                               .columns = columns.size};
}

// Of at most kMaxRank axes.
void copy_axes(Session& session, CUfunction kernel, Axes axes,
               std::int64_t bytes, const std::byte* from, std::byte* to) {
  device::CopyArgs args{};
  std::int64_t sizes[device::kMaxRank];
  const auto width = static_cast<std::int32_t>(bytes);
  args.operands[0] = {.data = to, .bytes = width};
  // Kernels write what the host calls an output only.
  args.operands[1] = {.data = const_cast<std::byte*>(from), .bytes = width};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    sizes[i] = axes[i].size;
    args.operands[0].strides[i] = axes[i].to;
    args.operands[1].strides[i] = axes[i].from;
  }
  device::plan(args, sizes, static_cast<int>(axes.size()),
               device::chunk_of(width));
  session.launch(kernel, spread(args.loop.total, device::kViewThreads), args);
}

// --- Gather ------------------------------------------------------------------

// The index, if it is a constant without axes.
std::optional<std::int64_t> known_place(const Preparation& p) {
  const Tensor* at = p.constant(1);
  if (at == nullptr || !at->is_scalar()) return std::nullopt;
  if (at->dtype() == DataType::kInt64) return at->data<std::int64_t>()[0];
  if (at->dtype() == DataType::kInt32) return at->data<std::int32_t>()[0];
  return std::nullopt;
}

class Gather {
 public:
  Gather(const Preparation& p, Session& session)
      : session_(session),
        axis_(p),
        place_(known_place(p)),
        type_(moved_type(p)),
        index_type_(indices_type(p, 1)),
        width_(width_of(type_)),
        kernels_(session, "views", "gather", width_),
        beyond_(beyond_flag(p, session)) {}

  void operator()(Call& c) const {
    if (is_view(c)) return;
    const Tensor x = runtime::compact(c.expect_type(0, type_), c.run());
    const Tensor& at = c.expect_type(1, index_type_);
    const std::size_t axis = axis_.of(c, x.rank());
    Dims dims;
    dims.append(x.dims().first(axis));
    dims.append(at.dims());
    dims.append(x.dims().subspan(axis + 1));
    Tensor& out = c.output(0, type_, dims);
    if (out.count() == 0) return;
    const CutShape cut = cut_at(x.dims(), axis);
    device::GatherArgs args{.in = x.data<std::byte>(),
                            .indices = at.data<std::byte>(),
                            .out = out.mutable_data<std::byte>(),
                            .beyond = beyond_,
                            .outer = cut.outer,
                            .n = cut.size,
                            .inner = cut.inner,
                            .count = at.count(),
                            .is_wide = index_type_ == DataType::kInt64};
    const std::int64_t bytes = unit_of(args.in, args.out, args.inner, width_);
    session_.launch(
        kernels_.of(bytes),
        spread(args.outer * args.count * args.inner, device::kViewThreads),
        args);
  }

 private:
  // One place along the axis, as a view.
  bool is_view(Call& c) const {
    const Tensor& x = c.expect_type(0, type_);
    if (!place_ || !c.gives_view(0)) return false;
    const std::size_t axis = axis_.of(c, x.rank());
    const std::int64_t size = x.dim(axis);
    const std::int64_t at = *place_ < 0 ? *place_ + size : *place_;
    if (at < 0 || at >= size) return false;
    Places from = places_of(x);
    const std::int64_t step = from.strides[axis];
    Dims dims;
    Dims strides;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (i == axis) continue;
      dims.push_back(x.dim(i));
      strides.push_back(from.strides[i]);
    }
    c.set_output(0, x.view(dims, strides, at * step));
    return true;
  }

  Session& session_;
  AttributeAxis axis_;
  std::optional<std::int64_t> place_;  // the only one, a scalar that is known
  DataType type_, index_type_;
  std::int64_t width_;
  MovingKernels kernels_;
  std::int32_t* beyond_;
};

constexpr Kernel kMoveKernels[] = {
    {"", "Concat", move<moves::concat>},
    {"", "DepthToSpace", move<moves::depth_to_space>},
    {"", "Expand", move<moves::expand>},
    {"", "Gather", made<Gather>, 0, kFirstInput, true},
    {"", "Flatten", move<moves::flatten>, 0, kFirstInput, true},
    {"", "Identity", move<moves::identity>},
    {"", "Reshape", move<moves::reshape>, 0, kFirstInput, true},
    {"", "Slice", move<moves::slice>, 0, kFirstInput, true},
    {"", "SpaceToDepth", move<moves::space_to_depth>},
    {"", "Split", move<moves::split>, 0, kFirstInput, true},
    {"", "Squeeze", move<moves::squeeze>, 0, kFirstInput, true},
    {"", "Tile", move<moves::tile>},
    {"", "Transpose", move<moves::transpose>, 0, kFirstInput, true},
    {"", "Unsqueeze", move<moves::unsqueeze>, 0, kFirstInput, true},
};

}  // namespace

const KernelRows kMoveRows = kMoveKernels;

void copy_strided(Session& session, const runtime::StridedCopy& block) {
  if (const auto args = as_transpose(block)) {
    return session.launch(
        kernel_of_width(session, "views", "transpose", block.element_bytes),
        blocks(transpose_blocks(*args), device::kViewThreads), *args);
  }
  // Axes beyond those that a kernel knows are gone through here.
  const std::size_t beyond =
      std::max<std::size_t>(block.axes.size(), device::kMaxRank) -
      device::kMaxRank;
  const Axes outer = block.axes.first(beyond),
             inner = block.axes.subspan(beyond);
  const CUfunction kernel =
      kernel_of_width(session, "views", "copy", block.element_bytes);
  std::int64_t count = 1;
  for (const auto& each : outer) count *= each.size;
  Walk walk(outer, 0);
  for (std::int64_t i = 0; i < count; ++i, walk.next()) {
    copy_axes(session, kernel, inner, block.element_bytes,
              block.from + walk.from() * block.element_bytes,
              block.to + walk.to() * block.element_bytes);
  }
}

std::uint64_t bits_of(double value, DataType dtype) {
  const auto whole = [&]<typename T>(T) {
    using Limits = std::numeric_limits<T>;
    const T out = std::isinf(value) ? value < 0 ? Limits::min() : Limits::max()
                                    : static_cast<T>(value);
    return static_cast<std::uint64_t>(out);
  };
  switch (dtype) {
    case DataType::kFloat:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DataType::kInt32:
      return whole(std::int32_t{});
    case DataType::kInt64:
      return whole(std::int64_t{});
    default:
      return ir::narrow(dtype, value);
  }
}

void fill(Session& session, Tensor& out, std::uint64_t value) {
  if (out.count() == 0) return;
  const int bytes = width_of(out.dtype());
  session.launch(kernel_of_width(session, "views", "fill", bytes),
                 spread(ceil_div(out.count(), device::chunk_of(bytes)),
                        device::kViewThreads),
                 device::FillArgs{.out = out.mutable_data<std::byte>(),
                                  .count = out.count(),
                                  .value = value});
}

}  // namespace ruleengine::kernels::cuda
