#include "runtime/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/ir/element_types.h"
#include "core/ir/narrow_float.h"
#include "runtime/conversions.h"
#include "runtime/widening.h"

namespace ruleengine::runtime {
namespace {

// Some units in the last place, since a rewrite may change the order of sums.
double tolerance_of(int precision) {
  if (precision >= precision_of(DataType::kDouble)) return 1e-10;
  if (precision >= precision_of(DataType::kFloat)) return 2e-5;
  if (precision >= precision_of(DataType::kFloat16)) return 4e-3;
  return precision >= precision_of(DataType::kBfloat16) ? 3e-2 : 0.15;
}

// Denormal numbers may become 0.
double least_of(DataType type) {
  switch (type) {
    case DataType::kDouble:
      return std::numeric_limits<double>::min();
    case DataType::kFloat16:
      return 6.2e-5;
    case DataType::kFloat:
    case DataType::kBfloat16:
      return std::numeric_limits<float>::min();
    default:
      return 0;
  }
}

// Packed and narrow elements as types that C++ has.
Tensor as_numbers(const Tensor& t) {
  Threads one(1);
  KernelRun run{.memory = HostMemory::create(), .threads = &one};
  if (t.dtype() == DataType::kBool) return t.as(DataType::kUint8);
  return ir::is_narrow_float(t.dtype()) ? widened(t, run) : unpacked(t, run);
}

// f(elements) for a tensor, or f(elements, others) for two of one form.
template <typename F>
void visit_elements(const F& f, const Tensor& a) {
  const Tensor x = as_numbers(a);
  ir::visit_type(ir::ElementTypes(), x.dtype(),
                 [&]<typename T>() { f(x.values<T>()); });
}
template <typename F>
void visit_elements(const F& f, const Tensor& a, const Tensor& b) {
  const Tensor x = as_numbers(a), y = as_numbers(b);
  ir::visit_type(ir::ElementTypes(), x.dtype(),
                 [&]<typename T>() { f(x.values<T>(), y.values<T>()); });
}

// NaN where one is.
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

// Elements as numbers: of a complex one the larger of both parts counts.
template <typename T>
double magnitude(T v) {
  return static_cast<double>(v);
}
template <typename T>
double magnitude(std::complex<T> v) {
  return larger(std::abs(double(v.real())), std::abs(double(v.imag())));
}
template <typename T>
std::string number_text(T v) {
  if constexpr (std::is_integral_v<T>) return fmt::format("{}", v);
  return fmt::format("{:.9g}", double(v));
}
template <typename T>
std::string number_text(std::complex<T> v) {
  return fmt::format("{:.9g}{:+.9g}i", v.real(), v.imag());
}
// Of numbers that are not equal; whole ones of 64 bits need not differ as
// doubles. NaN where both are not finite, or one is NaN.
template <typename T>
double distance(T a, T b) {
  const double by = std::abs(double(a) - double(b));
  return std::is_integral_v<T> ? std::max(by, 1.0) : by;
}
template <typename T>
double distance(std::complex<T> a, std::complex<T> b) {
  return larger(distance(a.real(), b.real()), distance(a.imag(), b.imag()));
}

double largest_finite(const Tensor& t) {
  double out = 0;
  const auto look = [&](auto all) {
    for (const auto each : all) {
      const double v = std::abs(magnitude(each));
      if (std::isfinite(v)) out = std::max(out, v);
    }
  };
  visit_elements(look, t);
  return out;
}

std::string place_text(Shape dims, std::size_t element) {
  auto at = static_cast<std::int64_t>(element);
  std::string out;
  for (std::size_t i = dims.size(); i-- > 0;) {
    out = std::to_string(at % dims[i]) + (out.empty() ? "" : ",") + out;
    at /= dims[i];
  }
  return "[" + out + "]";
}

std::vector<const Tensor*> tensors_of(const Executor::Named& outputs) {
  std::vector<const Tensor*> out;
  for (const auto& [name, value] : outputs) {
    for_each_tensor(value, [&](const Tensor& t) { out.push_back(&t); });
  }
  return out;
}

bool is_same_form(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.dims(), b.dims());
}

// "" where they are the same.
std::string forms_differ(const Datum& a, const Datum& b) {
  const std::string text = a.text() + " became " + b.text();
  if (a.kind() != b.kind()) return text;
  if (a.is_tensor()) return is_same_form(a.tensor(), b.tensor()) ? "" : text;
  if (!a.is_sequence()) return "";
  if (a.items().size() != b.items().size()) return text;
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    const auto why = forms_differ(a.items()[i], b.items()[i]);
    if (!why.empty()) return fmt::format("item {}: {}", i, why);
  }
  return "";
}

struct Rounding {
  double relative, absolute;
};
// rounding(tensor) for each tensor.
template <typename F>
Bound bound_of(const Executor::Named& before, const F& rounding) {
  std::vector<Rounding> all;
  for (const Tensor* t : tensors_of(before)) all.push_back(rounding(*t));
  return [all = std::move(all)](std::size_t tensor, std::size_t, double value) {
    return relative_bound(value, all[tensor].relative, all[tensor].absolute);
  };
}

