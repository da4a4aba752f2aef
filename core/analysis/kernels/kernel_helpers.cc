#include <algorithm>

#include "core/analysis/kernels/kernels.h"
#include "core/ops/op_facts.h"

namespace ruleengine::analysis {

// Operands that say where and how much are short lists.
constexpr std::int64_t kLongestList = 1 << 16;

std::int64_t Call::attribute_int(std::string_view name) const {
  const ir::Op& op = graph.op(node);
  return ir::int_of(
      graph.attribute(node, name),
      ir::find_attribute(op.domain, op.type, static_cast<int>(opset), name));
}

std::optional<Ints> Call::ints(std::size_t i) const {
  const ir::Tensor* t = input(i);
  if (t == nullptr || !ir::is_integer(t->dtype)) return std::nullopt;
  return ir::to_ints(*t, model().external.get(), kLongestList);
}

std::optional<std::optional<Ints>> Call::ints_of(std::string_view name,
                                                 std::size_t i) const {
  const ir::Attribute* a = graph.attribute(node, name);
  if (a != nullptr) {
    if (a->kind != ir::AttributeKind::kInts) return std::nullopt;
    return Ints(a->ints.begin(), a->ints.end());
  }
  if (input(i) == nullptr) return std::optional<Ints>();
  auto read = ints(i);
  if (!read) return std::nullopt;
  return read;
}

const ir::Tensor* make_tensor(ir::Model& model, ir::DataType dtype,
                              std::span<const std::int64_t> dims,
                              std::span<const std::byte> arena_bytes) {
  ir::Tensor t;
  t.dtype = dtype;
  t.dims = model.arena.copy(dims);
  t.bytes = arena_bytes;
  return model.arena.make<ir::Tensor>(t);
}

}  // namespace ruleengine::analysis
