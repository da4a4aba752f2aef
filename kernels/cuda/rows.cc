// Ops along an axis: softmax, reductions, norms.
#include <limits>

#include "kernels/cuda/device/norms.h"
#include "kernels/cuda/device/softmax.h"
#include "kernels/cuda/families.h"
#include "kernels/reduced.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

using device::AxisArgs;
using device::NormArgs;

AxisArgs axis_args(const Tensor& x, Tensor& out, const CutShape& s) {
  return {.in = x.data<std::byte>(),
          .out = out.mutable_data<std::byte>(),
          .outer = s.outer,
          .n = s.size,
          .inner = s.inner};
}

// The launches of a softmax.
struct Normalizing {
  CUfunction whole, sums, split;

  Normalizing(Session& session, const std::string& name, DataType type)
      : whole(kernel_of(session, "softmax", name, type, kFloats)),
        sums(kernel_of(session, "softmax", "softmax_sums", type, kFloats)),
        split(kernel_of(session, "softmax", "split_" + name, type, kFloats)) {}

  void run(const Call& c, Session& session, const AxisArgs& axis) const {
    const device::Split found =
        axis.inner > 1
            ? device::Split{.size = axis.n}
            : device::split_of(axis.n, axis_blocks(axis),
                               session.multiprocessors(), device::kLeastOfRow);
    if (found.parts == 1) {
      return session.launch(
          whole, blocks(axis_blocks(axis), device::kAxisThreads), axis);
    }
    // As long as the kernels are being launched.
    Tensor memory =
        c.allocate(DataType::kFloat, Dims{axis.outer, found.parts, 2});
    const device::SplitSoftmaxArgs args{.axis = axis,
                                        .splits = found.parts,
                                        .size = found.size,
                                        .sums = memory.mutable_data<float>()};
    const Launch all = blocks(axis.outer * found.parts, device::kAxisThreads);
    session.launch(sums, all, args);
    session.launch(split, all, args);
  }
};

template <AttributeName kName>
Op softmax(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  const Normalizing normalizing(session, std::string(std::string_view(kName)),
                                type);
  return [&session, normalizing, type, axis = AttributeAxis(p)](Call& c) {
    const Tensor& x = c.expect_type(0, type);
    Tensor& out = c.output_in_place(0, 0, type, x.dims());
    // A scalar is a row of one element.
    const std::size_t at = axis.of(c, std::max<std::size_t>(x.rank(), 1));
    const CutShape cut =
        x.is_scalar() ? CutShape{1, 1, 1} : cut_at(x.dims(), at);
    if (x.count() == 0) return;
    normalizing.run(c, session, axis_args(x, out, cut));
  };
}

// The axes that go, and those before and behind them; they are side by side.
std::optional<CutShape> cut_along(Shape dims,
                                  const std::vector<std::size_t>& gone) {
  if (gone.empty() || gone.back() - gone.front() + 1 != gone.size()) {
    return std::nullopt;
  }
  return CutShape{product(dims, 0, gone.front()),
                  product(dims, gone.front(), gone.back() + 1),
                  product(dims, gone.back() + 1, dims.size())};
}

// What is left of no elements.
double reduced_nothing(std::string_view kernel) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (kernel == "reduce_max") return -kInfinite;
  if (kernel == "reduce_min") return kInfinite;
  if (kernel == "reduce_mean") return std::numeric_limits<double>::quiet_NaN();
  return 0;
}

// The launches of a reduction.
struct Reducing {
  CUfunction whole, parts;
  DataType sums;  // what the type is summed up in

  Reducing(Session& session, std::string_view name, DataType type,
           std::span<const DataType> known)
      : whole(kernel_of(session, "reduce", name, type, known)),
        parts(kernel_of(session, "reduce", std::string(name) + "_parts", type,
                        known)),
        sums(width_of(type) == 2 ? DataType::kFloat : type) {}

  void run(const Call& c, Session& session, const AxisArgs& axis) const {
    device::ReduceArgs args{.axis = axis, .size = axis.n};
    split_axis(args, session.multiprocessors());
    Tensor memory;  // as long as the kernels are being launched
    if (args.splits > 1) {
      memory = c.allocate(sums, Dims{axis.outer, axis.inner, args.splits});
      args.parts = memory.mutable_data<std::byte>();
    }
    session.launch(whole, blocks(reduce_blocks(args), device::kAxisThreads),
                   args);
    if (args.splits == 1) return;
    session.launch(parts, blocks(join_parts_blocks(args), device::kAxisThreads),
                   args);
  }
};

