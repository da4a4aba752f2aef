#include <algorithm>
#include <numeric>

#include "kernels/cpu/products/recurrent.h"

#include "kernels/shapes.h"

namespace ruleengine::kernels {

template <typename T>
void Activation::apply(T* x, std::int64_t count) const {
  const T a = static_cast<T>(alpha), b = static_cast<T>(beta);
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < count; ++i) x[i] = f(x[i]);
  };
  if (clip >= 0) {
    const T most = static_cast<T>(clip);
    each([=](T v) { return std::clamp(v, -most, most); });
  }
  switch (kind) {
    case Kind::kRelu:
      return each([](T v) { return v > 0 ? v : T(0); });
    case Kind::kTanh:
      return each([](T v) { return std::tanh(v); });
    case Kind::kSigmoid:
      return each([](T v) { return 1 / (1 + std::exp(-v)); });
    case Kind::kAffine:
      return each([=](T v) { return a * v + b; });
    case Kind::kLeakyRelu:
      return each([=](T v) { return v >= 0 ? v : a * v; });
    case Kind::kThresholdedRelu:
      return each([=](T v) { return v >= a ? v : T(0); });
    case Kind::kScaledTanh:
      return each([=](T v) { return a * std::tanh(b * v); });
    case Kind::kHardSigmoid:
      return each([=](T v) { return std::clamp(a * v + b, T(0), T(1)); });
    case Kind::kElu:
      return each([=](T v) { return v >= 0 ? v : a * std::expm1(v); });
    case Kind::kSoftsign:
      return each([](T v) { return v / (1 + std::abs(v)); });
    case Kind::kSoftplus:
      return each([](T v) {
        return std::max(v, T(0)) + std::log1p(std::exp(-std::abs(v)));
      });
  }
}
template void Activation::apply(float*, std::int64_t) const;
template void Activation::apply(double*, std::int64_t) const;

namespace {

// Fails for a name that the standard does not have.
Activation activation_of(std::string_view name) {
  using Kind = Activation::Kind;
  static constexpr Activation kNames[] = {
      {"relu", Kind::kRelu},
      {"tanh", Kind::kTanh},
      {"sigmoid", Kind::kSigmoid},
      {"affine", Kind::kAffine, true, true},
      {"leakyrelu", Kind::kLeakyRelu, true, false, 0.01},
      {"thresholdedrelu", Kind::kThresholdedRelu, true},
      {"scaledtanh", Kind::kScaledTanh, true, true, 1, 1},
      {"hardsigmoid", Kind::kHardSigmoid, true, true, 0.2, 0.5},
      {"elu", Kind::kElu, true},
      {"softsign", Kind::kSoftsign},
      {"softplus", Kind::kSoftplus},
  };
  const std::string lower = in_lower_case(name);
  for (const Activation& each : kNames) {
    if (each.name == lower) return each;
  }
  fail("wrong value of attribute 'activations'",
       "an activation of ONNX, for example Tanh", '"' + printable(name) + '"');
}

std::vector<Direction> directions_of(const Preparation& p) {
  const std::string_view name = p.attribute_string("direction");
  if (name == "reverse") return {Direction::kReverse};
  if (name == "bidirectional") {
    return {Direction::kForward, Direction::kReverse};
  }
  // The first version of GRU has a slip in its default.
  if (name == "forward" || name == "foward" || name.empty()) {
    return {Direction::kForward};
  }
  p.wrong_attribute("direction", "forward, reverse or bidirectional");
}

// Numbers for the activations in their order: one for each, or one for each
// that has such a number.
void set_numbers(const std::vector<float>& numbers,
                 std::vector<Activation>& activations, bool Activation::*has,
                 double Activation::*number) {
  const bool for_each = numbers.size() == activations.size();
  std::size_t next = 0;
  for (Activation& each : activations) {
    if (!for_each && !(each.*has)) continue;
    if (next == numbers.size()) return;
    each.*number = numbers[next++];
  }
}

std::vector<Activation> activations_of(
    const Preparation& p, std::size_t directions,
    const std::vector<std::string>& functions) {
  std::vector<std::string> names = p.attribute_strings("activations");
  const std::size_t count = functions.size() * directions;
  for (std::size_t i = 0;
       names.size() < count && !p.has_attribute("activations"); ++i) {
    names.push_back(functions[i % functions.size()]);
  }
  if (names.size() < count) {
    p.wrong_attribute("activations", std::to_string(count) + " strings");
  }
  std::vector<Activation> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(activation_of(names[i]));
  set_numbers(p.attribute_floats("activation_alpha"), all,
              &Activation::has_alpha, &Activation::alpha);
  set_numbers(p.attribute_floats("activation_beta"), all, &Activation::has_beta,
              &Activation::beta);
  if (p.has_attribute("clip")) {
    const double clip = p.attribute_float("clip");
    if (!(clip >= 0)) p.wrong_attribute("clip", "0 or more");
    for (Activation& each : all) each.clip = clip;
  }
  return all;
}

}  // namespace

