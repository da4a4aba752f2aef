// Ops that compute each element for itself.
#include "kernels/cuda/device/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/ir/narrow_float.h"
#include "core/ops/dialect.h"
#include "kernels/cuda/families.h"
#include "runtime/joining.h"

namespace ruleengine::kernels::cuda {
namespace {

using device::BinaryArgs;
using device::ClipArgs;
using device::kElementwiseThreads;
using device::UnaryArgs;
using device::WhereArgs;

// --- of one operand --------------------------------------------------------

// Output 0, in the place of input 0 where that is free.
Op unary(Session& session, CUfunction kernel, DataType from, DataType to,
         float alpha = 0) {
  return [&session, kernel, from, to, alpha](Call& c) {
    const Tensor& x = c.expect_type(0, from);
    compute_each(session, kernel, x, c.output_in_place(0, 0, to, x.dims()),
                 alpha);
  };
}

template <AttributeName kName, const auto& kTypes = kFloats>
Op unary_row(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  return unary(session, kernel_of(session, "unary", kName, type, kTypes), type,
               type);
}

// Whether something holds of each element.
Op test_row(const Preparation& p, Session& session, std::string_view name) {
  const DataType type = input_type(p, 0);
  return unary(session, kernel_of(session, "unary", name, type, kFloats), type,
               DataType::kBool);
}

Op is_nan(const Preparation& p, Session& session) {
  return test_row(p, session, "is_nan");
}

Op is_inf(const Preparation& p, Session& session) {
  const bool negative = p.attribute_flag("detect_negative");
  const bool positive = p.attribute_flag("detect_positive");
  if (!negative && !positive) decline("it is never true");
  if (negative && positive) return test_row(p, session, "is_inf");
  return test_row(p, session, negative ? "is_negative_inf" : "is_positive_inf");
}

// With an attribute that the kernel takes.
template <AttributeName kName, AttributeName kAttribute>
Op scaled_row(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  return unary(session, kernel_of(session, "unary", kName, type, kFloats), type,
               type, p.attribute_float(kAttribute));
}

Op gelu(const Preparation& p, Session& session) {
  return p.choice("approximate", {"none", "tanh", ""}) == "tanh"
             ? unary_row<"gelu_tanh">(p, session)
             : unary_row<"gelu">(p, session);
}

CUfunction cast_kernel(Session& session, DataType from, DataType to) {
  return session.kernel("cast",
                        fmt::format("cast_{}_{}", suffix(from), suffix(to)));
}

Op cast_to(const Preparation& p, Session& session, DataType to) {
  const DataType from = input_type(p, 0);
  if (from == to) return [](Call& c) { c.set_output(0, c.value(0)); };
  if (suffix(from).empty() || suffix(to).empty()) {
    decline("no kernel converts between these types");
  }
  return unary(session, cast_kernel(session, from, to), from, to);
}

Op cast(const Preparation& p, Session& session) {
  return cast_to(p, session, p.attribute_type("to"));
}
Op cast_like(const Preparation& p, Session& session) {
  return cast_to(p, session, input_type(p, 1));
}

// A bound that is a constant; nullptr for none.
const Tensor* bound(const Preparation& p, std::size_t i) {
  if (!p.node().has_input(i)) return nullptr;
  const Tensor* t = p.constant(i);
  if (t == nullptr || t->count() != 1 || t->dtype() != input_type(p, 0)) {
    decline("a bound is no constant of the same type");
  }
  p.release(i);
  return t;
}

// Without a bound it stays as it is.
void set_bound(const Tensor* t, float& value, std::int64_t& int_value) {
  if (t == nullptr) return;
  switch (t->dtype()) {
    case DataType::kFloat:
      value = t->data<float>()[0];
      break;
    case DataType::kInt32:
      int_value = t->data<std::int32_t>()[0];
      break;
    case DataType::kInt64:
      int_value = t->data<std::int64_t>()[0];
      break;
    default:
      value = static_cast<float>(
          ir::widen(t->dtype(), t->data<std::uint16_t>()[0]));
  }
}

// Integers without a bound, as bounds of their type.
template <typename T>
void set_widest(ClipArgs& args) {
  args.int_low = std::numeric_limits<T>::min();
  args.int_high = std::numeric_limits<T>::max();
}

Op clip(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 0);
  const CUfunction kernel = kernel_of(session, "unary", "clip", type, kNumbers);
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  ClipArgs bounds{.low = -kInfinite, .high = kInfinite};
  if (type == DataType::kInt32) {
    set_widest<std::int32_t>(bounds);
  } else {
    set_widest<std::int64_t>(bounds);
  }
  set_bound(bound(p, 1), bounds.low, bounds.int_low);
  set_bound(bound(p, 2), bounds.high, bounds.int_high);
  return [&session, kernel, type, bounds](Call& c) {
    const Tensor& x = c.expect_type(0, type);
    Tensor& out = c.output_in_place(0, 0, type, x.dims());
    if (out.count() == 0) return;
    ClipArgs args = bounds;
    args.in = x.data<std::byte>();
    args.out = out.mutable_data<std::byte>();
    args.count = out.count();
    session.launch(kernel, spread(out.count(), kElementwiseThreads), args);
  };
}

// --- of several operands ---------------------------------------------------

template <AttributeName kName, const auto& kTypes = kNumbers,
          bool kIsComparison = false>
Op binary_row(const Preparation& p, Session& session) {
  need_few_axes(p);
  const DataType type = input_type(p, 0);
  if (input_type(p, 1) != type) decline("the operands differ in type");
  const DataType to = kIsComparison ? DataType::kBool : type;
  return [&session, type, to,
          kernel = kernel_of(session, "binary", kName, type, kTypes)](Call& c) {
    const Tensor& a = c.expect_type(0, type);
    const Tensor& b = c.expect_type(1, type);
    const Dims dims = broadcast(a.dims(), b.dims());
    // Where it fits it is in the place of the first operand that is free.
    const bool first = runtime::is_same_shape(a.dims(), dims);
    Tensor& out = c.output_in_place(0, first ? 0 : 1, to, dims);
    compute_pairs(session, kernel, a, b, out);
  };
}

template <AttributeName kName>
Op comparison_row(const Preparation& p, Session& session) {
  return binary_row<kName, kNumbers, true>(p, session);
}

Op equal(const Preparation& p, Session& session) {
  return input_type(p, 0) == DataType::kBool
             ? binary_row<"equal", kBools>(p, session)
             : comparison_row<"equal">(p, session);
}

// Of any number of operands, one after the other.
template <AttributeName kName, const auto& kTypes>
Op chain_row(const Preparation& p, Session& session) {
  need_few_axes(p);
  const DataType type = input_type(p, 0);
  return [&session, type,
          kernel = kernel_of(session, "binary", kName, type, kTypes)](Call& c) {
    if (c.input_count() == 1) return c.set_output(0, c.value(0));
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < c.input_count(); ++i) {
      shapes.push_back(c.expect_type(i, type).dims());
    }
    Tensor& out = c.output(0, type, broadcast(shapes));
    for (std::size_t i = 1; i < c.input_count(); ++i) {
      compute_pairs(session, kernel, i == 1 ? c.input(0) : out, c.input(i),
                    out);
    }
  };
}

