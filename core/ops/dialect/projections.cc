// Linear layers.
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;
using ir::ValueId;

constexpr FormalValue kProjectionIn[] = {in("query"), in("key"), in("value"),
                                         in("weight"), opt("bias")};
constexpr FormalAttribute kProjection[] = {need("head_dim", kInt),
                                           need("num_heads", kInt)};

constexpr FormalValue kLinearIn[] = {in("x"), in("weight"), opt("bias")};

constexpr FormalValue kQkv[] = {in("q"), in("k"), in("v")};

bool in_projection(const NodeView& v, Outputs out) {
  const Dim heads = count(v.attribute_int("num_heads"));
  const Dim size = count(v.attribute_int("head_dim"));
  const bool has_weight = v.ranked(3) && v.rank(3) == 2;
  if (has_weight && heads != kUnknown && size != kUnknown) {
    need_equal(v, v.shape(3)[0],
               v.dims().mul(Dim(3), v.dims().mul(heads, size)),
               "the weight has not three times heads by head_dim rows");
  }
  for (std::size_t i = 0; i < 3 && has_weight; ++i) {
    if (!v.ranked(i) || v.rank(i) != 3) continue;
    need_equal(v, v.shape(i)[2], v.shape(3)[1],
               "wrong size of the rows of the weight");
  }
  for (std::size_t i = 0; i < out.size() && i < 3; ++i) {
    out[i].elem = v.elem(i);
    const bool known = v.ranked(i) && v.rank(i) == 3;
    out[i].set_dims(Shape{known ? v.shape(i)[0] : kUnknown, heads,
                          known ? v.shape(i)[1] : kUnknown, size});
  }
  return true;
}

bool linear(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) == 0) return true;
  out[0].set_dims(v.shape(0));
  const bool known = v.ranked(1) && v.rank(1) == 2;
  out[0].dims.back() = known ? v.shape(1)[0] : kUnknown;
  if (v.ranked(1) && !known) v.refuse("the weight is no matrix");
  if (known) {
    need_equal(v, v.shape(0).back(), v.shape(1)[1],
               "wrong size of the rows of the weight");
  }
  return true;
}

double in_projection(const SizedNode& n) {
  return (n.in(0) + n.in(1) + n.in(2)) * n.in(3, 0) / 3;
}

double linear(const SizedNode& n) { return n.in(0) * n.in(1, 0); }

ValueId linear(Body& body, ValueId x, ValueId weight, ValueId bias,
               std::string_view name) {
  const ValueId w = body.transposed(weight, {1, 0}, "weight_transposed");
  if (!bias) return body.node("MatMul", {x, w}, name);
  return body.node("Add", {body.node("MatMul", {x, w}, "product"), bias}, name);
}

// Rows [from, from + count) of a weight or a bias.
ValueId rows(Body& body, ValueId x, std::int64_t from, std::int64_t count,
             std::string_view name) {
  if (!x) return x;
  const ValueId begin = body.integers({from}, "from");
  return body.sliced(x, begin, body.integers({from + count}, "to"), 0, name);
}

Body::Values linear(const CallSite& call) {
  return {linear(call.body(), call["x"], call["weight"], call["bias"], "Y")};
}

// The heads of x w_i^T + b_i, where w_i is the i-th third of the rows. Where
// all three have one source, there is one product.
Body::Values in_projection(const CallSite& call) {
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
    flat =
        body.nodes("Split",
                   {linear(body, call["query"], weight, bias, "packed"),
                    body.integers({width, width, width}, "widths")},
                   {"flat_q", "flat_k", "flat_v"}, {Body::integer("axis", 2)});
  } else {
    const ValueId sources[] = {call["query"], call["key"], call["value"]};
    for (std::int64_t i = 0; i < 3; ++i) {
      flat.push_back(linear(
          body, sources[i], rows(body, weight, i * width, width, "weight_part"),
          rows(body, bias, i * width, width, "bias_part"), "flat"));
    }
  }
  const ValueId shape = body.integers({0, 0, heads, head_dim}, "heads_shape");
  Body::Values outputs;
  for (const ValueId x : flat) {
    outputs.push_back(body.transposed(body.node("Reshape", {x, shape}, "split"),
                                      {0, 2, 1, 3}, "heads"));
  }
  return outputs;
}

constexpr OpRow kDialectProjections[] = {
    ours(dialect::kOwn, "Linear", kLinearIn, kY, {},
         {.types = {linear},
          .products = linear,
          .formula = "x weight^T + bias",
          .meaning = linear}),
    ours(dialect::kOwn, "MHAInProjection", kProjectionIn, kQkv, kProjection,
         {.types = {in_projection},
          .products = in_projection,
          .formula = "heads of x W_i^T + b_i, W_i the i-th third of the rows",
          .meaning = in_projection}),
};

}  // namespace

std::span<const OpRow> dialect::projections() { return kDialectProjections; }

}  // namespace ruleengine::ops
