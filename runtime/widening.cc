#include "runtime/widening.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/random_bits.h"
#include "core/ir/narrow_float.h"
#include "runtime/conversions.h"

namespace ruleengine::runtime {
namespace {

// Constants of up to so many elements are known number by number.
constexpr std::int64_t kFew = 16;
// Numbers of so few significant bits, such as 0.5 and 3, are no rounded ones.
constexpr int kPlainBits = 4;
constexpr int kFloatBits = 24;
// What a kernel that computes in float makes of exact numbers is not said by
// their bits, but few bits are no rounding.
constexpr double kFloatNoise = 0x1p-21;
constexpr int kFloatExactBits = 12;

// Whether the number has at most `bits` significant bits.
bool has_bits(double number, int bits) {
  const auto mask = (std::uint64_t{1} << (53 - bits)) - 1;
  return (std::bit_cast<std::uint64_t>(number) & mask) == 0;
}

Tensor doubles_of(const Tensor& t, KernelRun& run) {
  const Tensor floats = widened(t, run);
  return mapped<float, double>(floats, DataType::kDouble, run,
                               [](float v) { return double(v); });
}

std::vector<double> few_numbers(const ir::Literal& constant,
                                const ir::Model& model) {
  Threads one(1);
  KernelRun run{.memory = HostMemory::create(), .threads = &one};
  const Datum all = as_doubles(to_tensor(constant, model), run);
  const auto values = all.tensor().values<double>();
  return {values.begin(), values.end()};
}

template <typename F>
Datum each_double(const Datum& value, KernelRun& run, const F& f) {
  return each_tensor(value, [&](const Tensor& t) -> Datum {
    if (t.dtype() != DataType::kDouble) return t;
    Tensor out = allocate(run, t.dtype(), t.dims());
    std::ranges::transform(t.values<double>(), out.mutable_data<double>(), f);
    return out;
  });
}

// From -1 to 1.
double unit(std::uint64_t state) {
  return static_cast<double>(RandomBits::mixed(state) >> 11) * 0x1p-52 - 1;
}

// 1 or -1: a rounding may go all the way up or down.
double sign_of(double number, std::uint64_t seed) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  return (RandomBits::mixed(bits + seed * RandomBits::kStep) & 1) != 0 ? 1 : -1;
}

}  // namespace

bool is_widened(DataType type) {
  return type == DataType::kFloat || ir::is_narrow_float(type);
}

Datum as_doubles(const Datum& value, KernelRun& run) {
  return each_tensor(value, [&](const Tensor& t) -> Datum {
    return is_widened(t.dtype()) ? doubles_of(t, run) : t;
  });
}

Datum as_type(const Datum& value, DataType to, KernelRun& run) {
  return each_tensor(value, [&](const Tensor& t) -> Datum {
    if (t.dtype() != DataType::kDouble) return t;
    if (ir::is_narrow_float(to)) return narrowed(t, to, run);
    if (to != DataType::kFloat) return t;
    return mapped<double, float>(
        t, to, run, [](double v) { return static_cast<float>(v); });
  });
}

double rounding_of(int bits) { return std::ldexp(1.0, -bits); }

int precision_of(DataType type) {
  switch (type) {
    case DataType::kDouble:
      return 53;
    case DataType::kFloat16:
      return 11;
    case DataType::kBfloat16:
      return 8;
    default:
      return ir::is_narrow_float(type) ? 4 : kFloatBits;
  }
}

Numbers::Numbers(const ir::Model& model) {
  add(model.graph, model);
  for (const auto& function : model.functions) {
    if (!function->removed) add(function->body, model);
  }
}

void Numbers::add(const ir::Graph& graph, const ir::Model& model) {
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id(i);
    const ir::Value& v = graph.value(id);
    if (v.removed) continue;
    if (v.declared != nullptr && v.declared->is_tensor()) {
      note(v.declared->elem);
    }
    if (v.tensor == nullptr) continue;
    std::size_t readers = 0;
    for (auto u = graph.first_use(id); u; u = graph.next_use(u)) ++readers;
    add(*v.tensor, model, readers);
  }
  for (const ir::NodeId node : graph.live_nodes()) {
    for (const ir::Attribute& a : graph.node(node).attributes) {
      if (a.kind == ir::AttributeKind::kFloat) ++numbers_[a.f];
      for (const ir::Literal* each : a.tensors) add(*each, model, 1);
    }
  }
}

