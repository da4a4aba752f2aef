// FlexAttention: scores and weights pass through subgraphs, so all of them are
// held.
#include <algorithm>
#include <cmath>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/attention/attending.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/norms/softmax.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

// The subgraph's answer, of the same shape and type.
Tensor modified(Call& c, std::string_view name, ir::BlockId block,
                const Tensor& t, DataType type) {
  const auto out =
      c.run_block(block, {Datum(runtime::narrowed(t, type, c.run()))});
  if (out.size() != 1 || !out[0].is_tensor()) {
    fail("wrong outputs of subgraph '" + std::string(name) + "'", "one tensor",
         std::to_string(out.size()) + " outputs");
  }
  const Tensor& to = out[0].tensor();
  if (to.dtype() != type || !std::ranges::equal(to.dims(), t.dims())) {
    fail("wrong type or shape of the output of subgraph '" + std::string(name) +
             "'",
         runtime::text_of(type, t.dims()), to.text());
  }
  return runtime::widened(to, c.run());
}

Attending read_flex_inputs(Call& c, const ScoreScale& scale) {
  const Tensor& q = c.expect_rank(0, 4);
  const Tensor& k = c.expect_shape(1, Dims{q.dim(0), -1, -1, q.dim(3)});
  const Tensor& v = c.expect_shape(2, Dims{q.dim(0), k.dim(1), k.dim(2), -1});
  Attending a;
  set_queries(a, runtime::widened(q, c.run()), 0);
  set_keys(a, runtime::widened(k, c.run()), runtime::widened(v, c.run()));
  a.out_at = split_strides(a.heads, a.queries, a.v_size);
  a.scale = scale.of(a.k_size);
  check_attending(a);
  return a;
}

struct FlexAttention {
  explicit FlexAttention(const Preparation& p)
      : scale(p, "scale"),
        precision(p.has_attribute("softmax_precision")
                      ? p.attribute_type("softmax_precision")
                      : DataType::kUndefined) {
    if (p.has_attribute("score_mod")) score_mod = p.block("score_mod");
    if (p.has_attribute("prob_mod")) prob_mod = p.block("prob_mod");
  }
  void operator()(Call& c) const;

  ScoreScale scale;
  ir::BlockId score_mod, prob_mod;  // subgraphs, which may be absent
  DataType precision;               // kUndefined: that of the inputs
};

void FlexAttention::operator()(Call& c) const {
  const DataType given = c.input(0).dtype();
  Attending a = read_flex_inputs(c, scale);
  const std::int64_t dims[] = {a.batch, a.heads, a.queries, a.v_size};
  DataType type = precision == DataType::kUndefined ? a.q.dtype() : precision;
  const bool is_double =
      type == DataType::kDouble || a.q.dtype() == DataType::kDouble;
  const DataType in = is_double ? DataType::kDouble : DataType::kFloat;
  a.q = in_type(c, a.q, in);
  a.k = in_type(c, a.k, in);
  a.v = in_type(c, a.v, in);
  // Weights of a narrower type than they are computed in would be widened to
  // another type than that.
  if (is_double && type != DataType::kDouble) type = in;
  Tensor y = c.allocate(in, dims);
  if (!score_mod && !prob_mod) {
    attend(c, a, y);
  } else {
    const std::int64_t all[] = {a.batch, a.heads, a.queries, a.keys};
    Tensor scores = c.allocate(in, all);
    dispatch(Floats(), in, [&]<typename T>() {
      const std::int64_t rows = a.batch * a.heads * a.queries;
      c.threads().for_each_index(rows, 16, [&](std::int64_t i) {
        score_row<T>(a, i, scores.mutable_data<T>() + i * a.keys);
      });
      if (score_mod) {
        scores = modified(c, "score_mod", score_mod, scores, type);
      }
      // Rows of NaN where all scores are -infinity, as the definition gives.
      c.threads().for_each_index(rows, 16, [&](std::int64_t i) {
        T* row = scores.mutable_data<T>() + i * a.keys;
        runtime::for_vectors(
            [&]() RULEENGINE_INLINE { softmax_row(row, a.keys, row); });
      });
      if (prob_mod) scores = modified(c, "prob_mod", prob_mod, scores, type);
      c.threads().for_each(rows, 16, [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> sums(index_of(a.v_size));
        for (std::int64_t i = begin; i < end; ++i) {
          gather_row(a, i, scores.data<T>() + i * a.keys, true, sums.data(),
                     y.mutable_data<T>() + i * a.v_size);
        }
      });
    });
  }
  if (!ir::is_narrow_float(given)) y = in_type(c, y, given);
  c.set_output(0, runtime::narrowed(y, given, c.run()));
}

}  // namespace

Op flex_attention(const Preparation& p) { return FlexAttention(p); }

}  // namespace ruleengine::kernels
