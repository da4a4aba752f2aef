#include "kernels/cpu/products/einsum_equation.h"

#include <algorithm>

namespace ruleengine::kernels {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

EinsumTerm parse_term(std::string_view text) {
  EinsumTerm term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.letters += text[i];
    } else if (text.substr(i, 3) == "..." && !term.dots_at) {
      term.dots_at = term.letters.size();
      i += 2;
    } else {
      fail("a term of the equation cannot be read",
           "letters and at most one ellipsis", std::string(text));
    }
  }
  return term;
}

// Its labels, where the ellipsis stands for `dots` axes.
std::vector<Label> labels_of(const EinsumTerm& term, std::size_t dots) {
  std::vector<Label> out(term.letters.begin(), term.letters.end());
  if (!term.dots_at) return out;
  std::vector<Label> axes;
  for (std::size_t i = dots; i > 0; --i) axes.push_back(-static_cast<Label>(i));
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(*term.dots_at),
             axes.begin(), axes.end());
  return out;
}

void add_operand(Equation& e, const EinsumTerm& term, Shape shape) {
  const std::size_t letters = term.letters.size();
  if (letters > shape.size() || (!term.dots_at && letters != shape.size())) {
    fail("a term of the equation does not fit its operand",
         std::to_string(letters) + " axes",
         std::to_string(shape.size()) + " axes");
  }
  e.operands.push_back(labels_of(term, shape.size() - letters));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t& size = e.sizes.emplace(e.operands.back()[i], 1).first->second;
    if (size == 1) size = shape[i];
    if (shape[i] != size && shape[i] != 1) {
      fail("a label of the equation stands for axes of different sizes",
           std::to_string(size), std::to_string(shape[i]));
    }
  }
}

// Without "->": the axes of the ellipsis, then the letters that occur once.
std::vector<Label> implied_result(const Equation& e) {
  std::map<Label, int> uses;
  for (const auto& operand : e.operands) {
    for (const Label label : operand) ++uses[label];
  }
  std::vector<Label> out;
  for (const auto& [label, count] : uses) {
    if (label < 0 || count == 1) out.push_back(label);
  }
  return out;
}

void set_result(Equation& e, const EinsumTerm& term) {
  Label first = 0;  // of the longest ellipsis
  for (const auto& [label, size] : e.sizes) first = std::min(first, label);
  e.result = labels_of(term, index_of(-first));
  std::vector<Label> sorted = e.result;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    fail("the result of the equation has a label twice", "each label once",
         term.letters);
  }
  for (const Label label : e.result) {
    if (!e.sizes.contains(label)) {
      fail("the result of the equation has a label that no operand has",
           "labels of the operands", term.letters);
    }
  }
}

}  // namespace

EinsumTerms parse_terms(std::string_view text, std::size_t operands) {
  std::string packed;
  std::ranges::copy_if(text, std::back_inserter(packed),
                       [](char c) { return c != ' '; });
  const std::string_view all(packed);
  const std::size_t arrow = all.find("->");
  std::string_view left = all.substr(0, arrow);
  EinsumTerms out;
  for (std::size_t i = 0; i < operands; ++i) {
    const std::size_t comma = left.find(',');
    if ((comma == left.npos) != (i + 1 == operands)) {
      fail("wrong number of terms in attribute 'equation'",
           std::to_string(operands), std::string(text));
    }
    out.operands.push_back(parse_term(left.substr(0, comma)));
    if (comma != left.npos) left.remove_prefix(comma + 1);
  }
  if (arrow != all.npos) out.result = parse_term(all.substr(arrow + 2));
  return out;
}

Equation equation_of(const EinsumTerms& terms, std::span<const Shape> shapes) {
  Equation e;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    add_operand(e, terms.operands[i], shapes[i]);
  }
  if (terms.result) {
    set_result(e, *terms.result);
  } else {
    e.result = implied_result(e);
  }
  return e;
}

}  // namespace ruleengine::kernels
