#include "core/ops/rules/lazy_tensors.h"

#include <algorithm>

namespace ruleengine::ops {
namespace {

constexpr std::int64_t kMaxLeaves = 65'536;
// Cutting goes through every level of what was joined.
constexpr std::int64_t kMaxCutLeaves = 4096;

std::int64_t leaves_of(std::span<const ir::LazyPart> parts) {
  std::int64_t leaves = 0;
  for (const ir::LazyPart& part : parts) {
    const ir::Lazy* inner = part.tensor->lazy;
    leaves += inner == nullptr ? 1 : inner->leaves;
  }
  return leaves;
}

// The size of a part along `axis`, the one along which it may be cut.
std::int64_t size_of(const ir::LazyPart& part, std::size_t axis) {
  if (part.is_cut()) return part.count;
  return part.tensor->dims[part.transpose ? 1 - axis : axis];
}

// What [begin, begin + count) along `axis` keeps of parts joined along it.
std::vector<ir::LazyPart> kept(std::span<const ir::LazyPart> parts,
                               std::size_t axis, std::int64_t begin,
                               std::int64_t count) {
  std::vector<ir::LazyPart> out;
  for (ir::LazyPart part : parts) {
    const std::int64_t size = size_of(part, axis);
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    const std::int64_t to = std::min(begin + count, size);
    begin -= size;
    if (from >= to) continue;
    if (from > 0 || to < size) {
      part.begin += from;
      part.count = to - from;
    }
    out.push_back(part);
  }
  return out;
}

}  // namespace

const ir::Literal* empty_tensor(ir::Model& model, ir::DataType dtype,
                                std::span<const std::int64_t> dims) {
  return model.arena.make<ir::Literal>(
      ir::Literal{.dtype = dtype, .dims = model.arena.copy(dims)});
}

const ir::Literal* lazy_concat(ir::Model& model,
                               std::span<const std::int64_t> dims,
                               std::span<const ir::LazyPart> parts,
                               std::size_t axis) {
  if (leaves_of(parts) > kMaxLeaves) return nullptr;
  ir::Literal t;
  t.dtype = parts[0].tensor->dtype;
  t.storage = ir::Storage::kLazy;
  t.dims = model.arena.copy(dims);
  t.lazy = model.arena.make<ir::Lazy>(ir::Lazy{model.arena.copy(parts),
                                               static_cast<std::int64_t>(axis),
                                               leaves_of(parts)});
  return model.arena.make<ir::Literal>(t);
}

const ir::Literal* lazy_transpose(ir::Model& model, const ir::Literal& t) {
  if (t.storage == ir::Storage::kLazy && t.lazy->is_turned()) {
    return t.lazy->parts[0].tensor;
  }
  const ir::LazyPart part{&t, true};
  const std::int64_t dims[] = {t.dims[1], t.dims[0]};
  return lazy_concat(model, dims, {&part, 1}, 0);
}

const ir::Literal* lazy_slice(ir::Model& model, const ir::Literal& t,
                              std::size_t axis, std::int64_t begin,
                              std::int64_t count) {
  if (begin == 0 && count == t.dims[axis]) return &t;
  std::vector<std::int64_t> dims(t.dims.begin(), t.dims.end());
  dims[axis] = count;
  const ir::LazyPart cut{.tensor = &t, .begin = begin, .count = count};
  if (t.storage != ir::Storage::kLazy) {
    return lazy_concat(model, dims, {&cut, 1}, axis);
  }
  if (t.lazy->leaves > kMaxCutLeaves) return nullptr;
  std::vector<ir::LazyPart> parts(t.lazy->parts.begin(), t.lazy->parts.end());
  const auto joined = static_cast<std::size_t>(t.lazy->axis);
  if (joined == axis && (parts.size() > 1 || parts[0].is_cut())) {
    parts = kept(parts, axis, begin, count);
  } else {
    for (ir::LazyPart& part : parts) {
      part.tensor = lazy_slice(model, *part.tensor,
                               part.transpose ? 1 - axis : axis, begin, count);
      if (part.tensor == nullptr) return nullptr;
    }
  }
  if (parts.size() > 1 || parts[0].is_cut()) {
    return lazy_concat(model, dims, parts, joined);
  }
  return parts[0].transpose ? lazy_transpose(model, *parts[0].tensor)
                            : parts[0].tensor;
}

}  // namespace ruleengine::ops
