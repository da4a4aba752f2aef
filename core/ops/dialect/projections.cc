// Linear layers.
#include "core/ops/dialect/our_row.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

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
               "the weight takes another size");
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
               "the weight takes another size");
  }
  return true;
}

constexpr OpRow kRows[] = {
    ours(ir::dialect::kOwn, "Linear", kLinearIn, kY, {},
         {.types = {linear}, .formula = "x weight^T + bias"}),
    ours(ir::dialect::kOwn, "MHAInProjection", kProjectionIn, kQkv, kProjection,
         {.types = {in_projection},
          .formula = "heads of x W_i^T + b_i, W_i the i-th third of the rows"}),
};

}  // namespace

std::span<const OpRow> dialect::projections() { return kRows; }

}  // namespace ruleengine::ops
