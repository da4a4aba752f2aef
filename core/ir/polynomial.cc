#include "core/ir/polynomial.h"

#include <limits>

namespace ruleengine::ir::dim_internal {
namespace {

// Excluded, so that every coefficient has a negative.
constexpr auto kLowestInteger = std::numeric_limits<std::int64_t>::min();

std::optional<Monomial> times(const Monomial& a, const Monomial& b) {
  Monomial out;
  out.degree = a.degree + b.degree;
  if (out.degree > kMaxDegree) return std::nullopt;
  auto i = a.factors.begin();
  auto j = b.factors.begin();
  while (i != a.factors.end() || j != b.factors.end()) {
    if (j == b.factors.end() || (i != a.factors.end() && i->atom < j->atom)) {
      out.factors.push_back(*i++);
    } else if (i == a.factors.end() || j->atom < i->atom) {
      out.factors.push_back(*j++);
    } else {
      out.factors.push_back({i->atom, i->exponent + j->exponent});
      ++i, ++j;
    }
  }
  return out;
}

std::optional<Monomial> over(const Monomial& a, const Monomial& b) {
  if (b.degree > a.degree) return std::nullopt;
  Monomial out;
  out.degree = a.degree - b.degree;
  auto j = b.factors.begin();
  for (const Factor& f : a.factors) {
    Factor left = f;
    if (j != b.factors.end() && j->atom == f.atom) {
      if (j->exponent > f.exponent) return std::nullopt;
      left.exponent -= j->exponent;
      ++j;
    }
    if (left.exponent > 0) out.factors.push_back(left);
  }
  if (j != b.factors.end()) return std::nullopt;
  return out;
}

bool divides(std::int64_t b, std::int64_t a) {
  return b == -1 || (b != 0 && a % b == 0);
}

}  // namespace

std::strong_ordering Monomial::operator<=>(const Monomial& other) const {
  if (const auto c = degree <=> other.degree; c != 0) return c;
  // At equal degree, the monomial with the higher power of the first differing
  // atom is greater.
  auto i = factors.begin();
  auto j = other.factors.begin();
  for (; i != factors.end() && j != other.factors.end(); ++i, ++j) {
    if (i->atom != j->atom) return j->atom <=> i->atom;
    if (i->exponent != j->exponent) return i->exponent <=> j->exponent;
  }
  return std::strong_ordering::equal;
}

MaybePolynomial add(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() ||
        (i != a.terms.end() && i->monomial > j->monomial)) {
      out.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->monomial > i->monomial) {
      out.terms.push_back(*j++);
    } else {
      std::int64_t sum = 0;
      if (__builtin_add_overflow(i->coefficient, j->coefficient, &sum) ||
          sum == kLowestInteger) {
        return std::nullopt;
      }
      if (sum != 0) out.terms.push_back({sum, i->monomial});
      ++i, ++j;
    }
  }
  if (out.terms.size() > kMaxTerms) return std::nullopt;
  return out;
}

Polynomial negate(const Polynomial& a) {
  Polynomial out = a;
  // Cannot overflow: add and mul keep coefficients above the lowest integer.
  for (Term& t : out.terms) t.coefficient = -t.coefficient;
  return out;
}

MaybePolynomial mul(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const Term& s : a.terms) {
    Polynomial row;  // in falling order, like `b`
    for (const Term& t : b.terms) {
      const auto m = times(s.monomial, t.monomial);
      std::int64_t c = 0;
      if (!m || __builtin_mul_overflow(s.coefficient, t.coefficient, &c) ||
          c == kLowestInteger) {
        return std::nullopt;
      }
      row.terms.push_back({c, *m});
    }
    auto sum = add(out, row);
    if (!sum) return std::nullopt;
    out = std::move(*sum);
  }
  return out;
}

MaybePolynomial exact_div(const Polynomial& a, const Polynomial& b) {
  if (b.terms.empty()) return std::nullopt;
  Polynomial quotient;
  Polynomial rest = a;
  const Term& lead = b.terms.front();
  while (!rest.terms.empty()) {
    const Term& top = rest.terms.front();
    const auto m = over(top.monomial, lead.monomial);
    if (!m || !divides(lead.coefficient, top.coefficient)) return std::nullopt;
    const Term t{top.coefficient / lead.coefficient, *m};
    quotient.terms.push_back(t);
    if (quotient.terms.size() > kMaxTerms) return std::nullopt;
    auto product = mul(Polynomial{{{-t.coefficient, t.monomial}}}, b);
    if (!product) return std::nullopt;
    auto next = add(rest, *product);
    if (!next) return std::nullopt;
    rest = std::move(*next);
  }
  return quotient;  // found in falling order
}

std::pair<Polynomial, Polynomial> split(const Polynomial& a,
                                        const Polynomial& b) {
  if (b.terms.size() != 1 || b.terms[0].coefficient <= 0) return {{}, a};
  const Term& divisor = b.terms[0];
  Polynomial q, r;
  for (const Term& t : a.terms) {
    const auto m = over(t.monomial, divisor.monomial);
    if (!m) {
      r.terms.push_back(t);
      continue;
    }
    std::int64_t left = t.coefficient % divisor.coefficient;
    if (left < 0) left += divisor.coefficient;
    // t.coefficient - left can only overflow near the lowest integer.
    std::int64_t whole = 0;
    if (__builtin_sub_overflow(t.coefficient, left, &whole)) return {{}, a};
    whole /= divisor.coefficient;
    if (whole != 0) q.terms.push_back({whole, *m});
    if (left != 0) r.terms.push_back({left, t.monomial});
  }
  return {q, r};
}

}  // namespace ruleengine::ir::dim_internal
