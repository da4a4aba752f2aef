#include "core/match/naive/checker.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>

#include "core/ir/literal.h"
#include "core/ir/model.h"
#include "core/ir/shapes.h"

namespace ruleengine::match {
namespace {

using pattern::AttributePattern;
using pattern::Fact;

// Constants with more elements are not compared with numbers.
constexpr std::int64_t kMostNumbers = 4096;
// Matrices with more bytes are never compared with a transpose.
constexpr std::int64_t kMostTransposed = std::int64_t{1} << 24;

double resolution(ir::DataType type) {
  switch (type) {
    case ir::DataType::kFloat:
    case ir::DataType::kDouble:
      return 1e-5;
    case ir::DataType::kFloat16:
      return 0x1p-10;
    case ir::DataType::kBfloat16:
      return 0x1p-7;
    default:
      return ir::is_float(type) ? 0x1p-3 : 0;
  }
}

// Whether every float type represents the number exactly, like 0, 1 and 0.5:
// then a match needs no tolerance for rounding.
bool is_short(double number) {
  const auto narrow = static_cast<float>(number);
  return narrow == number &&
         (std::bit_cast<std::uint32_t>(narrow) & 0xffff) == 0;
}

bool near(double found, double wanted, double relative) {
  if (found == wanted) return true;
  if (is_short(wanted)) return false;
  // Infinity is not near to anything, though a relative tolerance would allow
  // it.
  return std::isfinite(found) && std::isfinite(wanted) &&
         std::abs(found - wanted) <=
             relative * std::max(std::abs(found), std::abs(wanted));
}

bool same_floats(std::span<const float> found,
                 const std::vector<double>& wanted) {
  return std::ranges::equal(found, wanted,
                            [](float a, double b) { return near(a, b, 1e-6); });
}

bool axis_fits(const Fact::DimPattern& wanted, ir::Dim found,
               const Unify& unify) {
  switch (wanted.kind) {
    case Fact::DimPattern::Kind::kAny:
      return true;
    case Fact::DimPattern::Kind::kNumber:
      return found.known() && found.size() == wanted.number;
    case Fact::DimPattern::Kind::kLetter:
      return unify(wanted.letter, found);
  }
  return false;
}

bool shape_fits(const Fact& fact, const std::vector<ir::Dim>& found,
                const Unify& unify) {
  const std::size_t n = fact.dims.size();
  if (fact.ellipsis ? found.size() < n : found.size() != n) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (!axis_fits(fact.dims[i], found[found.size() - n + i], unify)) {
      return false;
    }
  }
  return true;
}

bool broadcasts(const Fact& fact, const std::vector<ir::Dim>& found,
                const Unify& unify) {
  const std::size_t n = fact.dims.size();
  if (!fact.ellipsis && found.size() > n) return false;
  for (std::size_t i = 0; i < std::min(n, found.size()); ++i) {
    const ir::Dim dim = found[found.size() - 1 - i];
    const Fact::DimPattern& wanted = fact.dims[n - 1 - i];
    if (dim != ir::Dim(1) && !axis_fits(wanted, dim, unify)) return false;
  }
  return true;
}

bool dim_fits(const Fact& fact, const std::vector<ir::Dim>& found,
              const Unify& unify) {
  const auto rank = static_cast<std::int64_t>(found.size());
  const std::int64_t axis = fact.number < 0 ? fact.number + rank : fact.number;
  if (axis < 0 || axis >= rank) return false;
  if (fact.dims.empty()) return true;  // the axis is there
  return axis_fits(fact.dims[0], found[static_cast<std::size_t>(axis)], unify);
}

// Compares a literal of the pattern with an attribute (nullptr: absent).
bool equals(const AttributePattern& wanted, const ir::Attribute* found) {
  using Kind = AttributePattern::Kind;
  if (wanted.kind == Kind::kAny || wanted.kind == Kind::kVariable) return true;
  if (found == nullptr || !found->ref.empty()) return false;
  switch (wanted.kind) {
    case Kind::kInt:
      return found->kind == ir::AttributeKind::kInt && found->i == wanted.i;
    case Kind::kFloat:
      return found->kind == ir::AttributeKind::kFloat &&
             near(found->f, wanted.f, 1e-6);
    case Kind::kString:
      return found->kind == ir::AttributeKind::kString && found->s == wanted.s;
    case Kind::kInts:
      return found->kind == ir::AttributeKind::kInts &&
             std::ranges::equal(found->ints, wanted.ints);
    case Kind::kFloats:
      return found->kind == ir::AttributeKind::kFloats &&
             same_floats(found->floats, wanted.floats);
    case Kind::kStrings:
      return found->kind == ir::AttributeKind::kStrings &&
             std::ranges::equal(found->strings, wanted.strings);
    default:
      return true;
  }
}

}  // namespace

