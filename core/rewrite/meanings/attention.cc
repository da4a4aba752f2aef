// The meaning of attention: softmax(cap(q k^T scale) + causal + mask) v.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/rewrite/meanings/meanings.h"

namespace ruleengine::rewrite::meanings {
namespace {

using ir::ValueId;

// The names that the inputs have in the rows of the three ops.
struct Names {
  std::string_view q, k, v, mask;
};

class Attention {
 public:
  Attention(const Call& call, const Names& names)
      : call_(call),
        body_(call.body()),
        names_(names),
        rank_(static_cast<std::int64_t>(call.rank_or(names.q, 4))) {
    if (rank_ != 4) body_.note(fmt::format("rank{}", rank_));
  }

  Body::Values write(std::string_view scale_attribute, float softcap) {
    if (rank_ < 2) body_.refuse("queries have less than two axes", q());
    const ValueId k = repeated(names_.k, "all_keys");
    const ValueId values = repeated(names_.v, "all_values");
    ValueId s = body_.node("MatMul", {scaled(scale_attribute), swapped(k)},
                           "scores");
    s = masked(capped(s, softcap));
    return {body_.node("MatMul", {softmax(s), values}, "Y")};
  }

 private:
  ValueId q() const { return call_[names_.q]; }
  ValueId mask() const { return call_[names_.mask]; }

  // Heads of queries.
  std::int64_t heads() const {
    const std::int64_t said =
        call_.has_attribute("num_heads") ? call_.quiet_int("num_heads") : 0;
    return said > 0 ? said : call_.quiet_size(names_.q, 3);
  }

  // Heads of keys or values, each once for each query head that shares it.
  ValueId repeated(std::string_view input, std::string_view name) {
    const ValueId x = call_[input];
    const std::int64_t own = call_.quiet_size(input, 3), all = heads();
    if (rank_ < 3 || own <= 0 || all <= own || all % own != 0) return x;
    body_.note(fmt::format("{}_{}of{}", input, own, all));
    std::vector<std::int64_t> which(static_cast<std::size_t>(all));
    for (std::size_t i = 0; i < which.size(); ++i) {
      which[i] = static_cast<std::int64_t>(i) / (all / own);
    }
    return body_.node("Gather", {x, body_.integers(which, "heads")}, name,
                      {Body::integer("axis", rank_ - 3)});
  }

  // The factor of the scores is put on the smaller side, so that float16 does
  // not overflow before it is scaled. The default is 1 / sqrt(size of a head).
  ValueId scaled(std::string_view attribute) {
    const bool written = call_.is_written(attribute);
    const std::int64_t size = written ? 0 : call_.size(names_.q, 1);
    if (!written && size <= 0) return divided_by_root();
    const float scale =
        written ? call_.float_of(attribute)
                : static_cast<float>(1.0 / std::sqrt(static_cast<double>(size)));
    if (scale == 1.0f) return q();
    return body_.node("Mul", {q(), body_.number(scale, q(), "scale")},
                      "scaled_Q");
  }

  ValueId divided_by_root() {
    const ValueId shape = body_.node("Shape", {q()}, "shape");
    const ValueId size = body_.node(
        "Gather", {shape, body_.integers({rank_ - 1}, "last")}, "size");
    const ValueId real = body_.node(
        "Cast", {size}, "size_float",
        {Body::integer("to", static_cast<std::int64_t>(ir::DataType::kFloat))});
    const ValueId root = body_.node("Sqrt", {real}, "root");
    return body_.node("Div", {q(), body_.like(root, q(), "divisor")},
                      "scaled_Q");
  }

  ValueId swapped(ValueId k) {
    std::vector<std::int64_t> perm(static_cast<std::size_t>(rank_));
    std::iota(perm.begin(), perm.end(), std::int64_t{0});
    if (rank_ >= 2) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return body_.node("Transpose", {k}, "keys_transposed",
                      {body_.ints("perm", perm)});
  }

  // softcap tanh(s / softcap)
  ValueId capped(ValueId s, float softcap) {
    if (softcap == 0) return s;
    const ValueId cap = body_.number(softcap, q(), "softcap");
    const ValueId part = body_.node("Div", {s, cap}, "scores_of_cap");
    return body_.node("Mul", {body_.node("Tanh", {part}, "scores_bent"), cap},
                      "capped_scores");
  }

  ValueId masked(ValueId s) {
    const auto never = [&] {
      constexpr float kNever = -std::numeric_limits<float>::infinity();
      return body_.number(kNever, q(), "never");
    };
    if (call_.int_of("is_causal") != 0) {
      s = body_.node("Where", {behind(), never(), s}, "causal_scores");
    }
    if (!mask()) return s;
    if (call_.elem(names_.mask) == ir::DataType::kBool) {
      return body_.node("Where", {mask(), s, never()}, "masked_scores");
    }
    return body_.node("Add", {s, mask()}, "masked_scores");
  }

  // [S, L]: true where the key is behind the query.
  ValueId behind() {
    const ValueId query =
        body_.node("Unsqueeze", {places(names_.q), body_.integers({1}, "axis")},
                   "query_column");
    const ValueId key =
        body_.node("Unsqueeze", {places(names_.k), body_.integers({0}, "axis")},
                   "key_row");
    return body_.node("Greater", {key, query}, "behind");
  }

  // 0, 1, ... along the axis before the last one.
  ValueId places(std::string_view input) {
    const ValueId shape = body_.node("Shape", {call_[input]}, "shape");
    const ValueId axis = body_.integers({rank_ - 2}, "length_axis", true);
    const ValueId length = body_.node("Gather", {shape, axis}, "length");
    return body_.node("Range",
                      {body_.integers({0}, "zero", true), length,
                       body_.integers({1}, "one", true)},
                      "places");
  }

  ValueId softmax(ValueId s) {
    body_.set_rank(s, static_cast<std::size_t>(rank_));
    const ValueId p = body_.node("Softmax", {s}, "probabilities",
                                 {Body::integer("axis", rank_ - 1)});
    // Only a mask hides every key of a query, which then gives zeros; to look
    // for such rows costs as much as a tenth of the attention.
    if (!mask()) return p;
    const ValueId none = body_.node("IsNaN", {p}, "sees_nothing");
    return body_.node("Where", {none, body_.number(0, q(), "nothing"), p},
                      "weights");
  }

  const Call& call_;
  Body& body_;
  Names names_;
  std::int64_t rank_;
};

}  // namespace

Body::Values scaled_dot_product_attention(const Call& call) {
  return Attention(call, {"Q", "K", "V", "attn_mask"})
      .write("scale", call.float_of("softcap"));
}

Body::Values functional_attention(const Call& call) {
  return Attention(call, {"q", "k", "v", "attn_mask"}).write("scale", 0);
}

Body::Values attention_forward(const Call& call) {
  return Attention(call, {"q", "k", "v", "attention_mask"})
      .write("sm_scale", 0);
}

}  // namespace ruleengine::rewrite::meanings
