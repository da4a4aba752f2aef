#include "runtime/drawing/sizes_at.h"

#include <algorithm>
#include <cmath>

namespace ruleengine::runtime {

std::optional<double> value_at(const ir::DimTable& dims, ir::Dim d,
                               const SizeOf& sizes) {
  bool is_known = true;
  const double out = dims.value(d, [&](ir::Dim leaf) {
    const auto it = sizes.find(leaf);
    is_known = is_known && it != sizes.end();
    return it == sizes.end() ? 1.0 : static_cast<double>(it->second);
  });
  return is_known && !std::isnan(out) ? std::optional(out) : std::nullopt;
}

std::int64_t size_at(const ir::DimTable& dims, ir::Dim d, const SizeOf& sizes) {
  if (d.known()) return d.size();
  constexpr double kMost = 1e18;  // more than any memory holds
  const auto size = value_at(dims, d, sizes);
  return size ? static_cast<std::int64_t>(std::clamp(*size, 0.0, kMost)) : -1;
}

double elements_at(const ir::DimTable& dims, const ir::Type& type,
                   const SizeOf& sizes) {
  double out = 1;
  for (const ir::Dim d : type.dims) {
    out *= static_cast<double>(size_at(dims, d, sizes));
  }
  return out;
}

double bytes_of_inputs(const ir::Model& model, const SizeOf& sizes) {
  double all = 0;
  const ir::Graph& graph = model.graph;
  for (const ir::ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    const ir::Type* type = graph.value(v).declared;
    if (type == nullptr || !type->is_tensor()) continue;
    all +=
        ir::bit_width(type->elem) / 8.0 * elements_at(model.dims, *type, sizes);
  }
  return all;
}

}  // namespace ruleengine::runtime
