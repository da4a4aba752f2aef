#include "core/rewrite/bodies/attention_body.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using Mask = AttentionVariant::Mask;

// Key heads, each repeated for the query heads that share it.
ValueId repeat_heads(Body& body, ValueId x, const AttentionVariant& v,
                     std::int64_t own, std::string_view name) {
  if (own == 0) return x;
  std::vector<std::int64_t> which(static_cast<std::size_t>(v.heads));
  for (std::size_t i = 0; i < which.size(); ++i) {
    which[i] = static_cast<std::int64_t>(i) / (v.heads / own);
  }
  return body.node("Gather", {x, body.integers(which, "heads")}, name,
                   {Body::integer("axis", v.rank - 3)});
}

// The factor of the scores, put on the smaller side so that float16 does not
// overflow before it is scaled.
ValueId scaled(Body& body, ValueId q, const AttentionVariant& v) {
  if (v.scale || v.scale_size > 0) {
    const double size = static_cast<double>(v.scale_size);
    const float scale =
        v.scale ? *v.scale : static_cast<float>(1.0 / std::sqrt(size));
    if (scale == 1.0f) return q;
    return body.node("Mul", {q, body.number(scale, "scale")}, "scaled_Q");
  }
  const ValueId shape = body.node("Shape", {q}, "shape");
  const ValueId last = body.integers({v.rank - 1}, "last");
  const ValueId size = body.node("Gather", {shape, last}, "size");
  const ValueId real =
      body.node("Cast", {size}, "size_float",
                {Body::integer("to", std::int64_t(ir::DataType::kFloat))});
  const ValueId root = body.node("Sqrt", {real}, "root");
  const ValueId divisor =
      body.opset() >= 15
          ? body.node("CastLike", {root, q}, "divisor")
          : body.node("Cast", {root}, "divisor",
                      {Body::integer("to", std::int64_t(v.elem))});
  return body.node("Div", {q, divisor}, "scaled_Q");
}

// true where the key is not behind the query; [S, L].
ValueId causal_mask(Body& body, ValueId q, ValueId k,
                    const AttentionVariant& v) {
  const ValueId axis = body.integers({v.rank - 2}, "length_axis", true);
  const ValueId zero = body.integers({0}, "zero", true);
  const ValueId one = body.integers({1}, "one", true);
  const auto range = [&](ValueId x, std::string_view name) {
    const ValueId shape = body.node("Shape", {x}, "shape");
    const ValueId length = body.node("Gather", {shape, axis}, "length");
    return body.node("Range", {zero, length, one}, name);
  };
  const ValueId column = body.integers({-1, 1}, "column");
  const ValueId query =
      body.node("Reshape", {range(q, "query_places"), column}, "query_column");
  const ValueId behind =
      body.node("Greater", {range(k, "key_places"), query}, "behind");
  return body.node("Not", {behind}, "visible");
}

// softcap * tanh(s / softcap)
ValueId capped(Body& body, ValueId s, float softcap) {
  if (softcap == 0) return s;
  const ValueId cap = body.number(softcap, "softcap");
  const ValueId part = body.node("Div", {s, cap}, "scores_of_cap");
  const ValueId bent = body.node("Tanh", {part}, "scores_bent");
  return body.node("Mul", {bent, cap}, "capped_scores");
}

ValueId masked(Body& body, ValueId s, const AttentionVariant& v,
               const AttentionInputs& in) {
  ValueId never;
  if (v.causal || v.mask == Mask::kBool) {
    never = body.number(-std::numeric_limits<float>::infinity(), "never");
  }
  if (v.causal) {
    const ValueId visible = causal_mask(body, in.q, in.k, v);
    s = body.node("Where", {visible, s, never}, "causal_scores");
  }
  if (v.mask == Mask::kBool) {
    s = body.node("Where", {in.mask, s, never}, "masked_scores");
  } else if (v.mask == Mask::kAdded) {
    s = body.node("Add", {s, in.mask}, "masked_scores");
  }
  return s;
}

ValueId softmax(Body& body, ValueId s, const AttentionVariant& v) {
  const ValueId p = body.node("Softmax", {s}, "probabilities",
                              {Body::integer("axis", v.rank - 1)});
  // Only a mask hides every key of a query, which then gives zeros; to look for
  // such rows costs as much as a tenth of the attention.
  if (v.mask == Mask::kNone) return p;
  const ValueId none = body.node("IsNaN", {p}, "sees_nothing");
  return body.node("Where", {none, body.number(0, "nothing"), p}, "weights");
}

ValueId swap_last(Body& body, ValueId x, std::int64_t rank) {
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return body.node("Transpose", {x}, "keys_transposed",
                   {body.ints("perm", perm)});
}

}  // namespace

ValueId attend(Body& body, const AttentionVariant& v, const AttentionInputs& in,
               std::string_view result) {
  body.set_float_type(v.elem, in.q);
  const ValueId k = repeat_heads(body, in.k, v, v.key_heads, "all_keys");
  const ValueId values =
      repeat_heads(body, in.v, v, v.value_heads, "all_values");
  const ValueId keys = swap_last(body, k, v.rank);
  ValueId s = body.node("MatMul", {scaled(body, in.q, v), keys}, "scores");
  s = masked(body, capped(body, s, v.softcap), v, in);
  const ValueId p = softmax(body, s, v);
  return body.node("MatMul", {p, values}, result);
}

void write_attention(Body& body, const AttentionVariant& v,
                     std::span<const std::string_view> formals,
                     std::string_view result,
                     std::span<const ir::Attribute> call) {
  AttentionInputs in;
  in.q = body.input(formals[0]);
  in.k = body.input(formals[1]);
  in.v = body.input(formals[2]);
  if (v.mask != Mask::kNone) in.mask = body.input(formals[3]);
  body.finish({attend(body, v, in, result)}, call);
}

}  // namespace ruleengine::rewrite
