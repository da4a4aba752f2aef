#include <algorithm>

#include "kernels/cpu/products/recurrent.h"

#include "kernels/cpu/shapes.h"

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

std::vector<Direction> directions_of(KernelContext& c) {
  const std::string name(c.attribute_string("direction"));
  if (name == "reverse") return {Direction::kReverse};
  if (name == "bidirectional") {
    return {Direction::kForward, Direction::kReverse};
  }
  // The first version of GRU has a slip in its default.
  if (name == "forward" || name == "foward" || name.empty()) {
    return {Direction::kForward};
  }
  c.wrong_attribute("direction", "forward, reverse or bidirectional");
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
    KernelContext& c, std::size_t directions,
    const std::vector<std::string>& functions) {
  std::vector<std::string> names = c.attribute_strings("activations");
  const std::size_t count = functions.size() * directions;
  for (std::size_t i = 0;
       names.size() < count && !c.has_attribute("activations"); ++i) {
    names.push_back(functions[i % functions.size()]);
  }
  if (names.size() < count) {
    c.wrong_attribute("activations", std::to_string(count) + " strings");
  }
  std::vector<Activation> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(activation_of(names[i]));
  set_numbers(c.attribute_floats("activation_alpha"), all,
              &Activation::has_alpha, &Activation::alpha);
  set_numbers(c.attribute_floats("activation_beta"), all, &Activation::has_beta,
              &Activation::beta);
  if (c.has_attribute("clip")) {
    const double clip = c.attribute_float("clip");
    if (!(clip >= 0)) c.wrong_attribute("clip", "0 or more");
    for (Activation& each : all) each.clip = clip;
  }
  return all;
}

}  // namespace

const Tensor* recurrent_input(KernelContext& c, std::size_t i, Shape dims) {
  if (!c.has_input(i)) return nullptr;
  return &c.expect_shape(i, dims, c.input(0).dtype());
}

RecurrentRule recurrent_rule(KernelContext& c, std::int64_t gates,
                             const std::vector<std::string>& functions) {
  const Tensor& x = c.expect_rank(0, 3);
  const Tensor& r = c.expect_rank(2, 3);
  RecurrentRule rule;
  rule.directions = directions_of(c);
  rule.activations = activations_of(c, rule.directions.size(), functions);
  rule.batch_first = c.attribute_flag("layout");
  rule.steps = x.dim(rule.batch_first ? 1 : 0);
  rule.batch = x.dim(rule.batch_first ? 0 : 1);
  rule.in = x.dim(2);
  rule.hidden = r.dim(2);
  rule.gates = gates;
  if (c.has_attribute("hidden_size") &&
      c.attribute_int("hidden_size") != rule.hidden) {
    c.expect_shape(2, Dims{-1, -1, c.attribute_int("hidden_size")});
  }
  if (rule.hidden > std::int64_t{1} << 40) {
    c.wrong_shape(2, "a last axis of at most 2^40");
  }
  const std::int64_t d = rule.direction_count(), all = gates * rule.hidden;
  recurrent_input(c, 1, Dims{d, all, rule.in});
  recurrent_input(c, 2, Dims{d, all, rule.hidden});
  recurrent_input(c, 3, Dims{d, 2 * all});
  // Fails where the sizes are too large, so that a loop over them is short.
  c.allocate(DataType::kBool, Dims{rule.steps, rule.batch});
  c.allocate(DataType::kBool, Dims{rule.batch});
  rule.lengths.assign(index_of(rule.batch), rule.steps);
  if (!c.has_input(4)) return rule;
  c.expect_count(4, rule.batch);
  rule.lengths = ints_up_to(c, 4, rule.steps);
  return rule;
}

}  // namespace ruleengine::kernels
