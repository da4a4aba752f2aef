// The meaning of linear layers: x w^T + b.
#include "core/rewrite/meanings/meanings.h"

namespace ruleengine::rewrite::meanings {
namespace {

using ir::ValueId;

ValueId linear(Body& body, ValueId x, ValueId weight, ValueId bias,
               std::string_view name) {
  const ValueId w = body.node("Transpose", {weight}, "weight_transposed",
                              {body.ints("perm", {1, 0})});
  if (!bias) return body.node("MatMul", {x, w}, name);
  return body.node("Add", {body.node("MatMul", {x, w}, "product"), bias}, name);
}

// Rows [from, from + count) of a weight or a bias.
ValueId rows(Body& body, ValueId x, std::int64_t from, std::int64_t count,
             std::string_view name) {
  if (!x) return x;
  return body.node("Slice",
                   {x, body.integers({from}, "from"),
                    body.integers({from + count}, "to"),
                    body.integers({0}, "axis")},
                   name);
}

}  // namespace

Body::Values linear(const Call& call) {
  return {linear(call.body(), call["x"], call["weight"], call["bias"], "Y")};
}

// The heads of x w_i^T + b_i, where w_i is the i-th third of the rows. Where
// all three have one source, there is one product.
Body::Values in_projection(const Call& call) {
  Body& body = call.body();
  const std::int64_t heads = call.int_of("num_heads");
  const std::int64_t head_dim = call.int_of("head_dim");
  if (heads <= 0 || head_dim <= 0 || heads > kMostSize / head_dim) {
    body.refuse("num_heads and head_dim are not two positive numbers");
    return {};
  }
  const std::int64_t width = heads * head_dim;
  const bool self = call.same("query", "key") && call.same("query", "value");
  const ValueId weight = call["weight"], bias = call["bias"];
  Body::Values flat;
  if (self) {
    flat = body.nodes("Split",
                      {linear(body, call["query"], weight, bias, "packed"),
                       body.integers({width, width, width}, "widths")},
                      {"flat_q", "flat_k", "flat_v"},
                      {Body::integer("axis", 2)});
  } else {
    const ValueId sources[] = {call["query"], call["key"], call["value"]};
    for (std::int64_t i = 0; i < 3; ++i) {
      flat.push_back(linear(body, sources[i],
                            rows(body, weight, i * width, width, "weight_part"),
                            rows(body, bias, i * width, width, "bias_part"),
                            "flat"));
    }
  }
  const ValueId shape = body.integers({0, 0, heads, head_dim}, "heads_shape");
  Body::Values outputs;
  for (const ValueId x : flat) {
    outputs.push_back(
        body.node("Transpose", {body.node("Reshape", {x, shape}, "split")},
                  "heads", {body.ints("perm", {0, 2, 1, 3})}));
  }
  return outputs;
}

}  // namespace ruleengine::rewrite::meanings
