#include "core/ops/rules/element_helpers.h"

#include "core/ir/shapes.h"

namespace ruleengine::ops {

using ir::Dim;

MaybeElements copied(const NodeView& v, std::size_t i) {
  const auto in = v.elements(i);
  if (!in) return std::nullopt;
  return Elements(in->begin(), in->end());
}

// The shape of an input whose elements are known.
Ints shape_of(const NodeView& v, std::size_t i) {
  Ints out;
  for (Dim d : v.shape(i)) out.push_back(d.size());
  return out;
}

Elements picked(std::span<const Dim> from, const Ints& places) {
  Elements out;
  for (std::int64_t p : places)
    out.push_back(from[static_cast<std::size_t>(p)]);
  return out;
}

// Places in input `i` for every element of the broadcast to `dims`.
std::vector<std::size_t> spread(const NodeView& v, std::size_t i,
                                const Ints& dims) {
  std::vector<std::size_t> out;
  for_each_broadcast(shape_of(v, i), dims,
                     [&](std::size_t, std::size_t at) { out.push_back(at); });
  return out;
}

// The broadcast of the inputs' shapes; none when one is not followed.
std::optional<Ints> common_shape(const NodeView& v, std::size_t n) {
  Ints dims;
  for (std::size_t i = 0; i < n; ++i) {
    if (!v.elements(i)) return std::nullopt;
    const auto next = broadcast_dims(dims, shape_of(v, i));
    if (!next || !count_of(*next, kMaxElements)) return std::nullopt;
    dims = *next;
  }
  return dims;
}

// The number of elements that the output's type says.
std::optional<std::size_t> wanted(const NodeView& v) {
  const ir::Type* t = v.output_type(0);
  if (t == nullptr || !t->has_shape) return std::nullopt;
  const auto n = known_count(t->dims);
  if (!n || *n > kMaxElements) return std::nullopt;
  return static_cast<std::size_t>(*n);
}

}  // namespace ruleengine::ops
