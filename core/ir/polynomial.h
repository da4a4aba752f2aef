// The internals of DimTable: polynomials with integer coefficients over atoms,
// and the store that interns both. Used only by core/ir's dim*.cc and
// polynomial*.cc. Arithmetic returns none on overflow or when the result has
// too many terms; the caller then makes an unknown. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ir/dim.h"

namespace ruleengine::ir::dim_internal {

constexpr std::size_t kMaxTerms = 32;
constexpr std::uint32_t kMaxDegree = 32;
constexpr int kMaxDepth = 16;          // of brackets and of atoms in atoms
constexpr std::size_t kMaxSize = 256;  // atoms written out in one atom

struct Factor {
  std::uint32_t atom = 0;
  std::uint32_t exponent = 1;
  auto operator<=>(const Factor&) const = default;
};

struct Monomial {
  std::vector<Factor> factors;  // by atom
  std::uint32_t degree = 0;
  bool operator==(const Monomial&) const = default;
  // Graded lexicographic: a monomial order, so long division terminates.
  std::strong_ordering operator<=>(const Monomial& other) const;
};

struct Term {
  std::int64_t coefficient = 0;
  Monomial monomial;
  auto operator<=>(const Term&) const = default;
};

// Highest monomial first, no zero coefficients.
struct Polynomial {
  std::vector<Term> terms;
  bool is_constant() const {
    return terms.empty() ||
           (terms.size() == 1 && terms[0].monomial.degree == 0);
  }
  std::int64_t constant() const {  // the term without atoms
    return !terms.empty() && terms.back().monomial.degree == 0
               ? terms.back().coefficient
               : 0;
  }
  auto operator<=>(const Polynomial&) const = default;
};

using MaybePolynomial = std::optional<Polynomial>;

MaybePolynomial add(const Polynomial& a, const Polynomial& b);
Polynomial negate(const Polynomial& a);
MaybePolynomial mul(const Polynomial& a, const Polynomial& b);
MaybePolynomial exact_div(const Polynomial& a, const Polynomial& b);
// {q, r} with a = b*q + r. If `b` has one term, term by term, and the
// coefficients of r are at least 0 and below that of b; else {0, a}.
std::pair<Polynomial, Polynomial> split(const Polynomial& a,
                                        const Polynomial& b);

// Symbols and fresh unknowns are sizes (>= 0). kUnsaid, the result of an
// operation that is too large to express, may have any sign.
enum class AtomKind : std::uint8_t {
  kSymbol,
  kFresh,
  kUnsaid,
  kFloorDiv,
  kMin,
  kMax
};

struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  std::string name;            // kSymbol
  std::vector<Dim> arguments;  // {a, b} of kFloorDiv; sorted for others
  std::uint64_t number = 0;    // kFresh, kUnsaid
  auto operator<=>(const Atom&) const = default;
};

class Store {
 public:
  Store() = default;
  Store(const Store& other);
  Store& operator=(const Store&) = delete;

  Polynomial polynomial(Dim d) const;
  Dim intern(const Polynomial& p);
  Dim intern_atom(const Atom& atom);
  Dim named(std::string_view name) {
    return intern_atom({AtomKind::kSymbol, std::string(name), {}, 0});
  }
  // An unknown for the result of an operation that is too large to express: the
  // same for the same operands. `is_size`: it is not negative.
  Dim unsayable(char operation, Dim a, Dim b, bool is_size);
  Dim floor_div_atom(DimTable& table, Dim a, Dim b);
  Dim extremum(DimTable& table, AtomKind kind, Dim a, Dim b);
  // Replaces max(0, a - b) + min(a, b) by a (the rest of a slice, and the
  // slice).
  Polynomial joined(DimTable& table, Polynomial p) const;

  struct AtomFacts {
    Dim dim;
    bool fresh = false;
    int depth = 0;
    std::size_t size = 1;  // number of atoms in its text
  };
  // Of all atoms of `d` together; `dim` is not set.
  AtomFacts facts_of(Dim d) const;
  bool leaf(Dim d) const;  // one atom without arguments
  bool contains(Dim d, AtomKind kind) const;
  std::vector<Dim> arguments_of(Dim d, AtomKind kind) const;
  void add_leaves(Dim d, std::vector<Dim>& out) const;
  std::vector<DimTable::Product> products(Dim d) const;
  bool nonnegative(Dim d, int depth) const;
  bool are_sizes(Dim a, Dim b) const {
    return nonnegative(a, 0) && nonnegative(b, 0);
  }
  bool never_zero(const Polynomial& p) const;
  bool nonnegative(const Polynomial& p, int level) const;
  std::string text(Dim d, int level) const;
  // None when `text` is not an expression (then it is a plain name).
  std::optional<Dim> parse(DimTable& table, std::string_view text);

  std::size_t bytes() const;  // approximate

  std::uint64_t fresh_count = 0;

 private:
  bool atom_nonnegative(std::uint32_t atom, int level) const;
  bool bounded_below(const Polynomial& p, int level) const;
  // nullptr when `d` is not one atom.
  const Atom* single_atom(Dim d) const;
  // Whether an atom with these arguments is within the size limits.
  bool fits(const std::vector<Dim>& arguments) const;
  std::string atom_text(std::uint32_t atom, bool alone) const;
  std::string term_text(const Monomial& m, std::int64_t magnitude,
                        bool alone) const;

  // The atom when `p` is nothing but one atom; else nullptr.
  static const Factor* plain(const Polynomial& p);

  // Keys of expression_ids_, or elements of plain_ and fresh_. The latter are
  // not in the maps: files have many unknown dimensions, and nobody looks up an
  // atom by its polynomial, or an unknown by its content.
  std::vector<const Polynomial*> expressions_;
  std::map<Polynomial, std::uint32_t> expression_ids_;
  std::deque<Polynomial> plain_;
  std::vector<const Atom*> atoms_;  // keys of atom_ids_, or in fresh_
  std::deque<Atom> fresh_;
  std::vector<AtomFacts> atom_facts_;
  std::map<Atom, std::uint32_t> atom_ids_;
  std::map<std::tuple<char, Dim, Dim>, Dim> unsayable_;
};

}  // namespace ruleengine::ir::dim_internal
