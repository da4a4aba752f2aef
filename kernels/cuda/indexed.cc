// Ops that read or write the elements and slices that indices name.
#include "kernels/cuda/device/indexed.h"

#include <limits>

#include "kernels/cuda/cache.h"
#include "kernels/cuda/families.h"
#include "kernels/indexing.h"
#include "kernels/keeping.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

using device::PlacesArgs;

// What of the data each item names, in elements.
struct Named {
  PlacesArgs places{};
  std::int64_t inner = 1;   // elements of a slice
  std::int64_t slices = 0;  // of the data
};

class Indexed {
 public:
  Indexed(const Preparation& p, Session& session)
      : session_(session),
        type_(moved_type(p)),
        index_type_(indices_type(p, 1)),
        width_(width_of(type_)),
        gather_(session, "indexed", "gather_at", width_),
        scatter_(session, "indexed", "scatter_at", width_),
        mark_(session.kernel("indexed", "mark_last")),
        beyond_(beyond_flag(p, session)) {}

  // The slices that GatherND and ScatterND name.
  Named named_by(const Call& c, const SliceShape& shape) const {
    const Tensor& data = c.expect_type(0, type_);
    Named out = begun(c, shape.count);
    if (shape.count == 0) return out;
    const Shape outer = data.dims().first(shape.axes);
    const std::size_t batches = shape.axes - shape.depth;
    check_axes(shape.depth);
    const Dims strides = strides_of(outer);
    for (std::size_t k = 0; k < shape.depth; ++k) {
      out.places.index_sizes[k] = outer[batches + k];
      out.places.index_steps[k] = strides[batches + k];
    }
    out.places.depth = static_cast<std::int32_t>(shape.depth);
    out.places.rank = 2;
    out.places.sizes[0] = product(outer, 0, batches);
    out.places.sizes[1] = shape.count / out.places.sizes[0];
    out.places.steps[0] = product(outer, batches, shape.axes);
    out.slices = product(outer);
    out.inner = product(data.dims(), shape.axes, data.rank());
    return out;
  }

  // The elements that GatherElements and ScatterElements name.
  Named named_along(const Call& c, std::size_t along) const {
    const Tensor& data = c.expect_type(0, type_);
    expect_part(c, along);
    const Tensor& at = c.input(1);
    Named out = begun(c, at.count());
    if (at.count() == 0) return out;
    Dims strides = strides_of(data.dims());
    out.places.index_sizes[0] = data.dim(along);
    out.places.index_steps[0] = strides[along];
    out.places.depth = 1;
    strides[along] = 0;
    const Rows<1> joined(at.dims(), {strides});
    check_axes(joined.dims().size());
    std::ranges::copy(joined.dims(), out.places.sizes);
    std::ranges::copy(joined.strides(0), out.places.steps);
    out.places.rank = static_cast<std::int32_t>(joined.dims().size());
    out.slices = data.count();
    return out;
  }

  void gather(Call& c, const Named& named, Shape dims) const {
    const Tensor x = c.input(0);
    Tensor& out = c.output(0, type_, dims);
    if (out.count() == 0) return;
    device::GatherAtArgs args{.places = named.places,
                              .in = x.data<std::byte>(),
                              .out = out.mutable_data<std::byte>(),
                              .inner = named.inner};
    const std::int64_t bytes = unit_of(args.in, args.out, args.inner, width_);
    session_.launch(gather_.of(bytes), threads_for(args), args);
  }

  // Of equal indices the last wins.
  void scatter(Call& c, const Named& named, Shape dims) const {
    const Tensor updates = c.expect_shape(2, dims, type_);
    Tensor& out = output_copy(c);
    if (updates.count() == 0) return;
    device::ScatterAtArgs args{.places = named.places,
                               .updates = updates.data<std::byte>(),
                               .out = out.mutable_data<std::byte>(),
                               .inner = named.inner};
    Tensor marks;  // as long as the kernel is being launched
    if (args.places.count > 1) {
      marks = marked(c, named);
      args.marks = marks.data<std::uint32_t>();
    }
    const std::int64_t bytes =
        unit_of(args.updates, args.out, args.inner, width_);
    session_.launch(scatter_.of(bytes), threads_for(args), args);
  }

 private:
  Named begun(const Call& c, std::int64_t count) const {
    Named out;
    out.places.indices = c.expect_type(1, index_type_).data<std::byte>();
    out.places.beyond = beyond_;
    out.places.count = count;
    out.places.is_wide = index_type_ == DataType::kInt64;
    return out;
  }

