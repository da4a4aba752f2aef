#include "core/ops/rules/element_helpers.h"

#include <utility>

#include "core/ir/shapes.h"

namespace ruleengine::ops {

using ir::Dim;

MaybeElements copied(const NodeView& v, std::size_t i) {
  const auto in = v.elements(i);
  if (!in) return std::nullopt;
  return Elements(in->begin(), in->end());
}

Ints sizes_of(std::span<const Dim> shape) {
  Ints out;
  for (Dim d : shape) out.push_back(d.size());
  return out;
}

Elements picked(std::span<const Dim> from, const Ints& places) {
  Elements out;
  for (std::int64_t p : places)
    out.push_back(from[static_cast<std::size_t>(p)]);
  return out;
}

Elements spread(const NodeView& v, std::size_t i, const Ints& dims) {
  return picked(*v.elements(i), broadcast_places(sizes_of(v.shape(i)), dims));
}

std::optional<Ints> common_shape(const NodeView& v, std::size_t n) {
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < n; ++i) {
    if (!v.elements(i)) return std::nullopt;
    auto next = broadcast(v.dims(), dims, v.shape(i));
    const auto count = next ? known_count(*next) : std::nullopt;
    if (!count || *count > kMaxElements) return std::nullopt;
    dims = std::move(*next);
  }
  return sizes_of(dims);
}

std::optional<std::size_t> wanted(const NodeView& v) {
  const ir::Type* t = v.output_type(0);
  if (t == nullptr || !t->has_shape) return std::nullopt;
  const auto n = known_count(t->dims);
  if (!n || *n > kMaxElements) return std::nullopt;
  return static_cast<std::size_t>(*n);
}

}  // namespace ruleengine::ops
