#include <algorithm>
#include <numeric>

#include "core/ir/polynomial.h"

namespace ruleengine::ir::dim_internal {

Store::Store(const Store& other)
    : fresh_count(other.fresh_count),
      expressions_(other.expressions_.size()),
      expression_ids_(other.expression_ids_),
      plain_(other.plain_),
      atoms_(other.atoms_.size()),
      fresh_(other.fresh_),
      atom_facts_(other.atom_facts_),
      atom_ids_(other.atom_ids_),
      unsayable_(other.unsayable_) {
  for (const auto& [p, id] : expression_ids_) expressions_[id] = &p;
  for (const auto& [atom, id] : atom_ids_) atoms_[id] = &atom;
  auto fresh = fresh_.begin();
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    expressions_[atom_facts_[i].dim.id()] = &plain_[i];
    if (atoms_[i] == nullptr) atoms_[i] = &*fresh++;
  }
}

Polynomial Store::polynomial(Dim d) const {
  if (!d.known()) return *expressions_[d.id()];
  if (d.size() == 0) return {};
  return {{{d.size(), {}}}};
}

Dim Store::intern(const Polynomial& p) {
  if (p.is_constant() && Dim::holds(p.constant())) return Dim(p.constant());
  if (const Factor* atom = plain(p)) return atom_facts_[atom->atom].dim;
  const auto [at, added] = expression_ids_.try_emplace(
      p, static_cast<std::uint32_t>(expressions_.size()));
  if (added) expressions_.push_back(&at->first);
  return Dim::expression(at->second);
}

const Factor* Store::plain(const Polynomial& p) {
  const bool one = p.terms.size() == 1 && p.terms[0].coefficient == 1 &&
                   p.terms[0].monomial.degree == 1;
  return one ? p.terms[0].monomial.factors.data() : nullptr;
}

Dim Store::intern_atom(const Atom& atom) {
  const auto id = static_cast<std::uint32_t>(atoms_.size());
  const bool is_unknown =
      atom.kind == AtomKind::kFresh || atom.kind == AtomKind::kUnsaid;
  if (is_unknown) {
    atoms_.push_back(&fresh_.emplace_back(atom));
  } else {
    const auto [at, added] = atom_ids_.try_emplace(atom, id);
    if (!added) return atom_facts_[at->second].dim;
    atoms_.push_back(&at->first);
  }
  AtomFacts facts;
  facts.fresh = is_unknown;
  for (Dim d : atom.arguments) {
    const AtomFacts of = facts_of(d);
    facts.fresh = facts.fresh || of.fresh;
    facts.depth = std::max(facts.depth, of.depth + 1);
    facts.size += of.size;
  }
  facts.dim = Dim::expression(static_cast<std::uint32_t>(expressions_.size()));
  expressions_.push_back(
      &plain_.emplace_back(Polynomial{{{1, {{{id, 1}}, 1}}}}));
  atom_facts_.push_back(facts);
  return facts.dim;
}

// The overhead of map nodes and heap blocks is included.
std::size_t Store::bytes() const {
  constexpr std::size_t kAtom = 250, kExpression = 200;
  return kAtom * atoms_.size() + kExpression * expressions_.size();
}

Dim Store::unsayable(char operation, Dim a, Dim b, bool is_size) {
  const auto [at, added] = unsayable_.try_emplace({operation, a, b});
  if (added) {
    const AtomKind kind = is_size ? AtomKind::kFresh : AtomKind::kUnsaid;
    at->second = intern_atom({kind, {}, {}, ++fresh_count});
  }
  return at->second;
}

const Atom* Store::single_atom(Dim d) const {
  const Factor* atom = d.known() ? nullptr : plain(*expressions_[d.id()]);
  return atom != nullptr ? atoms_[atom->atom] : nullptr;
}

Store::AtomFacts Store::facts_of(Dim d) const {
  AtomFacts out;
  if (d.known()) return out;
  out.size = 0;
  for (const Term& t : expressions_[d.id()]->terms) {
    for (const Factor& f : t.monomial.factors) {
      const AtomFacts& of = atom_facts_[f.atom];
      out.fresh = out.fresh || of.fresh;
      out.depth = std::max(out.depth, of.depth);
      out.size += of.size;
    }
  }
  return out;
}

bool Store::fits(const std::vector<Dim>& arguments) const {
  std::size_t total = 1;
  for (Dim d : arguments) {
    const AtomFacts of = facts_of(d);
    if (of.depth >= kMaxDepth) return false;
    total += of.size;
  }
  return total <= kMaxSize;
}

bool Store::leaf(Dim d) const {
  const Atom* const atom = single_atom(d);
  return atom != nullptr && atom->arguments.empty();
}

