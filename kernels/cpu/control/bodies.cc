#include "kernels/cpu/control/bodies.h"

#include <algorithm>

#include "core/ir/graph.h"
#include "kernels/strided.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {

Body::Body(const Preparation& p, std::string_view attribute)
    : block(p.block(attribute)) {
  const ir::Graph& graph = p.node().graph();
  inputs = graph.block(block).inputs.size();
  for (const ir::ValueId v : graph.block(block).outputs) {
    outputs.push_back(graph.value(v).declared);
  }
}

bool truth(const Datum& value) {
  if (!value.is_tensor() || value.tensor().dtype() != DataType::kBool ||
      value.tensor().count() != 1) {
    fail("wrong type or shape of the condition", "bool", value.text());
  }
  return value.tensor().data<bool>()[0];
}

const Tensor& tensor_of(const Datum& value) {
  if (value.is_tensor()) return value.tensor();
  fail("wrong type of an output of the subgraph", "a tensor", value.text());
}

Tensor never_computed(const Call& c, const Body& body, std::size_t i,
                      std::int64_t size) {
  const ir::Type* type = body.outputs[i];
  if (type == nullptr || !type->is_tensor() ||
      type->elem == DataType::kUndefined) {
    fail("the subgraph never ran, and does not say what type its output " +
         std::to_string(i) + " has");
  }
  Dims dims{size};
  for (const ir::Dim d : type->dims) dims.push_back(d.known() ? d.size() : 0);
  Tensor out = c.allocate(type->elem, dims);
  if (!out.is_string()) {
    std::fill_n(out.mutable_data<std::byte>(), out.byte_size(), std::byte{0});
  }
  return out;
}

Tensor element_at(const Call& c, const Tensor& x, std::int64_t at,
                  DataType dtype) {
  const Tensor out = cut(c, x, 0, at, 1).reshaped(x.dims().subspan(1));
  return runtime::packed(out, dtype, c.run());
}

}  // namespace ruleengine::kernels