bool has_zero(const Tensor& x) {
  const auto any = [&]<typename T>(T zero) {
    return std::ranges::find(x.values<T>(), zero) != x.values<T>().end();
  };
  return x.dtype() == DataType::kInt32 ? any(std::int32_t{0})
                                       : any(std::int64_t{0});
}

// A division of integers by 0 ends the run.
template <AttributeName kName>
Op dividing_row(const Preparation& p, Session& session) {
  const DataType type = input_type(p, 1);
  Op divide = binary_row<kName>(p, session);
  if (type != DataType::kInt32 && type != DataType::kInt64) return divide;
  if (const Tensor* divisor = p.constant(1)) {
    if (has_zero(*divisor)) decline("it divides by 0");
    return divide;
  }
  std::int32_t* const flag =
      node_flag(p, session, "an integer is divided by zero");
  const CUfunction find_zero =
      kernel_of(session, "binary", "find_zero", type, kNumbers);
  return [&session, flag, find_zero, divide = std::move(divide)](Call& c) {
    const Tensor& by = c.input(1);
    if (c.input(0).count() > 0 && by.count() > 0) {
      session.launch(
          find_zero, spread(by.count(), kElementwiseThreads),
          device::ZeroArgs{
              .in = by.data<std::byte>(), .count = by.count(), .found = flag});
    }
    divide.run(c);
  };
}

