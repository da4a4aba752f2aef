#include "core/ops/dialect/our_row.h"

namespace ruleengine::ops {

using ir::Dim;

bool all_like_first(const NodeView& v, Outputs out) {
  for (Inferred& o : out) copy_type(v, 0, o);
  return true;
}

void loosely(const NodeView& v, Outputs out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const ir::ValueId value = v.graph().output(v.id(), i);
    const ir::Type* declared =
        value ? v.graph().value(value).declared : nullptr;
    if (declared != nullptr && declared->has_shape && out[i].ranked &&
        (declared->rank() == out[i].dims.size() + 1 ||
         declared->rank() + 1 == out[i].dims.size())) {
      out[i].ranked = false;
      out[i].dims.clear();
    }
  }
}

Dim count(std::int64_t n) { return n > 0 ? Dim(n) : kUnknown; }

Dim product(const NodeView& v, Dim a, Dim b) {
  return a == kUnknown || b == kUnknown ? kUnknown : v.dims().mul(a, b);
}

void set_gemm(const NodeView& v, std::size_t left, std::size_t right,
              Inferred& out) {
  if (!v.ranked(left) || !v.ranked(right) || v.rank(left) != 2 ||
      v.rank(right) != 2) {
    return;
  }
  const std::size_t rows = v.attribute_int("transA") != 0 ? 1 : 0;
  const std::size_t columns = v.attribute_int("transB") != 0 ? 0 : 1;
  out.set_dims(Shape{v.shape(left)[rows], v.shape(right)[columns]});
}

ir::DataType out_dtype(const NodeView& v) {
  return static_cast<ir::DataType>(v.attribute_int("out_dtype"));
}

void widen(const NodeView& v, std::size_t i, Inferred& out) {
  if (!out.ranked || !v.has_input(i)) return;
  if (v.ranked(i)) {
    out.set_dims(broadcast_shapes(v, out.dims, v.shape(i)));
  } else if (out.dims.empty()) {
    out.ranked = false;  // a vector of one element gives a scalar an axis
  }
}

}  // namespace ruleengine::ops
