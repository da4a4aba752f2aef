// Activations of ONNX Runtime's own domain, and what is known of other ops of
// that domain.
#include <cmath>
#include <numbers>

#include "core/ops/call_site.h"
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"

namespace ruleengine::ops {
namespace {

using ir::ValueId;

constexpr FormalValue kFastGeluIn[] = {in("X"), opt("bias")};
constexpr FormalValue kBiasGeluIn[] = {in("A"), in("B")};
constexpr FormalValue kBiasGeluOut[] = {in("C")};
constexpr FormalAttribute kQuickGelu[] = {with("alpha", 1.702f)};

// The opsets that brought these ops.
constexpr std::int64_t kGelu = 20, kSwish = 24;

// x (1 + erf(x / sqrt(2))) / 2, or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
// `like` has its element type.
ValueId gelu(Body& body, ValueId x, ValueId like, bool by_tanh) {
  if (body.opset() >= kGelu) {
    Body::Attributes attributes;
    if (by_tanh) attributes.push_back(Body::text("approximate", "tanh"));
    return body.node("Gelu", {x}, "Y", std::move(attributes));
  }
  const auto times = [&](ValueId a, double factor, std::string_view name) {
    return body.node("Mul", {a, body.number(factor, like, "factor")}, name);
  };
  ValueId bent;
  if (by_tanh) {
    const ValueId cube =
        body.node("Mul", {x, body.node("Mul", {x, x}, "square")}, "cube");
    const ValueId sum =
        body.node("Add", {x, times(cube, 0.044715, "part")}, "sum");
    bent = body.node("Tanh",
                     {times(sum, std::sqrt(2 / std::numbers::pi), "scaled")},
                     "bent");
  } else {
    bent =
        body.node("Erf", {times(x, std::numbers::sqrt2 / 2, "scaled")}, "bent");
  }
  const ValueId more =
      body.node("Add", {bent, body.number(1, like, "one")}, "more");
  return body.node("Mul", {times(x, 0.5, "half"), more}, "Y");
}

Body::Values gelu(const CallSite& call) {
  return {gelu(call.body(), call["X"], call["X"], false)};
}

Body::Values bias_gelu(const CallSite& call) {
  const ValueId sum = call.body().node("Add", {call["A"], call["B"]}, "sum");
  return {gelu(call.body(), sum, call["A"], false)};
}

Body::Values fast_gelu(const CallSite& call) {
  const ValueId x = call["X"];
  return {gelu(call.body(), call.body().plus(x, call["bias"], "sum"), x, true)};
}

// x / (1 + exp(-alpha x))
Body::Values quick_gelu(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["X"];
  const float alpha = call.float_of("alpha");
  if (body.opset() >= kSwish) {
    return {body.node("Swish", {x}, "Y", {Body::real("alpha", alpha)})};
  }
  const ValueId scaled =
      body.node("Mul", {x, body.number(alpha, x, "alpha")}, "scaled");
  return {body.node("Mul", {x, body.node("Sigmoid", {scaled}, "share")}, "Y")};
}

// An op that no target writes, of which no more is known.
constexpr OpRow other(std::string_view type, Roles roles,
                      Factors factors = {}) {
  return {.domain = dialect::kMicrosoft,
          .type = type,
          .roles = roles,
          .factors = factors};
}

constexpr OpRow kDialectContrib[] = {
    ours(dialect::kMicrosoft, "BiasGelu", kBiasGeluIn, kBiasGeluOut, {},
         {.types = {all_like_first},
          .formula = "Gelu(A + B)",
          .meaning = bias_gelu}),
    ours(dialect::kMicrosoft, "FastGelu", kFastGeluIn, kY, {},
         {.types = {all_like_first},
          .formula = "Gelu(X + bias), by tanh",
          .meaning = fast_gelu}),
    other("FusedMatMulActivation", {}, {true}),
    ours(dialect::kMicrosoft, "Gelu", kX, kY, {},
         {.family = OpFamily::kElementwise,
          .types = {all_like_first},
          .axes = flow_elementwise,
          .formula = "x (1 + erf(x / sqrt(2))) / 2",
          .meaning = gelu}),
    ours(dialect::kMicrosoft, "QuickGelu", kX, kY, kQuickGelu,
         {.family = OpFamily::kElementwise,
          .types = {all_like_first},
          .axes = flow_elementwise,
          .formula = "x sigmoid(alpha x)",
          .meaning = quick_gelu}),
    other("TransposeMatMul", {}, {true}),
};

}  // namespace

std::span<const OpRow> dialect::contrib() { return kDialectContrib; }

}  // namespace ruleengine::ops