// The recursion is bounded, since atoms are bounded in depth.
bool Store::contains(Dim d, AtomKind kind) const {
  if (d.known()) return false;
  for (const Term& t : expressions_[d.id()]->terms) {
    for (const Factor& f : t.monomial.factors) {
      const Atom& atom = *atoms_[f.atom];
      const auto is_so = [&](Dim inner) { return contains(inner, kind); };
      if (atom.kind == kind || std::ranges::any_of(atom.arguments, is_so)) {
        return true;
      }
    }
  }
  return false;
}

std::vector<Dim> Store::arguments_of(Dim d, AtomKind kind) const {
  const Atom* const atom = single_atom(d);
  const bool is_so = atom != nullptr && atom->kind == kind;
  return is_so ? atom->arguments : std::vector<Dim>();
}

// The recursion is bounded, since atoms are bounded in depth.
void Store::add_leaves(Dim d, std::vector<Dim>& out) const {
  if (d.known()) return;
  for (const Term& t : expressions_[d.id()]->terms) {
    for (const Factor& f : t.monomial.factors) {
      const Atom& atom = *atoms_[f.atom];
      if (atom.arguments.empty()) out.push_back(atom_facts_[f.atom].dim);
      for (Dim inner : atom.arguments) add_leaves(inner, out);
    }
  }
}

std::vector<DimTable::Product> Store::products(Dim d) const {
  std::vector<DimTable::Product> out;
  const Polynomial p = polynomial(d);
  for (const Term& t : p.terms) {
    DimTable::Product& product = out.emplace_back();
    product.coefficient = t.coefficient;
    for (const Factor& f : t.monomial.factors) {
      product.atoms.insert(product.atoms.end(), f.exponent,
                           atom_facts_[f.atom].dim);
    }
  }
  return out;
}

// Requires that no multiple of `b` can be split off `a`.
Dim Store::floor_div_atom(DimTable& table, Dim a, Dim b) {
  if (b.known()) {
    const Polynomial p = polynomial(a);
    std::int64_t common = b.size();
    for (const Term& t : p.terms) {
      common = std::gcd(common, t.coefficient);
    }
    if (common > 1) {
      const Dim c(common);
      return table.floor_div(*table.exact_div(a, c), Dim(b.size() / common));
    }
    const Atom* const inner = single_atom(a);
    if (inner != nullptr && inner->kind == AtomKind::kFloorDiv &&
        inner->arguments[1].known() && inner->arguments[1].size() > 0) {
      const Dim both = table.mul(inner->arguments[1], b);
      return table.floor_div(inner->arguments[0], both);
    }
  }
  if (!fits({a, b})) return unsayable('/', a, b, are_sizes(a, b));
  return intern_atom({AtomKind::kFloorDiv, {}, {a, b}, 0});
}

