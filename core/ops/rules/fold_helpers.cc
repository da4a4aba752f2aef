#include "core/ops/rules/fold_helpers.h"

#include "core/ir/shapes.h"

namespace ruleengine::ops {

// Operands that say where and how much are short lists.
constexpr std::int64_t kLongestList = 1 << 16;

std::optional<Ints> Call::ints(std::size_t i) const {
  const ir::Literal* t = input(i);
  if (t == nullptr || !ir::is_integer(t->dtype)) return std::nullopt;
  return ir::to_ints(*t, model().external.get(), kLongestList);
}

std::optional<NodeView::MaybeInts> Call::ints_of(std::string_view name,
                                                 std::size_t i) const {
  const bool said = node.attribute(name) != nullptr;
  if (!said && input(i) == nullptr) return NodeView::MaybeInts();
  auto read = said ? node.attribute_ints(name) : ints(i);
  if (!read) return std::nullopt;
  return read;
}

const ir::Literal* make_tensor(ir::Model& model, ir::DataType dtype,
                               std::span<const std::int64_t> dims,
                               std::span<const std::byte> arena_bytes) {
  ir::Literal t;
  t.dtype = dtype;
  t.dims = model.arena.copy(dims);
  t.bytes = arena_bytes;
  return model.arena.make<ir::Literal>(t);
}

Folded one(const ir::Literal* t) {
  if (t == nullptr) return std::nullopt;
  return std::vector<const ir::Literal*>{t};
}

Folded one(const Call& call, const Numbers& n) {
  return one(write_numbers(call.model(), n));
}

std::optional<std::vector<bool>> flags(const Ints& axes, std::size_t rank) {
  std::vector<bool> out(rank);
  for (std::int64_t axis : axes) {
    const auto place = ir::place_of_axis(axis, rank);
    if (!place) return std::nullopt;
    out[*place] = true;
  }
  return out;
}

}  // namespace ruleengine::ops
