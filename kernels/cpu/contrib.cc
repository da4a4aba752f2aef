// Ops of ONNX Runtime's domain that its models and common quantizers write.
#include <cmath>
#include <numbers>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/families.h"
#include "runtime/adapt.h"

namespace ruleengine::kernels {
namespace {

struct GeluByErf {
  template <typename T>
  T operator()(T x) const {
    return T(0.5) * x * (1 + std::erf(x * std::numbers::sqrt2_v<T> / 2));
  }
};
struct GeluByTanh {
  template <typename T>
  T operator()(T x) const {
    const T root = std::sqrt(2 * std::numbers::inv_pi_v<T>);
    return T(0.5) * x * (1 + std::tanh(root * (x + T(0.044715) * x * x * x)));
  }
};

// f(x), or f(x + bias) where there is a bias along the last axis.
template <typename F>
void activate(KernelContext& c, F f) {
  const Tensor x = c.input(0);
  if (!c.has_input(1)) {
    return dispatch(Floats(), x.dtype(),
                    [&]<typename T>() { map_unary<T, T>(c, f); });
  }
  const Shape last = c.expect_min_rank(0, 1).dims().last(1);
  const Tensor bias = c.expect_shape(1, last, x.dtype());
  Tensor& out = c.output(0, x.dtype(), x.dims());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    map_binary<T, T, T>(c, x, bias, out, [f](T a, T b) { return f(a + b); });
  });
}

void gelu(KernelContext& c) { activate(c, GeluByErf()); }
void fast_gelu(KernelContext& c) { activate(c, GeluByTanh()); }

void quick_gelu(KernelContext& c) {
  const float alpha = c.attribute_float("alpha", 1.702f);
  activate(c, [alpha](auto x) {
    using T = decltype(x);
    return x / (1 + std::exp(-static_cast<T>(alpha) * x));
  });
}

// The kernel of the standard's op of that name.
void standard(KernelContext& c, std::string_view type) {
  for (const Kernel& row : kQuantizationRows) {
    if (row.domain.empty() && row.type == type) {
      return runtime::run_adapted(row, c);
    }
  }
  fail("there is no kernel for " + std::string(type));
}

void dequantize(KernelContext& c) { standard(c, "DequantizeLinear"); }
void quantize(KernelContext& c) { standard(c, "QuantizeLinear"); }
void dynamic_quantize(KernelContext& c) {
  standard(c, "DynamicQuantizeLinear");
}

constexpr std::string_view kContribDomain = "com.microsoft";

constexpr Kernel kContribKernels[] = {
    {kContribDomain, "Attention", contrib_attention, Adapt::kWiden},
    {kContribDomain, "BiasGelu", gelu, Adapt::kWiden},
    {kContribDomain, "DequantizeLinear", dequantize},
    {kContribDomain, "DynamicQuantizeLinear", dynamic_quantize},
    {kContribDomain, "FastGelu", fast_gelu, Adapt::kWiden},
    {kContribDomain, "FusedMatMul", fused_matmul, Adapt::kWiden},
    {kContribDomain, "Gelu", gelu, Adapt::kWiden},
    {kContribDomain, "GroupQueryAttention", group_query_attention,
     Adapt::kWiden},
    {kContribDomain, "Inverse", inverse, Adapt::kWiden},
    {kContribDomain, "MatMulNBits", matmul_nbits, Adapt::kWiden},
    {kContribDomain, "MultiHeadAttention", multi_head_attention, Adapt::kWiden},
    {kContribDomain, "QuantizeLinear", quantize},
    {kContribDomain, "QuickGelu", quick_gelu, Adapt::kWiden},
    {kContribDomain, "SimplifiedLayerNormalization", simplified_layer_norm,
     Adapt::kWiden},
    {kContribDomain, "SkipLayerNormalization", skip_layer_norm, Adapt::kWiden},
    {kContribDomain, "SkipSimplifiedLayerNormalization", skip_rms_norm,
     Adapt::kWiden},
    {"", "SimplifiedLayerNormalization", simplified_layer_norm, Adapt::kWiden},
};

}  // namespace

const KernelRows kContribRows = kContribKernels;

}  // namespace ruleengine::kernels
