#include "core/ops/sized_node.h"

#include <algorithm>

namespace ruleengine::ops {

double Sizes::of(ir::Dim d) {
  if (d.known()) return static_cast<double>(d.size());
  if (d == kUnknown) return kUsual;
  const auto [at, is_new] = known_.emplace(d.id(), 0);
  if (is_new) {
    at->second = std::max(
        0.0, dims_.value(d, [&](ir::Dim leaf) { return of_leaf(leaf); }));
  }
  return at->second;
}

double Sizes::of_leaf(ir::Dim leaf) {
  if (dims_.is_fresh(leaf)) return kUsual;
  const std::string name = dims_.text(leaf);
  const auto given = given_.find(name);
  const std::int64_t size = given == given_.end() ? kUsual : given->second;
  used_.emplace(name, size);
  return static_cast<double>(size);
}

double SizedNode::count(const ir::Type* type) const {
  if (type == nullptr || !type->has_shape) return kUnsized;
  double out = 1;
  for (const ir::Dim d : type->dims) out *= sizes_.of(d);
  return out;
}

double SizedNode::size(const ir::Type* type, int axis) const {
  if (type == nullptr || !type->has_shape) return kUnsized;
  const int rank = static_cast<int>(type->rank());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return kUnsized;
  return sizes_.of(type->dims[static_cast<std::size_t>(axis)]);
}

}  // namespace ruleengine::ops