Scalar Scalar::of(ir::Dim dim) { return {.kind = Kind::kDim, .dim = dim}; }

Scalar Scalar::of(const ir::Attribute* attribute) {
  return {.kind = attribute ? Kind::kAttribute : Kind::kMissing,
          .attribute = attribute};
}

// The constant, if it may have `count` elements: a large one is not computed
// just to find out.
const ir::Literal* Checker::small_constant(ir::ValueId value,
                                           std::int64_t count) {
  if (!value || !facts_.is_constant(value)) return nullptr;
  const ir::Type* type = facts_.type(value);
  if (ir::is_ranked(type)) {
    const auto found = ir::known_count(type->dims);
    if (found && *found != count) return nullptr;
  }
  return facts_.constant(value);
}

bool Checker::numbers(ir::ValueId value, std::span<const double> wanted,
                      bool scalar) {
  const ir::Literal* tensor =
      small_constant(value, static_cast<std::int64_t>(wanted.size()));
  if (tensor == nullptr) return false;
  const auto count = static_cast<std::int64_t>(wanted.size());
  if (count > kMostNumbers || tensor->element_count() != count) return false;
  if (!scalar && tensor->dims.size() != 1) return false;
  const auto found =
      ir::to_doubles(*tensor, graph_.model().external.get(), kMostNumbers);
  if (!found) return false;
  const double relative = resolution(tensor->dtype);
  return std::ranges::equal(
      *found, wanted, [&](double a, double b) { return near(a, b, relative); });
}

std::optional<Checker::Number> Checker::number(ir::ValueId value) {
  const ir::Literal* tensor = small_constant(value, 1);
  if (tensor == nullptr || tensor->element_count() != 1) return std::nullopt;
  const auto found = ir::to_doubles(*tensor, graph_.model().external.get(), 1);
  if (!found || found->size() != 1) return std::nullopt;
  return Number{(*found)[0], resolution(tensor->dtype)};
}

bool Checker::same(ir::ValueId a, bool a_transposed, ir::ValueId b,
                   bool b_transposed) {
  if (a == b && a_transposed == b_transposed) return true;
  if (!a || !b) return false;
  if (!facts_.is_constant(a) || !facts_.is_constant(b)) return false;
  const ir::Literal* one = facts_.constant(a);
  const ir::Literal* two = facts_.constant(b);
  if (one == nullptr || two == nullptr || one->dtype != two->dtype) {
    return false;
  }
  if (a_transposed != b_transposed) return same_transposed(*one, *two);
  return std::ranges::equal(one->dims, two->dims) &&
         ir::equal_bits(*one, *two, graph_.model().external.get());
}

bool Checker::same_transposed(const ir::Literal& a, const ir::Literal& b) {
  if (a.dims.size() != 2 || b.dims.size() != 2) return false;
  if (a.dims[0] != b.dims[1] || a.dims[1] != b.dims[0]) return false;
  const int bits = ir::bit_width(a.dtype);
  if (bits < 8 || a.byte_size() > kMostTransposed) return false;
  std::vector<std::byte> scratch_a, scratch_b;
  ir::ExternalData* external = graph_.model().external.get();
  const auto one = ir::raw_bytes(a, external, scratch_a);
  const auto two = ir::raw_bytes(b, external, scratch_b);
  if (!one.ok() || !two.ok()) return false;
  const auto width = static_cast<std::size_t>(bits / 8);
  const auto rows = static_cast<std::size_t>(a.dims[0]);
  const auto columns = static_cast<std::size_t>(a.dims[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::byte* x = one->data() + (r * columns + c) * width;
      const std::byte* y = two->data() + (c * rows + r) * width;
      if (std::memcmp(x, y, width) != 0) return false;
    }
  }
  return true;
}

bool Checker::is_matrix_constant(ir::ValueId value) {
  if (!value || !facts_.is_constant(value)) return false;
  const auto dims = shape(value, false);
  return dims && dims->size() == 2;
}

