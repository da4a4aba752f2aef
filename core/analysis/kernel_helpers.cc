#include <algorithm>

#include "core/analysis/kernels.h"

namespace ruleengine::analysis {

// Operands that say where and how much are short lists.
constexpr std::int64_t kLongestList = 1 << 16;

std::int64_t Call::attribute_int(std::string_view name,
                                 std::int64_t fallback) const {
  const ir::Attribute* a = graph.attribute(node, name);
  return a != nullptr && a->kind == ir::AttributeKind::kInt ? a->i : fallback;
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

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims,
                                     std::int64_t limit) {
  const auto n = count_of(dims);
  return n && *n <= limit ? n : std::nullopt;
}

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims) {
  std::int64_t out = 1;
  bool empty = false;
  for (std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty = empty || d == 0;
    if (d != 0 && __builtin_mul_overflow(out, d, &out)) return std::nullopt;
  }
  return empty ? 0 : out;
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

Ints strides_of(std::span<const std::int64_t> dims) {
  Ints out(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) {
    out[i - 1] = out[i] * dims[i];
  }
  return out;
}

std::optional<Ints> broadcast_dims(std::span<const std::int64_t> a,
                                   std::span<const std::int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Ints out(a.begin(), a.end());
  const std::size_t skip = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    std::int64_t& d = out[skip + i];
    if (d == 1) d = b[i];
    if (b[i] != 1 && b[i] != d) return std::nullopt;
  }
  return out;
}

}  // namespace ruleengine::analysis
