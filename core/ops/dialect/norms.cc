// Norms of what lies on one rank.
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::ValueId;
constexpr FormalValue kNormIn[] = {in("x"), opt("weight")};

constexpr FormalValue kAddNormIn[] = {in("x"), in("residual"), opt("weight")};

constexpr FormalValue kAddNorm2Out[] = {in("Y"), opt("sum")};

constexpr FormalAttribute kNorm[] = {with("epsilon", 1e-6f)};

// Of the first input's element type, and as wide as all inputs together: what
// is computed element by element with whatever broadcasts.
bool like_all(const NodeView& v, Outputs out, std::size_t count) {
  Dims shape;
  bool ranked = true;
  for (std::size_t i = 0; i < count && ranked; ++i) {
    if (i > 0 && !v.has_input(i)) continue;
    ranked = v.ranked(i);
    if (ranked) shape = broadcast_shapes(v, shape, v.shape(i));
  }
  for (Inferred& o : out) {
    o.elem = v.elem(0);
    if (ranked) o.set_dims(shape);
  }
  return true;
}

// A weight goes along the last axis, but nothing keeps it from being wider.
bool norm(const NodeView& v, Outputs out) { return like_all(v, out, 2); }

bool norm_of_sum(const NodeView& v, Outputs out) { return like_all(v, out, 3); }

// The second output is the sum alone.
bool norm_and_sum(const NodeView& v, Outputs out) {
  like_all(v, out, 3);
  if (out.size() > 1) like_all(v, out.subspan(1), 2);
  loosely(v, out);
  return true;
}

// --- Meanings ----------------------------------------------------------------

// x / sqrt(mean(x^2) + epsilon) w along the last axis; narrow floats in float.
ValueId norm(const CallSite& call, ValueId x) {
  Body& body = call.body();
  const Wide wide(call, "x");
  x = wide.cast(x, wide.own());
  const ValueId mean = body.node(
      "ReduceMean",
      {body.node("Mul", {x, x}, "squares"), body.integers({-1}, "last")},
      "mean");
  const ValueId epsilon =
      body.number(call.float_of("epsilon"), wide.elem(), "epsilon");
  const ValueId root = body.node(
      "Sqrt", {body.node("Add", {mean, epsilon}, "mean_and_more")}, "root");
  ValueId y = body.node("Div", {x, root}, "normalized");
  if (call["weight"]) {
    y = body.node("Mul", {y, wide.input("weight")}, "weighted");
  }
  return wide.elem() == wide.own() ? y : body.cast(y, wide.own(), "Y");
}

Body::Values rms_norm(const CallSite& call) { return {norm(call, call["x"])}; }

// add_rms_norm and add_rms_norm2, whose second output is the sum.
Body::Values add_rms_norm(const CallSite& call) {
  const ValueId sum =
      call.body().node("Add", {call["x"], call["residual"]}, "sum");
  return {norm(call, sum), sum};
}

constexpr OpRow kDialectNorms[] = {
    ours(dialect::kCast, "add_rms_norm", kAddNormIn, kY, kNorm,
         {.roles = {.normalizing = true},
          .types = {norm_of_sum},
          .axes = flow_norm,
          .formula = "rms_norm(x + residual, weight)",
          .meaning = add_rms_norm}),
    ours(dialect::kCast, "add_rms_norm2", kAddNormIn, kAddNorm2Out, kNorm,
         {.roles = {.normalizing = true},
          .types = {norm_and_sum},
          .axes = flow_norm,
          .sum_output = 1,
          .formula = "rms_norm(x + residual, weight), x + residual",
          .meaning = add_rms_norm}),
    ours(dialect::kCast, "rms_norm", kNormIn, kY, kNorm,
         {.roles = {.normalizing = true},
          .types = {norm},
          .axes = flow_norm,
          .formula = "x / sqrt(mean(x^2) + epsilon) weight, along the "
                     "last axis",
          .meaning = rms_norm}),
};

}  // namespace

std::span<const OpRow> dialect::norms() { return kDialectNorms; }

}  // namespace ruleengine::ops