bool Checker::unify(Scalar& known, const Scalar& found) {
  using Kind = Scalar::Kind;
  if (known.kind == Kind::kUnset) {
    known = found;
    return true;
  }
  if (known.kind == Kind::kMissing || found.kind == Kind::kMissing) {
    return known.kind == found.kind;
  }
  if (known.kind == Kind::kDim && found.kind == Kind::kDim) {
    return known.dim == found.dim;
  }
  if (known.kind == Kind::kAttribute && found.kind == Kind::kAttribute) {
    return ir::same_value(*known.attribute, *found.attribute,
                          graph_.model().external.get());
  }
  const bool has_dim = known.kind == Kind::kDim;
  const ir::Dim dim = has_dim ? known.dim : found.dim;
  const ir::Attribute& a = has_dim ? *found.attribute : *known.attribute;
  if (!a.ref.empty() || a.kind != ir::AttributeKind::kInt || !dim.known() ||
      dim.size() != a.i) {
    return false;
  }
  known = Scalar::of(dim);
  return true;
}

std::optional<std::vector<ir::Dim>> Checker::shape(ir::ValueId value,
                                                   bool transposed) {
  std::vector<ir::Dim> dims;
  if (const ir::Type* type = facts_.type(value); ir::is_ranked(type)) {
    dims.assign(type->dims.begin(), type->dims.end());
  } else if (const ir::Literal* tensor = graph_.direct_constant(value)) {
    for (std::int64_t size : tensor->dims) dims.emplace_back(size);
  } else {
    return std::nullopt;
  }
  if (transposed) std::ranges::reverse(dims);
  return dims;
}

std::optional<ir::DataType> Checker::element_type(ir::ValueId value) {
  if (const ir::Type* type = facts_.type(value);
      type != nullptr && type->is_tensor() &&
      type->elem != ir::DataType::kUndefined) {
    return type->elem;
  }
  if (const ir::Literal* tensor = graph_.direct_constant(value)) {
    return tensor->dtype;
  }
  return std::nullopt;
}

bool Checker::fact(const Fact& fact, ir::ValueId value, bool transposed,
                   const Unify& unify) {
  if (fact.kind == Fact::Kind::kType) {
    const auto type = element_type(value);
    return type && std::ranges::find(fact.types, *type) != fact.types.end();
  }
  if (fact.kind == Fact::Kind::kConst) {
    if (!facts_.is_constant(value)) return false;
    if (!fact.has_dims) return true;
  }
  const auto dims = shape(value, transposed);
  if (!dims) return false;
  switch (fact.kind) {
    case Fact::Kind::kShape:
    case Fact::Kind::kConst:
      return shape_fits(fact, *dims, unify);
    case Fact::Kind::kFits:
      return broadcasts(fact, *dims, unify);
    case Fact::Kind::kRank:
      return fact.number == static_cast<std::int64_t>(dims->size());
    case Fact::Kind::kDim:
      return dim_fits(fact, *dims, unify);
    default:
      return true;
  }
}

bool is_literal(ops::NewestNodes& nodes, ir::NodeId node,
                const AttributePattern& wanted, const ir::Attribute* found) {
  using Kind = AttributePattern::Kind;
  if (equals(wanted, found)) return true;
  if (wanted.kind != Kind::kInt && wanted.kind != Kind::kInts) return false;
  const ir::AttributeKind kind = wanted.kind == Kind::kInt
                                     ? ir::AttributeKind::kInt
                                     : ir::AttributeKind::kInts;
  return nodes.same_axis(
      node,
      {.name = wanted.name, .kind = kind, .i = wanted.i, .ints = wanted.ints},
      found);
}

void collect_unnamed(ops::NewestNodes& nodes, const pattern::Pattern& pattern,
                     pattern::NodePatternId by, ir::NodeId node,
                     std::vector<Unnamed>& out) {
  const pattern::NodePattern& p = pattern[by];
  const bool temporary = nodes.upgraded(nodes.graph().node(node).op);
  for (const ir::Attribute& a : nodes.written(node)) {
    const bool named = std::ranges::binary_search(p.attributes, a.name, {},
                                                  &AttributePattern::name);
    // A closed pattern fits only attributes at their defaults, and permissions.
    if (named || (!p.open_attributes && !nodes.permits(node, a)) ||
        nodes.is_default(node, a)) {
      continue;
    }
    out.push_back({node, by, temporary ? nodes.keep(&a) : &a});
  }
}

void sort_unnamed(std::vector<Unnamed>& all) {
  const auto key = [](const Unnamed& u) {
    return std::tuple(u.node, u.attribute->name, u.pattern);
  };
  std::ranges::sort(all, {}, key);
  const auto again = std::ranges::unique(all);
  all.erase(again.begin(), again.end());
}

}  // namespace ruleengine::match
