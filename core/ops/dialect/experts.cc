// Mixture of experts of ONNX Runtime's domain.
#include <limits>

#include "core/ops/dialect/contrib_heads.h"
#include "core/ops/dialect/our_row.h"

namespace ruleengine::ops {
namespace {

using ir::ValueId;

constexpr FormalValue kExpertsIn[] = {in("input"),
                                      in("router_probs"),
                                      in("fc1_experts_weights"),
                                      opt("fc1_experts_bias"),
                                      in("fc2_experts_weights"),
                                      opt("fc2_experts_bias"),
                                      opt("fc3_experts_weights"),
                                      opt("fc3_experts_bias")};
constexpr FormalAttribute kExperts[] = {
    with("activation_alpha", 1.0f),
    with("activation_beta", 0.0f),
    attr("activation_type", AttributeKind::kString),
    with("k", 1),
    with("normalize_routing_weights", 0),
    with("swiglu_fusion", 0),
    attr("swiglu_limit", kFloat),
    with("use_sparse_mixer", 0)};

// Of the weights of the experts, [E,out,in], for every row of x, [E or 1,T,in],
// plus a bias.
ValueId expert_layer(const CallSite& call, ValueId x, std::string_view weights,
                     std::string_view bias) {
  Body& body = call.body();
  const ValueId turned = body.transposed(call[weights], {0, 2, 1}, "weights");
  const ValueId y = body.node("MatMul", {x, turned}, "product");
  if (!call[bias]) return y;
  return body.node("Add", {y, body.unsqueezed(call[bias], {1}, "bias_of_rows")},
                   "biased");
}

// Gates and values side by side, in turns or in halves:
// g sigmoid(alpha g) (v + beta), both within the limit.
ValueId swiglu(const CallSite& call, ValueId x) {
  Body& body = call.body();
  Body::Values parts;
  if (call.int_of("swiglu_fusion") == 1) {
    const ValueId pairs = body.reshaped(x, {0, 0, -1, 2}, "by_pair", "pairs");
    for (std::int64_t i = 0; i < 2; ++i) {
      parts.push_back(body.one_of(pairs, i, 3, "of_pair"));
    }
  } else {
    parts =
        body.nodes("Split", {x}, {"gates", "values"},
                   {Body::integer("axis", 2), Body::integer("num_outputs", 2)});
  }
  const ValueId like = call["input"];
  ValueId gate = parts[0], value = parts[1];
  if (call.is_written("swiglu_limit")) {
    const ValueId most =
        body.number(call.float_of("swiglu_limit"), like, "limit");
    const ValueId least = body.node("Neg", {most}, "least");
    gate = body.node("Min", {gate, most}, "gates");
    value = body.node("Clip", {value, least, most}, "values");
  }
  const ValueId alpha =
      body.number(call.float_of("activation_alpha"), like, "alpha");
  const ValueId beta =
      body.number(call.float_of("activation_beta"), like, "beta");
  const ValueId open = body.node(
      "Sigmoid", {body.node("Mul", {gate, alpha}, "scaled_gates")}, "open");
  return body.node("Mul",
                   {body.node("Mul", {gate, open}, "gated"),
                    body.node("Add", {value, beta}, "moved_values")},
                   "gated_values");
}

ValueId expert_activation(const CallSite& call, ValueId x) {
  Body& body = call.body();
  const std::string_view type = call.is_written("activation_type")
                                    ? call.string_of("activation_type")
                                    : "relu";
  if (type == "identity") return x;
  if (type == "relu") return body.node("Relu", {x}, "activated");
  if (type == "swiglu" && call.int_of("swiglu_fusion") != 0) {
    return swiglu(call, x);
  }
  if (type == "gelu") {
    return body.call(dialect::kMicrosoft, "FastGelu", {x}, {})[0];
  }
  if (type == "silu") {
    return body.node("Mul", {x, body.node("Sigmoid", {x}, "open")},
                     "activated");
  }
  body.refuse("no activation '" + std::string(type) + "' of experts is known");
  return x;
}

// [T,E]: the share of each expert in each row, 0 but for the `k` best.
ValueId routed_shares(const CallSite& call) {
  Body& body = call.body();
  const ValueId routes = call["router_probs"];
  const ValueId shares =
      body.node("Softmax", {routes}, "shares", {Body::integer("axis", -1)});
  // Ties go to the last expert, with TopK to the first: so backwards.
  const auto reversed = [&](ValueId x, std::string_view name) {
    constexpr std::int64_t kBegin = std::numeric_limits<std::int64_t>::min();
    const ValueId back = body.integers({-1}, "back");
    return body.node(
        "Slice", {x, back, body.integers({kBegin}, "begin"), back, back}, name);
  };
  const ValueId backwards = reversed(shares, "shares_backwards");
  auto best =
      body.nodes("TopK", {backwards, body.integers({call.int_of("k")}, "k")},
                 {"best", "which"}, {Body::integer("axis", -1)});
  if (call.int_of("normalize_routing_weights") != 0) {
    const ValueId sum = body.node(
        "ReduceSum", {best[0], body.integers({-1}, "last")}, "sum_of_best");
    best[0] = body.node("Div", {best[0], sum}, "shares_of_best");
  }
  const ValueId zeros = body.node("Sub", {backwards, backwards}, "no_shares");
  const ValueId weights_backwards =
      body.node("ScatterElements", {zeros, best[1], best[0]}, "routed",
                {Body::integer("axis", -1)});
  return reversed(weights_backwards, "routed_shares");
}

// The sum of what the `k` experts of the highest probability make of a row,
// each times that. Every expert computes every row.
Body::Values experts(const CallSite& call) {
  Body& body = call.body();
  refuse_attributes(call, {"use_sparse_mixer"});
  const ValueId input = call["input"];
  // [1,T,D]
  const ValueId width = body.length_of(input, -1, "width");
  const ValueId rows = body.node(
      "Reshape",
      {input, body.joined({body.integers({1, -1}, "rows"), width}, "sizes")},
      "rows_of_input");
  ValueId h = expert_activation(
      call,
      expert_layer(call, rows, "fc1_experts_weights", "fc1_experts_bias"));
  if (call["fc3_experts_weights"]) {
    h = body.node("Mul",
                  {h, expert_layer(call, rows, "fc3_experts_weights",
                                   "fc3_experts_bias")},
                  "gated");
  }
  const ValueId made =
      expert_layer(call, h, "fc2_experts_weights", "fc2_experts_bias");
  const ValueId by_expert =
      body.unsqueezed(body.node("Transpose", {routed_shares(call)}, "by_expert",
                                {body.ints("perm", {1, 0})}),
                      {2}, "weights_of_rows");
  // An expert that has no share of a row does not spoil it.
  const ValueId zero = body.number(0, input, "zero");
  const ValueId shared =
      body.node("Where",
                {body.node("Equal", {by_expert, zero}, "is_idle"), zero,
                 body.node("Mul", {made, by_expert}, "weighted")},
                "parts");
  const ValueId sum =
      body.node("ReduceSum", {shared, body.integers({0}, "experts")}, "sum",
                {Body::integer("keepdims", 0)});
  return {body.node("Reshape", {sum, body.node("Shape", {input}, "shape")},
                    "output")};
}

constexpr OpRow kDialectExperts[] = {
    ours(dialect::kMicrosoft, "MoE", kExpertsIn, kOutput, kExperts,
         {.types = {all_like_first},
          .formula = "the sum of the k best experts' fc2(activation(fc1(x)))",
          .meaning = experts}),
};

}  // namespace

std::span<const OpRow> dialect::experts() { return kDialectExperts; }

}  // namespace ruleengine::ops
