#include "core/rewrite/sizes.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "core/ir/model.h"
#include "core/ir/shapes.h"
#include "core/ir/small_tensor.h"

namespace ruleengine::rewrite {
namespace {

using ir::Dim;
using ir::ValueId;

// An axis of a graph input.
struct SizePlace {
  ValueId input;
  std::int64_t axis = 0;
};

// Consecutive dimensions that one value holds: numbers, consecutive axes of one
// input, or one computed size.
struct Piece {
  std::vector<std::int64_t> numbers;  // or axes, if `input` is set
  ValueId input;
  std::optional<Dim> computed;
};

class Sizes {
 public:
  explicit Sizes(Edit& edit) : edit_(edit) {}

  Result<Edit::Built> vector(std::span<const Dim> dims) {
    std::vector<ValueId> values;
    for (const Piece& next : cut(dims)) {
      const auto value = piece(next);
      if (!value) return std::move(failed_);
      values.push_back(*value);
    }
    if (values.empty()) values.push_back(numbers({}));
    if (values.size() == 1) return Edit::Built(std::move(values));
    const auto joined =
        node("Concat", std::move(values),
             {{.name = "axis", .kind = ir::AttributeKind::kInt}});
    if (!joined) return std::move(failed_);
    return Edit::Built(std::vector<ValueId>{*joined});
  }

 private:
  std::optional<SizePlace> find(Dim dim) {
    const ir::Graph& graph = edit_.graph();
    for (ValueId input : graph.block(ir::Graph::main_block()).inputs) {
      const ir::Type* type = edit_.facts().type(input);
      if (type == nullptr || !type->has_shape) continue;
      for (std::size_t axis = 0; axis < type->rank(); ++axis) {
        if (type->dims[axis] == dim) {
          return SizePlace{input, static_cast<std::int64_t>(axis)};
        }
      }
    }
    return std::nullopt;
  }

  std::vector<Piece> cut(std::span<const Dim> dims) {
    std::vector<Piece> pieces;
    for (Dim dim : dims) {
      Piece next;
      if (dim.known()) {
        next.numbers = {dim.size()};
      } else if (const auto place = find(dim)) {
        next.numbers = {place->axis};
        next.input = place->input;
      } else {
        next.computed = dim;
      }
      const bool joins =
          !pieces.empty() && !next.computed && !pieces.back().computed &&
          pieces.back().input == next.input &&
          (!next.input || next.numbers[0] == pieces.back().numbers.back() + 1);
      if (joins) {
        pieces.back().numbers.push_back(next.numbers[0]);
      } else {
        pieces.push_back(std::move(next));
      }
    }
    return pieces;
  }

  // The value; none after `failed_` was set to the rejection or error.
  std::optional<ValueId> piece(const Piece& piece) {
    if (piece.computed) {
      const auto size = computed(*piece.computed);
      if (!size) return std::nullopt;
      return node("Unsqueeze", {*size, numbers({0})});
    }
    if (piece.input) {
      return axes(piece.input, piece.numbers.front(), piece.numbers.back() + 1);
    }
    return numbers(piece.numbers);
  }

  // Axes `first` to `end` - 1. Before opset 15 by a Slice: compilers that keep
  // shapes apart from tensors follow it; of a Gather of several axes TVM takes
  // the first one alone.
  std::optional<ValueId> axes(ValueId input, std::int64_t first,
                              std::int64_t end) {
    const auto rank = std::ssize(edit_.facts().type(input)->dims);
    std::vector<ir::Attribute> range;
    const auto limit = [&](std::string_view name, std::int64_t axis) {
      range.push_back(
          {.name = name, .kind = ir::AttributeKind::kInt, .i = axis});
    };
    if (first != 0) limit("start", first);
    if (end != rank) limit("end", end);
    if (const auto part = node("Shape", {input}, range)) return part;
    const auto shape = node("Shape", {input});
    if (!shape) return std::nullopt;
    return node("Slice",
                {*shape, numbers({first}), numbers({end}), numbers({0})});
  }

  // Scalars: compilers that keep shapes apart from tensors compute with nothing
  // else.
  std::optional<ValueId> computed(Dim dim) {
    std::optional<ValueId> sum;
    for (const auto& term : edit_.graph().model().dims.products(dim)) {
      const auto value = product(term);
      if (!value) return std::nullopt;
      sum = sum ? node("Add", {*sum, *value}) : value;
      if (!sum) return std::nullopt;
    }
    return sum;
  }

  std::optional<ValueId> product(const ir::DimTable::Product& product) {
    std::optional<ValueId> value;
    if (product.coefficient != 1 || product.atoms.empty()) {
      value = number(product.coefficient);
    }
    for (Dim each : product.atoms) {
      const auto factor = atom(each);
      if (!factor) return std::nullopt;
      value = value ? node("Mul", {*value, *factor}) : factor;
      if (!value) return std::nullopt;
    }
    return value;
  }

