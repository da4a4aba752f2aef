// Attention, and what turns its queries and keys.
#include "core/ops/families.h"
#include "core/ops/rules/type_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

// Y, present key, present value, scores, of operands [batch, heads, length,
// size]. Operands of rank 3 keep their heads in attributes.
bool attention(const NodeView& v, Outputs out) {
  if (v.opset() < 23 || !v.ranked(0) || !v.ranked(1) || !v.ranked(2) ||
      v.rank(1) != v.rank(0) || v.rank(2) != v.rank(0)) {
    return false;
  }
  std::vector<Dim> q(v.shape(0).begin(), v.shape(0).end());
  std::vector<Dim> k(v.shape(1).begin(), v.shape(1).end());
  std::vector<Dim> values(v.shape(2).begin(), v.shape(2).end());
  const bool flat = q.size() == 3;
  if (flat) {
    const auto heads = v.attribute_int("q_num_heads");
    const auto groups = v.attribute_int("kv_num_heads");
    if (heads <= 0 || groups <= 0) return false;
    const auto apart = [&](std::vector<Dim>& shape, std::int64_t n) {
      shape.back() = v.dims().floor_div(shape.back(), Dim(n));
      shape.insert(shape.begin() + 1, Dim(n));
    };
    apart(q, heads);
    apart(k, groups);
    apart(values, groups);
  }
  if (q.size() != 4) return false;
  Dim total = k[2];
  if (v.has_input(4)) {
    const bool known = v.ranked(4) && v.rank(4) == 4;
    total = known ? v.dims().add(v.shape(4)[2], total) : kUnknown;
  }
  using Shape = std::vector<Dim>;
  const Shape y = flat ? Shape{q[0], q[2], v.dims().mul(q[1], values[3])}
                       : Shape{q[0], q[1], q[2], values[3]};
  const Shape shapes[] = {y,
                          {k[0], k[1], total, k[3]},
                          {k[0], k[1], total, values[3]},
                          {q[0], q[1], q[2], total}};
  const std::size_t like[] = {0, 1, 2, 0};
  for (std::size_t i = 0; i < out.size() && i < 4; ++i) {
    out[i].elem = v.elem(like[i]);
    out[i].set_dims(shapes[i]);
  }
  return true;
}

// Cosines and sines are [B,S,D/2], or where positions pick rows, [P,D/2].
bool rotary_embedding(const NodeView& v, Outputs out) {
  const std::size_t rank = v.has_input(3) ? 2 : 3;
  need_rank(v, 1, rank, "wrong rank of the cosines");
  need_rank(v, 2, rank, "wrong rank of the sines");
  return like_first(v, out);
}

double attention(const SizedNode& n) {
  const double past = n.node.has_input(4) ? n.in(4, -2) : 0;
  return n.attended(n.in(1, -2) + past);
}

constexpr OpRow kStandardAttention[] = {
    {.type = "Attention",
     .roles = {.attention = true},
     .types = {attention},
     .products = attention},
    {.type = "RotaryEmbedding", .types = {rotary_embedding}},
};

}  // namespace

std::span<const OpRow> standard::attention() { return kStandardAttention; }

}  // namespace ruleengine::ops