void Numbers::note(DataType type) {
  if (is_widened(type)) precision_ = std::min(precision_, precision_of(type));
}

Numbers::Bytes Numbers::bytes_of(const ir::Literal& constant,
                                 const ir::Model& model) {
  Bytes out;
  const auto bytes = ir::raw_bytes(constant, model.external.get(), out.decoded);
  if (!bytes) throw Failure{bytes.error()};
  out.view = *bytes;
  return out;
}

void Numbers::add(const ir::Literal& constant, const ir::Model& model,
                  std::size_t readers) {
  if (!is_widened(constant.dtype)) return;
  note(constant.dtype);
  if (constant.element_count() <= kFew) {
    for (const double each : few_numbers(constant, model)) {
      numbers_[each] += readers;
    }
    return;
  }
  Bytes bytes = bytes_of(constant, model);
  const std::size_t size = bytes.view.size();
  constants_[size].push_back(std::move(bytes));
}

std::size_t Numbers::count(double number) const {
  const auto it = numbers_.find(number);
  return it == numbers_.end() ? 0 : it->second;
}

bool Numbers::has(const ir::Literal& constant, const ir::Model& its) const {
  if (constant.lazy != nullptr) {
    return std::ranges::all_of(
        constant.lazy->parts,
        [&](const ir::LazyPart& part) { return has(*part.tensor, its); });
  }
  const Bytes own = bytes_of(constant, its);
  const auto known = constants_.find(own.view.size());
  return known != constants_.end() &&
         std::ranges::any_of(known->second, [&](const Bytes& each) {
           return each.view.data() == own.view.data() ||
                  std::ranges::equal(each.view, own.view);
         });
}

bool SharedNumbers::has(const ir::Literal& constant,
                        const ir::Model& its) const {
  const auto [known, is_new] = known_.try_emplace(&constant);
  if (!is_new) return known->second;
  known->second = constant.element_count() > kFew
                      ? first_.has(constant, its) && second_.has(constant, its)
                      : std::ranges::all_of(few_numbers(constant, its),
                                            [&](double v) { return has(v); });
  return known->second;
}

Datum NoiseSource::moved(const Datum& value, double by, int exact_bits) {
  return each_double(value, run_, [&](double v) {
    if (has_bits(v, exact_bits)) return v;
    state_ += RandomBits::kStep;
    return v * (1 + by * unit(state_));
  });
}

Datum NoiseSource::moved_alike(const Datum& value, double by,
                               double together) const {
  return each_double(value, run_, [&](double v) {
    if (has_bits(v, kPlainBits)) return v;
    return v * (1 + by * sign_of(v, noise_.seed) + together);
  });
}

Datum NoiseSource::of_float(const Datum& value) {
  return moved(value, std::max(noise_.results, kFloatNoise), kFloatExactBits);
}

Datum NoiseSource::input(const Datum& doubles) {
  return noise_.leaves == 0 ? doubles : moved_alike(doubles, noise_.leaves);
}

Datum NoiseSource::constant(const Datum& doubles, const ir::Literal& own,
                            const ir::Model& model) {
  const SharedNumbers* shared = noise_.shared;
  if (shared == nullptr || !is_widened(own.dtype) || shared->has(own, model)) {
    return input(doubles);
  }
  // What fits into a narrower type of the model may be rounded to that.
  const Tensor& t = doubles.tensor();
  const int bits = precision_of(own.dtype), narrow = shared->precision();
  const bool fits =
      narrow < bits && std::ranges::all_of(t.values<double>(), [&](double v) {
        return has_bits(v, narrow);
      });
  const double by = std::max(rounding_of(fits ? narrow : bits), noise_.leaves);
  // A factor that is folded into weights was rounded once for all of them.
  return moved_alike(doubles, by,
                     t.count() > 1 ? by * sign_of(by, noise_.seed) : 0);
}

float NoiseSource::attribute(float number) const {
  const SharedNumbers* shared = noise_.shared;
  if (shared == nullptr || has_bits(number, kPlainBits) ||
      shared->has(number)) {
    return number;
  }
  const int bits =
      has_bits(number, shared->precision()) ? shared->precision() : kFloatBits;
  return static_cast<float>(
      number * (1 + rounding_of(bits) * sign_of(number, noise_.seed)));
}

}  // namespace ruleengine::runtime