  std::optional<ValueId> atom(Dim atom) {
    if (const auto place = find(atom)) {
      const auto shape = node("Shape", {place->input});
      if (!shape) return std::nullopt;
      return node("Gather", {*shape, number(place->axis)});
    }
    const ir::DimTable& dims = edit_.graph().model().dims;
    // Only non-negative numerators, since Div rounds towards 0.
    const std::vector<Dim> quotient = dims.quotient_of(atom);
    if (quotient.size() == 2 && dims.nonnegative(quotient[0]) &&
        quotient[1].known() && quotient[1].size() > 0) {
      const auto numerator = computed(quotient[0]);
      if (!numerator) return std::nullopt;
      return node("Div", {*numerator, number(quotient[1].size())});
    }
    failed_ = Edit::Built(Rejection{
        "a size cannot be computed from the graph's inputs", dims.text(atom)});
    return std::nullopt;
  }

  std::optional<ValueId> node(std::string_view type,
                              std::vector<ValueId> inputs,
                              std::vector<ir::Attribute> attributes = {}) {
    auto built = edit_.build({.type = type,
                              .inputs = std::move(inputs),
                              .attributes = std::move(attributes)});
    if (built && std::holds_alternative<std::vector<ValueId>>(*built)) {
      return std::get<std::vector<ValueId>>(*built)[0];
    }
    failed_ = std::move(built);
    return std::nullopt;
  }

  ValueId number(std::int64_t number) {
    Arena& arena = edit_.graph().model().arena;
    return edit_.constant(
        arena.make<ir::Literal>(ir::int64_scalar(arena, number)), "size");
  }

  ValueId numbers(const std::vector<std::int64_t>& numbers) {
    Arena& arena = edit_.graph().model().arena;
    return edit_.constant(
        arena.make<ir::Literal>(ir::int64_vector(arena, numbers)), "sizes");
  }

  Edit& edit_;
  Result<Edit::Built> failed_ = Edit::Built(Rejection{});
};

// Replaces -1 by the size that it stands for, if that is known: -1 is not
// allowed next to a computed size that may be 0.
std::vector<Dim> with_rest(ir::DimTable& table, const ir::Type* type,
                           std::span<const Dim> dims) {
  std::vector<Dim> out(dims.begin(), dims.end());
  const auto rest = std::ranges::find(out, Dim(-1));
  const bool computes = !std::ranges::all_of(out, &Dim::known);
  if (rest == out.end() || !computes || type == nullptr || !type->has_shape) {
    return out;
  }
  const Dim all = ir::element_count(table, type->dims);
  Dim others(1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool is_rest = out.begin() + static_cast<std::ptrdiff_t>(i) == rest;
    const bool copies = out[i] == Dim(0) && i < type->rank();
    if (!is_rest) others = table.mul(others, copies ? type->dims[i] : out[i]);
  }
  if (const auto size = table.exact_div(all, others)) *rest = *size;
  return out;
}

}  // namespace

Result<Edit::Built> build_sizes(Edit& edit, std::span<const ir::Dim> dims) {
  return Sizes(edit).vector(dims);
}

ReshapeSizes reshape_sizes(ir::DimTable& table, const ir::Type* type,
                           std::span<const Dim> wanted) {
  const std::vector<Dim> dims = with_rest(table, type, wanted);
  const auto old_dim = [&](std::size_t i) -> std::optional<Dim> {
    const bool known = type != nullptr && type->has_shape && i < type->rank();
    return known ? std::optional(type->dims[i]) : std::nullopt;
  };
  ReshapeSizes copied{{dims.begin(), dims.end()}};
  std::size_t unknown = 0;
  bool fixed = true;  // all known sizes are positive
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Dim& dim = copied.dims[i];
    if (!dim.known() && old_dim(i) == dim) dim = Dim(0);
    if (!dim.known()) ++unknown;
    fixed = fixed && (!dim.known() || dim.size() > 0);
  }
  if (unknown == 0) return copied;
  if (unknown == 1 && fixed) {
    const auto rest = std::ranges::find_if_not(copied.dims, &Dim::known);
    *rest = Dim(-1);
    return copied;
  }
  // An axis whose old size is a multiple of the new one: where the new one is
  // 0, so is the old one, and copying it is right.
  const auto copies = [&](std::size_t i) {
    const Dim dim = copied.dims[i];
    return dim.known() ? dim.size() >= 0
                       : old_dim(i) && table.exact_div(*old_dim(i), dim);
  };
  if (std::ranges::all_of(std::views::iota(0U, copied.dims.size()), copies)) {
    return copied;
  }
  ReshapeSizes all{{dims.begin(), dims.end()}, true};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Dim& dim = all.dims[i];
    if (!dim.known() || dim.size() > 0) continue;
    // A -1 cannot stand beside a size that is 0.
    if (dim.size() < 0 || !old_dim(i)) return {all.dims, false};
    dim = *old_dim(i);
  }
  return all;
}

}  // namespace ruleengine::rewrite