template <AttributeName kName, const auto& kTypes>
Op reduction(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  const Reducing reducing(session, kName, type, kTypes);
  const std::uint64_t of_nothing = bits_of(reduced_nothing(kName), type);
  return
      [&session, reducing, type, of_nothing, axes = AxesToReduce(p)](Call& c) {
        Tensor x = c.expect_type(0, type);
        const ReducedShape shape = axes.of(c, x.dims());
        Tensor& out = c.output(0, type, shape.result);
        if (x.count() == 0) return fill(session, out, of_nothing);
        std::optional<CutShape> cut = cut_along(x.dims(), shape.axes);
        if (!cut) {
          // Those that go are brought to the end.
          std::vector<std::size_t> perm;
          for (std::size_t i = 0; i < x.rank(); ++i) {
            if (!std::ranges::binary_search(shape.axes, i)) perm.push_back(i);
          }
          perm.insert(perm.end(), shape.axes.begin(), shape.axes.end());
          x = transposed(c, x, perm);
          cut = CutShape{out.count(), x.count() / out.count(), 1};
        }
        reducing.run(c, session, axis_args(x, out, *cut));
      };
}

// --- norms -----------------------------------------------------------------

// Where a norm's inputs and outputs are; 0 for none, where x and y are.
struct NormPlaces {
  std::size_t skip = 0, scale = 0, bias = 0, skip_bias = 0;  // inputs
  std::size_t mean = 0, inverse = 0, sum = 0;                // outputs
  bool needs_scale = true;
};

// Declines the node unless input `i` has an element for each of a row.
void need_row(const Preparation& p, std::size_t i, std::int64_t axis) {
  if (i == 0 || !p.node().has_input(i)) return;
  const ir::Type* x = p.input_type(0);
  const ir::Type* row = p.input_type(i);
  if (input_type(p, i) != x->elem) decline("a parameter has another type");
  const bool is_ranked = x->has_shape && row->has_shape;
  if (!is_ranked || row->dims.size() > x->dims.size()) {
    decline("the shape of a parameter is not known");
  }
  const auto from =
      static_cast<std::size_t>(axis < 0 ? axis + std::ssize(x->dims) : axis);
  const std::size_t skip = x->dims.size() - row->dims.size();
  for (std::size_t k = 0; k < row->dims.size(); ++k) {
    const bool is_row = k + skip >= from;
    const bool fits =
        is_row ? row->dims[k] == x->dims[k + skip] : row->dims[k] == ir::Dim(1);
    if (!fits) decline("a parameter differs between rows");
  }
  if (skip > from) decline("a parameter is shorter than a row");
}

class Norm {
 public:
  Norm(const Preparation& p, Session& session, const char* name,
       const NormPlaces& places, std::int64_t axis)
      : session_(session),
        places_(places),
        type_(input_type(p, 0)),
        kernel_(kernel_of(session, "norms", name, type_, kFloats)),
        epsilon_(p.attribute_float("epsilon")),
        axis_(axis) {
    const ir::Type* x = p.input_type(0);
    if (!x->has_shape || x->dims.empty()) decline("the rank is not known");
    for (const std::size_t i : {places.scale, places.bias, places.skip_bias}) {
      need_row(p, i, axis);
    }
  }

  void operator()(Call& c) const {
    const Tensor x = c.expect_type(0, type_);
    const std::size_t axis = axis_of(axis_, x.rank());
    Tensor& out = c.output_in_place(0, 0, type_, x.dims());
    Dims reduced(x.dims());
    for (std::size_t i = axis; i < x.rank(); ++i) reduced[i] = 1;
    NormArgs args{.x = x.data<std::byte>(),
                  .out = out.mutable_data<std::byte>(),
                  .mean = statistic(c, places_.mean, reduced),
                  .inverse_deviation = statistic(c, places_.inverse, reduced),
                  .epsilon = epsilon_};
    if (places_.sum != 0 && c.wants(places_.sum)) {
      args.sum = c.output(places_.sum, type_, x.dims())
                     .template mutable_data<std::byte>();
    }
    if (x.count() == 0) return fill_statistics(c);
    args.rows = product(x.dims(), 0, axis);
    args.n = product(x.dims(), axis, x.rank());
    Tensor skip;  // as long as the kernel is being launched
    if (has(c, places_.skip)) {
      skip = skip_of(c, x.dims());
      args.skip = skip.data<std::byte>();
    }
    if (places_.needs_scale) static_cast<void>(c.input(places_.scale));
    args.scale = row(c, places_.scale, args.n);
    args.bias = row(c, places_.bias, args.n);
    args.skip_bias = row(c, places_.skip_bias, args.n);
    session_.launch(kernel_, blocks(norm_blocks(args), device::kNormThreads),
                    args);
  }