Op mod(const Preparation& p, Session& session) {
  return p.attribute_flag("fmod") ? dividing_row<"truncated_mod">(p, session)
                                  : dividing_row<"floor_mod">(p, session);
}

Op fast_gelu(const Preparation& p, Session& session) {
  return p.node().has_input(1)
             ? binary_row<"bias_gelu_tanh", kFloats>(p, session)
             : unary_row<"gelu_tanh">(p, session);
}

// Its inputs are of one shape.
Op swiglu(const Preparation& p, Session& session) {
  if (p.attribute_float("alpha") != 1) decline("a scaled gate");
  return binary_row<"swiglu", kFloats>(p, session);
}

Op where(const Preparation& p, Session& session) {
  need_few_axes(p);
  const DataType type = moved_type(p, 1);
  return [&session, type](Call& c) {
    const Tensor& condition = c.expect_type(0, DataType::kBool);
    const Tensor& a = c.expect_type(1, type);
    const Tensor& b = c.expect_type(2, type);
    const Shape shapes[] = {condition.dims(), a.dims(), b.dims()};
    select(session, condition, a, b, c.output(0, type, broadcast(shapes)));
  };
}

// A loop over the shape of the first tensor, the output; the others broadcast
// to it. No size is 0.
template <std::size_t n>
device::StridedArgs<int{n}> loop_over(
    const std::array<const Tensor*, n>& tensors, int chunk) {
  const Shape shape = tensors[0]->dims();
  std::array<Dims, n> strides;
  for (std::size_t i = 0; i < n; ++i) {
    strides[i] = broadcast_strides(tensors[i]->dims(), shape);
  }
  const Rows<n> joined(shape, strides);
  check_axes(joined.dims().size());
  device::StridedArgs<int{n}> out{};
  for (std::size_t i = 0; i < n; ++i) {
    device::Operand& each = out.operands[i];
    // Kernels write the output only.
    each.data = const_cast<std::byte*>(tensors[i]->template data<std::byte>());
    each.bytes = width_of(tensors[i]->dtype());
    std::ranges::copy(joined.strides(i), each.strides);
  }
  device::plan(out, joined.dims().data(),
               static_cast<int>(joined.dims().size()), chunk);
  return out;
}

