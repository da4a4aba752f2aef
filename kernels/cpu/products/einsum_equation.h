// The equation of Einsum, with the shapes of its operands. Internal to
// kernels/cpu.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "kernels/cpu/shapes.h"

namespace ruleengine::kernels {

// A letter, or one of the axes that an ellipsis stands for: -1 is its last.
using Label = int;

struct Equation {
  std::vector<std::vector<Label>> operands;  // a label for each axis
  std::vector<Label> result;
  std::map<Label, std::int64_t> sizes;
};

// Throws Failure where the text is not an equation or does not fit the shapes.
Equation parse_equation(std::string_view text, std::span<const Shape> shapes);

}  // namespace ruleengine::kernels
