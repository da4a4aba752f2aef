// The meaning of norms by the root of the mean square, and of markers.
#include "core/rewrite/meanings/meanings.h"

namespace ruleengine::rewrite::meanings {
namespace {

using ir::ValueId;

// x / sqrt(mean(x^2) + epsilon) w along the last axis; narrow floats in float.
ValueId norm(const Call& call, ValueId x) {
  Body& body = call.body();
  const Wide wide(call, "x");
  x = wide.cast(x, wide.own());
  const ValueId mean =
      body.node("ReduceMean",
                {body.node("Mul", {x, x}, "squares"),
                 body.integers({-1}, "last")},
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

}  // namespace

Body::Values rms_norm(const Call& call) { return {norm(call, call["x"])}; }

// add_rms_norm and add_rms_norm2, whose second output is the sum.
Body::Values add_rms_norm(const Call& call) {
  const ValueId sum =
      call.body().node("Add", {call["x"], call["residual"]}, "sum");
  return {norm(call, sum), sum};
}

Body::Values marker(const Call& call) {
  return {call.body().node("Identity", {call["X"]}, "Y")};
}

}  // namespace ruleengine::rewrite::meanings