// How a tensor of an output differs; empty where it does not.
std::optional<Mismatch> differ(const std::string& output, std::size_t tensor,
                               const Tensor& a, const Tensor& b,
                               const Bound& limit, Comparison& out) {
  if (a.is_string()) {
    if (a.strings() == b.strings()) return std::nullopt;
    return Mismatch{output, "strings differ"};
  }
  const double size = largest_finite(a);
  std::optional<Mismatch> found;
  const auto look = [&](auto x, auto y) {
    double worst = 0;
    std::optional<std::size_t> at;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = magnitude(x[i]);
      if (std::isnan(value) || x[i] == y[i]) continue;
      double off = distance(x[i], y[i]);
      if (std::isfinite(off)) {
        out.max_abs = std::max(out.max_abs, off);
        if (size > 0) out.max_rel = std::max(out.max_rel, off / size);
      } else {
        off = INFINITY;  // also NaN: an infinity that was lost
      }
      const double bound = limit(tensor, i, value);
      if (off <= bound) continue;
      const double beyond = off / std::max(bound, 1e-300);
      if (at && beyond <= worst) continue;
      worst = beyond;
      at = i;
    }
    if (!at) return;
    const double value = magnitude(x[*at]);
    found = {output,
             fmt::format("{} at {}: {} became {} (tolerance {:.3g})", a.text(),
                         place_text(a.dims(), *at), number_text(x[*at]),
                         number_text(y[*at]), limit(tensor, *at, value)),
             std::isinf(value) != std::isinf(magnitude(y[*at]))};
  };
  visit_elements(look, a, b);
  return found;
}

}  // namespace

double relative_bound(double value, double rel, double abs) {
  return std::isfinite(value) ? rel * std::abs(value) + abs : abs;
}

std::optional<Mismatch> compare_forms(const Executor::Named& before,
                                      const Executor::Named& after) {
  if (before.size() != after.size()) {
    return Mismatch{"", "the number of outputs differs"};
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto why = forms_differ(before[i].second, after[i].second);
    if (!why.empty()) return Mismatch{before[i].first, std::move(why)};
  }
  return std::nullopt;
}

Comparison compare(const Executor::Named& before, const Executor::Named& after,
                   const Bound& bound, const std::vector<bool>& leaves_out) {
  Comparison out;
  const auto others = tensors_of(after);
  std::size_t at = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::size_t item = 0;
    for_each_tensor(before[i].second, [&](const Tensor& t) {
      const std::size_t tensor = at++;
      const std::size_t place = item++;
      if (i < leaves_out.size() && leaves_out[i]) return;
      auto found =
          differ(before[i].first, tensor, t, *others[tensor], bound, out);
      if (!found || out.mismatch) return;
      if (before[i].second.is_sequence()) {
        found->text = fmt::format("item {}: {}", place, found->text);
      }
      out.mismatch = std::move(found);
    });
  }
  return out;
}

Comparison compare_by_type(const Executor::Named& before,
                           const Executor::Named& after,
                           const std::vector<bool>& leaves_out, int precision) {
  if (auto differ = compare_forms(before, after)) {
    return {.mismatch = std::move(differ)};
  }
  const Bound bound = bound_of(before, [&](const Tensor& t) -> Rounding {
    if (!ir::is_float(t.dtype())) return {0, 0};
    const double by =
        tolerance_of(std::min(precision, precision_of(t.dtype())));
    return {by, by * largest_finite(t) + least_of(t.dtype())};
  });
  return compare(before, after, bound, leaves_out);
}

Bound last_place_bound(const Executor::Named& before) {
  constexpr double kUnits = 4;
  return bound_of(before, [](const Tensor& t) -> Rounding {
    if (!ir::is_float(t.dtype())) return {0, 0};
    return {kUnits * rounding_of(precision_of(t.dtype())), least_of(t.dtype())};
  });
}

Spread::Spread(const Executor::Named& center)
    : center_(center), of_tensors_(tensors_of(center).size()) {}

void Spread::add(const Executor::Named& moved) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < center_.size(); ++i) {
    std::vector<const Tensor*> own, others;
    for_each_tensor(center_[i].second, [&](auto& t) { own.push_back(&t); });
    for_each_tensor(moved[i].second, [&](auto& t) { others.push_back(&t); });
    for (std::size_t j = 0; j < own.size(); ++j) {
      OfTensor& to = of_tensors_[k++];
      if (own[j]->is_string()) continue;
      if (own.size() != others.size() || !is_same_form(*own[j], *others[j])) {
        constexpr double kCoarse = 0x1p-8;
        to.other_form = kCoarse * largest_finite(*own[j]);
        continue;
      }
      to.off.resize(static_cast<std::size_t>(own[j]->count()));
      const auto look = [&](auto x, auto y) {
        for (std::size_t e = 0; e < x.size(); ++e) {
          if (std::isnan(magnitude(x[e])) || x[e] == y[e]) continue;
          const double off = distance(x[e], y[e]);
          // What becomes NaN may be anything.
          to.off[e] = std::max(to.off[e], std::isnan(off) ? INFINITY : off);
        }
      };
      visit_elements(look, *own[j], *others[j]);
    }
  }
}

std::vector<bool> differing(const Executor::Named& a,
                            const Executor::Named& b) {
  std::vector<bool> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Executor::Named one{a[i]}, other{b[i]};
    const Bound none = [](std::size_t, std::size_t, double) { return 0.0; };
    out.push_back(compare_forms(one, other).has_value() ||
                  compare(one, other, none).mismatch.has_value());
  }
  return out;
}

std::vector<std::optional<bool>> finite_outputs(
    const Executor::Named& outputs) {
  std::vector<std::optional<bool>> out;
  for (const auto& [name, value] : outputs) {
    bool is_float = false, any = false;
    std::int64_t count = 0;
    for_each_tensor(value, [&](const Tensor& t) {
      count += t.count();
      if (t.is_string() || any) return;
      const auto look = [&](auto all) {
        any = std::ranges::any_of(
            all, [](auto v) { return std::isfinite(magnitude(v)); });
      };
      visit_elements(look, t);
      is_float = true;
    });
    out.push_back(count == 0 ? std::nullopt : std::optional(any || !is_float));
  }
  return out;
}

}  // namespace ruleengine::runtime