 private:
  static bool has(const Call& c, std::size_t i) {
    return i != 0 && c.has_input(i);
  }
  const void* row(const Call& c, std::size_t i, std::int64_t n) const {
    return has(c, i) ? c.expect_count(i, n, type_).template data<std::byte>()
                     : nullptr;
  }
  static float* statistic(Call& c, std::size_t i, Shape dims) {
    if (i == 0 || !c.wants(i)) return nullptr;
    return c.output(i, DataType::kFloat, dims).template mutable_data<float>();
  }
  // Of rows of no elements.
  void fill_statistics(Call& c) const {
    for (const std::size_t i : {places_.mean, places_.inverse}) {
      if (i == 0 || !c.wants(i)) continue;
      constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
      fill(session_, c.outputs()[i].tensor(), bits_of(kNone, DataType::kFloat));
    }
  }
  // In the shape of x.
  Tensor skip_of(const Call& c, Shape dims) const {
    const Tensor& t = c.expect_type(places_.skip, type_);
    if (runtime::is_same_shape(t.dims(), dims)) return t;
    if (!is_broadcast(t.dims(), dims)) {
      c.wrong_shape(places_.skip,
                    "one that broadcasts to " + runtime::shape_text(dims));
    }
    Tensor out = c.allocate(type_, dims);
    copy_block(c, dims, t, {0, broadcast_strides(t.dims(), dims)}, out,
               dense(dims));
    return out;
  }

  Session& session_;
  NormPlaces places_;
  DataType type_;
  CUfunction kernel_;
  float epsilon_;
  std::int64_t axis_;
};

Op layer_norm(const Preparation& p, Session& session) {
  const bool gives_statistics = p.wants(1) || p.wants(2);
  if (gives_statistics && p.attribute_int("stash_type") != 1) {
    decline("the statistics are not float");
  }
  return Norm(p, session, "layer_norm",
              {.scale = 1, .bias = 2, .mean = 1, .inverse = 2},
              p.attribute_int("axis"));
}

// Of the axes from `axis` on.
Op rms_norm(const Preparation& p, Session& session) {
  if (p.wants(1)) decline("the statistics are an output");
  return Norm(p, session, "rms_norm", {.scale = 1}, p.attribute_int("axis"));
}

// Of the last axis.
Op cast_rms_norm(const Preparation& p, Session& session) {
  return Norm(p, session, "rms_norm", {.scale = 1, .needs_scale = false}, -1);
}
Op cast_add_rms_norm(const Preparation& p, Session& session) {
  return Norm(p, session, "rms_norm",
              {.skip = 1, .scale = 2, .sum = 1, .needs_scale = false}, -1);
}

Op skip_layer_norm(const Preparation& p, Session& session) {
  return Norm(p, session, "layer_norm",
              {.skip = 1,
               .scale = 2,
               .bias = 3,
               .skip_bias = 4,
               .mean = 1,
               .inverse = 2,
               .sum = 3},
              -1);
}
Op skip_rms_norm(const Preparation& p, Session& session) {
  if (p.wants(1) || p.wants(2)) decline("the statistics are outputs");
  return Norm(p, session, "rms_norm",
              {.skip = 1, .scale = 2, .skip_bias = 3, .sum = 3}, -1);
}

constexpr Kernel kRowKernels[] = {
    {"", "LayerNormalization", layer_norm},
    {"", "LogSoftmax", softmax<"log_softmax">},
    {"", "RMSNormalization", rms_norm},
    {"", "ReduceMax", reduction<"reduce_max", kNumbers>},
    {"", "ReduceMean", reduction<"reduce_mean", kFloats>},
    {"", "ReduceMin", reduction<"reduce_min", kNumbers>},
    {"", "ReduceSum", reduction<"reduce_sum", kNumbers>},
    {"", "SimplifiedLayerNormalization", rms_norm},
    {"", "Softmax", softmax<"softmax">},
    {"com.microsoft", "SkipLayerNormalization", skip_layer_norm},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", skip_rms_norm},
    {"tensor_cast", "add_rms_norm", cast_add_rms_norm},
    {"tensor_cast", "add_rms_norm2", cast_add_rms_norm},
    {"tensor_cast", "rms_norm", cast_rms_norm},
};

}  // namespace

const KernelRows kRowRows = kRowKernels;

}  // namespace ruleengine::kernels::cuda
