#include "core/ir/shapes.h"

#include <algorithm>

#include "core/base/diagnostic.h"

namespace ruleengine::ir {

std::optional<Dim> broadcast_dim(DimTable& dims, Dim a, Dim b) {
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  if (a.known() && b.known()) return std::nullopt;
  // A known size other than 1 is the result: the symbol is then 1 or the same.
  if (a.known()) return a;
  if (b.known()) return b;
  // A valid broadcast has equal sizes or a 1, so the larger one is the result,
  // e.g. min(S, 64) against S for a slice of a mask that was made for the
  // maximum length.
  if (dims.max(a, Dim(0)) == b) return a;  // a size is not negative
  if (dims.max(b, Dim(0)) == a) return b;
  if (dims.nonnegative(dims.sub(a, b))) return a;
  if (dims.nonnegative(dims.sub(b, a))) return b;
  if (dims.provably_different(a, Dim(1)) &&
      dims.provably_different(b, Dim(1)) && !dims.provably_different(a, b)) {
    return a;  // neither is 1, so they must be equal
  }
  return std::nullopt;
}

std::optional<std::vector<Dim>> broadcast(DimTable& dims,
                                          std::span<const Dim> a,
                                          std::span<const Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<Dim> out(a.begin(), a.end());
  const std::size_t skip = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto d = broadcast_dim(dims, a[skip + i], b[i]);
    if (!d) return std::nullopt;
    out[skip + i] = *d;
  }
  return out;
}

bool fits(std::span<const Dim> shape, std::span<const Dim> target) {
  if (shape.size() > target.size()) return false;
  const auto tail = target.subspan(target.size() - shape.size());
  return std::equal(shape.begin(), shape.end(), tail.begin(),
                    [](Dim s, Dim t) { return s == t || s == Dim(1); });
}

Dim element_count(DimTable& dims, std::span<const Dim> shape) {
  Dim out(1);
  for (Dim d : shape) out = dims.mul(out, d);
  return out;
}

std::optional<std::int64_t> known_count(std::span<const Dim> shape) {
  std::int64_t out = 1;
  for (Dim d : shape) {
    if (!d.known() || d.size() < 0) return std::nullopt;
    if (__builtin_mul_overflow(out, d.size(), &out)) return std::nullopt;
  }
  return out;
}

std::optional<std::int64_t> known_count(const Type* type) {
  return is_ranked(type) ? known_count(type->dims) : std::nullopt;
}

std::optional<std::size_t> place_of_axis(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

std::string type_text(const DimTable& dims, const Type& type) {
  if (!type.is_tensor()) return "other";
  std::string out(data_type_name(type.elem));
  if (!type.has_shape) return out + "[?]";
  if (type.dims.empty()) return out;
  out += '[';
  constexpr std::size_t kMostDims = 64, kMostText = 200;
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    if (i > 0) out += ',';
    if (i == kMostDims) {
      out += "...";
      break;
    }
    out += shortened(dims.text(type.dims[i]), kMostText);
  }
  return out + ']';
}

bool same_type(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (!a.is_tensor()) {
    return std::ranges::equal(a.other, b.other) &&
           std::ranges::equal(a.dims, b.dims);
  }
  return a.elem == b.elem && a.has_shape == b.has_shape &&
         std::ranges::equal(a.dims, b.dims);
}

}  // namespace ruleengine::ir