const Tensor* recurrent_input(Call& c, std::size_t i, Shape dims) {
  if (!c.has_input(i)) return nullptr;
  return &c.expect_shape(i, dims, c.input(0).dtype());
}

GateWeights::GateWeights(const Preparation& p, std::size_t i,
                         std::int64_t directions,
                         const std::vector<std::int64_t>& gates)
    : input(i) {
  std::int64_t all = 0;
  for (const std::int64_t count : gates) {
    parts.push_back({all, count, {}});
    all += count;
  }
  const Tensor* w = p.constant(i);
  if (w == nullptr || w->rank() != 3 || w->dim(0) != directions) return;
  if (w->dim(1) % all != 0) return;
  const std::int64_t hidden = w->dim(1) / all;
  for (std::int64_t d = 0; d < directions; ++d) {
    for (Part& part : parts) {
      part.packed.push_back(Weights::of(p, i, true,
                                        (d * all + part.first) * hidden,
                                        part.count * hidden, false));
      if (part.packed.back().dtype() != DataType::kUndefined) continue;
      for (Part& each : parts) each.packed.clear();
      return;
    }
  }
  p.release(i);
}

void GateWeights::check(const Call& c, Shape dims) const {
  const DataType dtype = c.input(0).dtype();
  c.expect_shape(input, dims, is_packed(dtype) ? DataType::kUndefined : dtype);
}

RecurrentCell::RecurrentCell(const Preparation& p,
                             const std::vector<std::int64_t>& parts,
                             const std::vector<std::string>& functions)
    : directions(directions_of(p)),
      activations(activations_of(p, directions.size(), functions)),
      batch_first(p.attribute_flag("layout")),
      gates(std::accumulate(parts.begin(), parts.end(), std::int64_t{0})),
      w(p, 1, direction_count(), {gates}),
      r(p, 2, direction_count(), parts) {
  if (p.has_attribute("hidden_size")) {
    hidden_size = p.attribute_int("hidden_size");
  }
}

RecurrentRule::RecurrentRule(Call& c, const RecurrentCell& its_cell)
    : cell(its_cell) {
  const Tensor& x = c.expect_rank(0, 3);
  steps = x.dim(cell.batch_first ? 1 : 0);
  batch = x.dim(cell.batch_first ? 0 : 1);
  in = x.dim(2);
  hidden = c.expect_rank(2, 3).dim(2);
  if (cell.hidden_size && *cell.hidden_size != hidden) {
    c.expect_shape(2, Dims{-1, -1, *cell.hidden_size});
  }
  if (hidden > std::int64_t{1} << 40) {
    c.wrong_shape(2, "a last axis of at most 2^40");
  }
  const std::int64_t d = direction_count(), all = cell.gates * hidden;
  cell.w.check(c, Dims{d, all, in});
  cell.r.check(c, Dims{d, all, hidden});
  recurrent_input(c, 3, Dims{d, 2 * all});
  // Fails where the sizes are too large, so that a loop over them is short.
  c.allocate(DataType::kBool, Dims{steps, batch});
  c.allocate(DataType::kBool, Dims{batch});
  lengths.assign(index_of(batch), steps);
  if (!c.has_input(4)) return;
  c.expect_count(4, batch);
  lengths = ints_up_to(c, 4, steps);
}

}  // namespace ruleengine::kernels