  Tensor marked(const Call& c, const Named& named) const {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    if (named.places.count >= kMost) {
      fail("too many updates at once", "fewer than " + std::to_string(kMost),
           std::to_string(named.places.count));
    }
    Tensor marks = c.allocate(DataType::kUint32, {&named.slices, 1});
    fill(session_, marks, 0);
    session_.launch(
        mark_, spread(named.places.count, device::kIndexedThreads),
        device::MarkArgs{named.places, marks.mutable_data<std::uint32_t>()});
    return marks;
  }

  template <typename Args>
  static Launch threads_for(const Args& args) {
    return spread(args.places.count * args.inner, device::kIndexedThreads);
  }

  Session& session_;
  DataType type_, index_type_;
  std::int64_t width_;
  MovingKernels gather_, scatter_;
  CUfunction mark_;
  std::int32_t* beyond_;
};

// No order of floats that are added is told.
void need_no_reduction(const Preparation& p) {
  const auto reduction =
      p.choice("reduction", {"none", "add", "mul", "max", "min", ""});
  if (!reduction.empty() && reduction != "none") {
    decline("updates are reduced");
  }
}

Op gather_nd(const Preparation& p, Session& session) {
  return [op = Indexed(p, session),
          batch_dims = p.attribute_int("batch_dims")](Call& c) {
    const SliceShape shape = slice_shape(c, batch_dims);
    op.gather(c, op.named_by(c, shape), shape.named);
  };
}

Op scatter_nd(const Preparation& p, Session& session) {
  need_no_reduction(p);
  return [op = Indexed(p, session)](Call& c) {
    const SliceShape shape = slice_shape(c, 0);
    op.scatter(c, op.named_by(c, shape), shape.named);
  };
}

Op gather_elements(const Preparation& p, Session& session) {
  return [op = Indexed(p, session), axis = p.attribute_int("axis")](Call& c) {
    const std::size_t along = axis_of(axis, c.input(0).rank());
    op.gather(c, op.named_along(c, along), c.input(1).dims());
  };
}

Op scatter_elements(const Preparation& p, Session& session) {
  need_no_reduction(p);
  return [op = Indexed(p, session), axis = p.attribute_int("axis")](Call& c) {
    const std::size_t along = axis_of(axis, c.input(0).rank());
    op.scatter(c, op.named_along(c, along), c.input(1).dims());
  };
}

// --- TensorScatter -----------------------------------------------------------

DataType cached_type(const Preparation& p) {
  const DataType type = moved_type(p, 0);
  const int width = width_of(type);
  if (width != 2 && width != 4) decline("elements of another width");
  if (p.choice("mode", {"linear", "circular"}) != "linear") {
    decline("a cache that begins anew at its end");
  }
  if (!p.node().has_input(2)) return type;
  const DataType places = input_type(p, 2);
  if (places != DataType::kInt64) decline("the places are not int64");
  return type;
}

// New rows of a cache, which it writes in place where nothing else reads the
// cache.
Op tensor_scatter(const Preparation& p, Session& session) {
  session.kernel("caches", "key_lengths");  // no run loads code
  std::int32_t* const flag =
      node_flag(p, session, "new rows are beyond the cache");
  return [&session, flag, type = cached_type(p),
          axis = AttributeAxis(p)](Call& c) {
    const Tensor& x = c.expect_type(0, type);
    const CacheSizes s = cache_sizes(c, axis);
    const Tensor& update = c.expect_type(1, type);
    NewRows added{.x = {.data = update.data<std::byte>(),
                        .batch = s.batch,
                        .heads = s.rows,
                        .rows = s.update,
                        .size = s.inner,
                        .strides = strides_by_head(s.rows, s.update, s.inner)}};
    if (c.has_input(2) && s.batch > 0) {
      added.lengths = find_lengths(c, session,
                                   {.batch = s.batch,
                                    .rows = s.length,
                                    .each = &c.expect_count(2, s.batch),
                                    .plus = s.update,
                                    .least = s.update,
                                    .most = s.length,
                                    .flag = flag});
    }
    Tensor& out = c.output_in_place(0, 0, type, x.dims());
    write_rows(session, &x, added, out, s.length);
  };
}

constexpr Kernel kIndexedKernels[] = {
    {"", "GatherElements", gather_elements},
    {"", "GatherND", gather_nd},
    {"", "Scatter", scatter_elements},
    {"", "ScatterElements", scatter_elements},
    {"", "ScatterND", scatter_nd},
    {"", "TensorScatter", tensor_scatter},
};

}  // namespace

const KernelRows kIndexedRows = kIndexedKernels;

}  // namespace ruleengine::kernels::cuda