Dim Store::extremum(DimTable& table, AtomKind kind, Dim a, Dim b) {
  const bool is_max = kind == AtomKind::kMax;
  if (a.known() && b.known()) return is_max ? std::max(a, b) : std::min(a, b);
  std::vector<Dim> all;
  for (Dim d : {a, b}) {
    const auto of = arguments_of(d, kind);
    all.insert(all.end(), of.begin(), of.end());
    if (of.empty()) all.push_back(d);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<Dim> kept;
  for (Dim d : all) {
    const auto beats = [&](Dim x, Dim y) {
      return nonnegative(is_max ? table.sub(x, y) : table.sub(y, x), 0);
    };
    if (std::ranges::any_of(kept, [&](Dim k) { return beats(k, d); })) continue;
    std::erase_if(kept, [&](Dim k) { return beats(d, k); });
    kept.push_back(d);
  }
  if (kept.size() == 1) return kept[0];
  if (kept.size() > 8 || !fits(kept)) {
    const bool is_size =
        is_max ? nonnegative(a, 0) || nonnegative(b, 0) : are_sizes(a, b);
    return unsayable(is_max ? 'M' : 'm', a, b, is_size);
  }
  return intern_atom({kind, {}, kept, 0});
}

Polynomial Store::joined(DimTable& table, Polynomial p) const {
  const auto pair_of = [&](const Term& t, AtomKind kind) {
    if (t.monomial.degree != 1) return std::pair<Dim, Dim>();
    const Atom& atom = *atoms_[t.monomial.factors[0].atom];
    return atom.kind == kind && atom.arguments.size() == 2
               ? std::pair(atom.arguments[0], atom.arguments[1])
               : std::pair<Dim, Dim>();
  };
  for (const Term& left : p.terms) {
    const auto [x, y] = pair_of(left, AtomKind::kMax);
    if (x == y || (x != Dim(0) && y != Dim(0))) continue;
    for (const Term& slice : p.terms) {
      const auto [a, b] = pair_of(slice, AtomKind::kMin);
      if (a == b || slice.coefficient != left.coefficient) continue;
      const Dim gap = table.sub(a, b);
      const Dim rest = x == Dim(0) ? y : x;
      if (gap != rest && table.neg(gap) != rest) continue;
      const auto whole =
          mul({{{left.coefficient, {}}}}, polynomial(gap == rest ? a : b));
      const Polynomial both = {{{-left.coefficient, left.monomial}}};
      const auto without = add(p, both);
      const auto neither =
          without ? add(*without, {{{-left.coefficient, slice.monomial}}})
                  : std::nullopt;
      const auto sum = neither && whole ? add(*neither, *whole) : std::nullopt;
      return sum ? *sum : p;
    }
  }
  return p;
}

bool Store::nonnegative(Dim d, int level) const {
  if (d.known()) return d.size() >= 0;
  return level <= kMaxDepth && nonnegative(*expressions_[d.id()], level);
}

bool Store::atom_nonnegative(std::uint32_t id, int level) const {
  const Atom& atom = *atoms_[id];
  const auto is_so = [&](Dim x) { return nonnegative(x, level + 1); };
  switch (atom.kind) {
    case AtomKind::kSymbol:
    case AtomKind::kFresh:
      return true;
    case AtomKind::kUnsaid:
      return false;
    case AtomKind::kFloorDiv:
    case AtomKind::kMin:
      return std::ranges::all_of(atom.arguments, is_so);
    case AtomKind::kMax:
      return std::ranges::any_of(atom.arguments, is_so);
  }
  return false;
}

bool Store::nonnegative(const Polynomial& p, int level) const {
  const auto is_so = [&](const Factor& f) {
    return f.exponent % 2 == 0 || atom_nonnegative(f.atom, level);
  };
  const bool plainly = std::ranges::all_of(p.terms, [&](const Term& t) {
    return t.coefficient > 0 && std::ranges::all_of(t.monomial.factors, is_so);
  });
  return plainly || bounded_below(p, level);
}

// Proves p >= 0 by replacing one atom with a bound that makes `p` no larger:
// -min(a, b) by -a or -b, max(a, b) by a or b. For a // k the bounds are a / k
// and (a - k + 1) / k; they are fractions, and an integer above -1 is >= 0.
bool Store::bounded_below(const Polynomial& p, int level) const {
  constexpr int kTries = 3;  // nested replacements
  if (level >= kTries) return false;
  const auto constant = [](std::int64_t c) { return Polynomial{{{c, {}}}}; };
  for (const Term& t : p.terms) {
    if (t.monomial.degree != 1) continue;
    const Atom& atom = *atoms_[t.monomial.factors[0].atom];
    std::vector<Dim> bounds;
    std::int64_t k = 1;
    if (atom.kind == (t.coefficient < 0 ? AtomKind::kMin : AtomKind::kMax)) {
      bounds = atom.arguments;
    } else if (atom.kind == AtomKind::kFloorDiv && atom.arguments[1].known() &&
               atom.arguments[1].size() > 0) {
      bounds = {atom.arguments[0]};
      k = atom.arguments[1].size();
    }
    const Polynomial without{{{-t.coefficient, t.monomial}}};
    for (Dim bound : bounds) {
      const auto rest = add(p, without);
      const auto less = t.coefficient > 0 && k > 1
                            ? add(polynomial(bound), constant(1 - k))
                            : polynomial(bound);
      const auto with =
          less ? mul(constant(t.coefficient), *less) : std::nullopt;
      const auto scaled = rest ? mul(constant(k), *rest) : std::nullopt;
      auto lower = scaled && with ? add(*scaled, *with) : std::nullopt;
      if (lower && k > 1) lower = add(*lower, constant(k - 1));
      if (lower && nonnegative(*lower, level + 1)) return true;
    }
  }
  return false;
}

bool Store::never_zero(const Polynomial& p) const {
  const std::int64_t constant = p.constant();
  if (constant == 0) return false;
  // Every other term is a multiple of `common`, but the constant is not.
  std::int64_t common = 0;
  for (const Term& t : p.terms) {
    if (t.monomial.degree > 0) common = std::gcd(common, t.coefficient);
  }
  if (common != 0 && constant % common != 0) return true;
  // The other terms have the sign of the constant or are 0.
  Polynomial away = constant > 0 ? p : negate(p);
  away.terms.pop_back();
  return nonnegative(away, 0);
}

}  // namespace ruleengine::ir::dim_internal
