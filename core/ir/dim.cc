#include "core/ir/dim.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/ir/polynomial.h"

namespace ruleengine::ir {

using dim_internal::AtomKind;
using dim_internal::Store;

namespace {

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

}  // namespace

struct DimTable::Impl : Store {
  std::map<std::string, Dim, std::less<>> bindings;
};

DimTable::DimTable() : impl_(std::make_unique<Impl>()) {}
DimTable::~DimTable() = default;
DimTable::DimTable(const DimTable& other)
    : impl_(std::make_unique<Impl>(*other.impl_)) {}
DimTable::DimTable(DimTable&&) noexcept = default;
DimTable& DimTable::operator=(DimTable&&) noexcept = default;

Dim DimTable::fresh() {
  return impl_->intern_atom({AtomKind::kFresh, {}, {}, ++impl_->fresh_count});
}

std::size_t DimTable::bytes() const { return impl_->bytes(); }

bool DimTable::is_fresh(Dim d) const { return impl_->facts_of(d).fresh; }

bool DimTable::is_single(Dim d) const { return impl_->leaf(d); }

bool DimTable::is_rounded(Dim d) const {
  return impl_->contains(d, AtomKind::kFloorDiv);
}

std::vector<Dim> DimTable::leaves(Dim d) const {
  std::vector<Dim> out;
  impl_->add_leaves(d, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<DimTable::Product> DimTable::products(Dim d) const {
  return impl_->products(d);
}

std::vector<Dim> DimTable::quotient_of(Dim d) const {
  return impl_->arguments_of(d, AtomKind::kFloorDiv);
}

double DimTable::value(Dim d, const std::function<double(Dim)>& leaf) const {
  if (d.known()) return static_cast<double>(d.size());
  if (is_single(d)) return leaf(d);
  if (const auto of = quotient_of(d); !of.empty()) {
    const double by = value(of[1], leaf);
    return by == 0 ? 0 : std::floor(value(of[0], leaf) / by);
  }
  for (const AtomKind kind : {AtomKind::kMin, AtomKind::kMax}) {
    const auto of = impl_->arguments_of(d, kind);
    if (of.empty()) continue;
    double out = value(of[0], leaf);
    for (const Dim each : of) {
      const double other = value(each, leaf);
      if (kind == AtomKind::kMin ? other < out : other > out) out = other;
    }
    return out;
  }
  double sum = 0;
  for (const Product& product : products(d)) {
    double term = static_cast<double>(product.coefficient);
    for (const Dim atom : product.atoms) term *= value(atom, leaf);
    sum += term;
  }
  return sum;
}

Dim DimTable::add(Dim a, Dim b) {
  if (a == Dim(0)) return b;
  if (b == Dim(0)) return a;
  const auto sum =
      dim_internal::add(impl_->polynomial(a), impl_->polynomial(b));
  return sum ? impl_->intern(impl_->joined(*this, *sum))
             : impl_->unsayable('+', a, b, impl_->are_sizes(a, b));
}

Dim DimTable::neg(Dim a) { return mul(a, Dim(-1)); }

Dim DimTable::sub(Dim a, Dim b) { return a == b ? Dim(0) : add(a, neg(b)); }

Dim DimTable::mul(Dim a, Dim b) {
  if (a == Dim(1)) return b;
  if (b == Dim(1)) return a;
  const auto product =
      dim_internal::mul(impl_->polynomial(a), impl_->polynomial(b));
  return product ? impl_->intern(*product)
                 : impl_->unsayable('*', a, b, impl_->are_sizes(a, b));
}

std::optional<Dim> DimTable::exact_div(Dim a, Dim b) {
  if (b == Dim(0)) return std::nullopt;
  if (a == b) return Dim(1);
  if (b == Dim(1)) return a;
  const auto quotient =
      dim_internal::exact_div(impl_->polynomial(a), impl_->polynomial(b));
  if (!quotient) return std::nullopt;
  return impl_->intern(*quotient);
}

Dim DimTable::floor_div(Dim a, Dim b) {
  if (b == Dim(0)) return impl_->unsayable('/', a, b, false);
  if (const auto exact = exact_div(a, b)) return *exact;
  if (a.known() && b.known()) return Dim(floor_of(a.size(), b.size()));
  if (b.known() && b.size() < 0) return floor_div(neg(a), neg(b));
  // a = b*q + r gives q + floor(r / b), whatever r is.
  const auto [q, r] =
      dim_internal::split(impl_->polynomial(a), impl_->polynomial(b));
  const Dim whole = impl_->intern(q);
  const Dim rest = impl_->intern(r);
  if (rest != a) return add(whole, floor_div(rest, b));
  return impl_->floor_div_atom(*this, a, b);
}

Dim DimTable::ceil_div(Dim a, Dim b) {
  if (b.known() && b.size() > 0) {
    return floor_div(add(a, Dim(b.size() - 1)), b);
  }
  return neg(floor_div(neg(a), b));
}

Dim DimTable::min(Dim a, Dim b) {
  return impl_->extremum(*this, AtomKind::kMin, a, b);
}

Dim DimTable::max(Dim a, Dim b) {
  return impl_->extremum(*this, AtomKind::kMax, a, b);
}

bool DimTable::nonnegative(Dim a) const { return impl_->nonnegative(a, 0); }

bool DimTable::provably_different(Dim a, Dim b) const {
  if (a == b) return false;
  if (a.known() && b.known()) return true;
  const auto difference = dim_internal::add(
      impl_->polynomial(a), dim_internal::negate(impl_->polynomial(b)));
  return difference && impl_->never_zero(*difference);
}

std::string DimTable::text(Dim d) const { return impl_->text(d, 0); }

Dim DimTable::symbol(std::string_view name) {
  const auto parsed = impl_->parse(*this, name);
  const bool is_expression = parsed && !parsed->known();
  return bound(is_expression ? *parsed : impl_->named(name));
}

void DimTable::bind(std::string_view name, Dim dim) {
  impl_->bindings.insert_or_assign(std::string(name), dim);
}

bool DimTable::has_bound() const { return !impl_->bindings.empty(); }

Dim DimTable::bound(Dim d) {
  if (!has_bound() || d.known()) return d;
  if (is_single(d)) {
    const auto found = impl_->bindings.find(text(d));
    return found == impl_->bindings.end() ? d : found->second;
  }
  if (const auto of = quotient_of(d); !of.empty()) {
    return floor_div(bound(of[0]), bound(of[1]));
  }
  for (const AtomKind kind : {AtomKind::kMin, AtomKind::kMax}) {
    const auto of = impl_->arguments_of(d, kind);
    if (of.empty()) continue;
    Dim out = bound(of[0]);
    for (const Dim each : of) {
      out = impl_->extremum(*this, kind, out, bound(each));
    }
    return out;
  }
  Dim sum(0);
  for (const Product& product : products(d)) {
    Dim term(product.coefficient);
    for (const Dim atom : product.atoms) term = mul(term, bound(atom));
    sum = add(sum, term);
  }
  return sum;
}

}  // namespace ruleengine::ir
