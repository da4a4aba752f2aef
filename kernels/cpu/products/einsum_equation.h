// The equation of Einsum, with the shapes of its operands. Internal to
// kernels/cpu.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

// A letter, or one of the axes that an ellipsis stands for: -1 is its last.
using Label = int;

// A term before the rank of its ellipsis is known.
struct EinsumTerm {
  std::string letters;                 // without the ellipsis
  std::optional<std::size_t> dots_at;  // how many letters stand before it
};
struct EinsumTerms {
  std::vector<EinsumTerm> operands;
  std::optional<EinsumTerm> result;  // where it is written
};
// Throws Failure where the text is not an equation of so many operands.
EinsumTerms parse_terms(std::string_view text, std::size_t operands);

struct Equation {
  std::vector<std::vector<Label>> operands;  // a label for each axis
  std::vector<Label> result;
  std::map<Label, std::int64_t> sizes;
};
// Throws Failure where the terms do not fit the shapes.
Equation equation_of(const EinsumTerms& terms, std::span<const Shape> shapes);

}  // namespace ruleengine::kernels