constexpr Kernel kElementwiseKernels[] = {
    {"", "Abs", unary_row<"abs", kNumbers>},
    {"", "Add", binary_row<"add">},
    {"", "And", binary_row<"and", kBools>},
    {"", "Cast", cast},
    {"", "CastLike", cast_like},
    {"", "Ceil", unary_row<"ceil">},
    {"", "Clip", clip},
    {"", "Cos", unary_row<"cos">},
    // Of integers a division by 0 is to fail.
    {"", "Div", dividing_row<"div">},
    {"", "Equal", equal},
    {"", "Erf", unary_row<"erf">},
    {"", "Exp", unary_row<"exp">},
    {"", "Floor", unary_row<"floor">},
    {"", "Gelu", gelu},
    {"", "Greater", comparison_row<"greater">},
    {"", "GreaterOrEqual", comparison_row<"greater_or_equal">},
    {"", "IsInf", is_inf},
    {"", "IsNaN", is_nan},
    {"", "LeakyRelu", scaled_row<"leaky_relu", "alpha">},
    {"", "Less", comparison_row<"less">},
    {"", "LessOrEqual", comparison_row<"less_or_equal">},
    {"", "Log", unary_row<"log">},
    {"", "Max", chain_row<"max", kNumbers>},
    {"", "Min", chain_row<"min", kNumbers>},
    {"", "Mod", mod},
    {"", "Mul", binary_row<"mul">},
    {"", "Neg", unary_row<"neg", kNumbers>},
    {"", "Not", unary_row<"not", kBools>},
    {"", "Or", binary_row<"or", kBools>},
    {"", "Pow", binary_row<"pow", kFloats>},
    {"", "Reciprocal", unary_row<"reciprocal">},
    {"", "Relu", unary_row<"relu", kNumbers>},
    {"", "Round", unary_row<"round">},
    {"", "Sigmoid", unary_row<"sigmoid">},
    {"", "Sign", unary_row<"sign", kNumbers>},
    {"", "Sin", unary_row<"sin">},
    {"", "Softplus", unary_row<"softplus">},
    {"", "Sqrt", unary_row<"sqrt">},
    {"", "Sub", binary_row<"sub">},
    {"", "Sum", chain_row<"add", kFloats>},
    {"", "SwiGLU", swiglu},
    {"", "Swish", scaled_row<"quick_gelu", "alpha">},
    {"", "Tanh", unary_row<"tanh">},
    {"", "Where", where},
    {"", "Xor", binary_row<"xor", kBools>},
    {"com.microsoft", "BiasGelu", binary_row<"bias_gelu", kFloats>},
    {"com.microsoft", "FastGelu", fast_gelu},
    {"com.microsoft", "Gelu", unary_row<"gelu">},
    {"com.microsoft", "QuickGelu", scaled_row<"quick_gelu", "alpha">},
    {ops::dialect::kOwn, runtime::kJoinedSwiGlu, swiglu},
    {ops::dialect::kOwn, runtime::kJoinedSwish,
     scaled_row<"quick_gelu", "alpha">},
};

}  // namespace

const KernelRows kElementwiseRows = kElementwiseKernels;

void compute_each(Session& session, CUfunction kernel, const Tensor& x,
                  Tensor& out, float alpha) {
  if (out.count() == 0) return;
  const int width = std::max(width_of(x.dtype()), width_of(out.dtype()));
  const std::int64_t chunk = device::chunk_of(width);
  session.launch(kernel,
                 spread(ceil_div(out.count(), chunk), kElementwiseThreads),
                 UnaryArgs{.in = x.data<std::byte>(),
                           .out = out.mutable_data<std::byte>(),
                           .count = out.count(),
                           .alpha = alpha});
}

void compute_pairs(Session& session, CUfunction kernel, const Tensor& a,
                   const Tensor& b, Tensor& out) {
  if (out.count() == 0) return;
  const int width = width_of(a.dtype());
  const BinaryArgs args = loop_over<3>({&out, &a, &b}, device::chunk_of(width));
  session.launch(kernel, spread(args.loop.total, kElementwiseThreads), args);
}

void convert(Session& session, const Tensor& x, Tensor& out) {
  compute_each(session, cast_kernel(session, x.dtype(), out.dtype()), x, out);
}

void select(Session& session, const Tensor& condition, const Tensor& a,
            const Tensor& b, Tensor& out) {
  if (out.count() == 0) return;
  const int width = width_of(out.dtype());
  const WhereArgs args =
      loop_over<4>({&out, &condition, &a, &b}, device::chunk_of(width));
  session.launch(kernel_of_width(session, "binary", "where", width),
                 spread(args.loop.total, kElementwiseThreads), args);
}

}  // namespace ruleengine::kernels::cuda
