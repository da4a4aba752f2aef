#include <algorithm>

#include "kernels/cpu/recurrent.h"

namespace ruleengine::kernels {

struct Activation::Row {
  std::string_view name;
  Kind kind;
  bool has_alpha = false, has_beta = false;
  double alpha = 1, beta = 0;
};

const Activation::Row& Activation::row_of(std::string_view name) {
  static constexpr Row kNames[] = {
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
  std::string lower(name);
  for (char& each : lower) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each + 'a' - 'A');
  }
  for (const Row& row : kNames) {
    if (row.name == lower) return row;
  }
  fail("wrong value of attribute 'activations'", "names of activations of ONNX",
       '"' + printable(name) + '"');
}

Activation::Activation(std::string_view name)
    : kind_(row_of(name).kind),
      alpha_(row_of(name).alpha),
      beta_(row_of(name).beta) {}

bool Activation::has_alpha() const {
  return kind_ == Kind::kAffine || kind_ == Kind::kLeakyRelu ||
         kind_ == Kind::kThresholdedRelu || kind_ == Kind::kScaledTanh ||
         kind_ == Kind::kHardSigmoid || kind_ == Kind::kElu;
}
bool Activation::has_beta() const {
  return kind_ == Kind::kAffine || kind_ == Kind::kScaledTanh ||
         kind_ == Kind::kHardSigmoid;
}

template <typename T>
void Activation::apply(T* x, std::int64_t count) const {
  const T a = static_cast<T>(alpha_), b = static_cast<T>(beta_);
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < count; ++i) x[i] = f(x[i]);
  };
  if (clip_ >= 0) {
    const T clip = static_cast<T>(clip_);
    each([=](T v) { return std::clamp(v, -clip, clip); });
  }
  switch (kind_) {
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
template <typename Has, typename Set>
void set_numbers(const std::vector<float>& numbers,
                 std::vector<Activation>& activations, Has has, Set set) {
  const bool for_each = numbers.size() == activations.size();
  std::size_t next = 0;
  for (Activation& each : activations) {
    if (!for_each && !(each.*has)()) continue;
    if (next == numbers.size()) return;
    (each.*set)(numbers[next++]);
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
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(names[i]);
  set_numbers(c.attribute_floats("activation_alpha"), all,
              &Activation::has_alpha, &Activation::set_alpha);
  set_numbers(c.attribute_floats("activation_beta"), all, &Activation::has_beta,
              &Activation::set_beta);
  if (c.has_attribute("clip")) {
    const double clip = c.attribute_float("clip");
    if (!(clip >= 0)) c.wrong_attribute("clip", "0 or more");
    for (Activation& each : all) each.set_clip(clip);
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
  rule.batch_first = c.opset() >= 14 && c.attribute_flag("layout");
  rule.steps = x.dim(rule.batch_first ? 1 : 0);
  rule.batch = x.dim(rule.batch_first ? 0 : 1);
  rule.in = x.dim(2);
  rule.hidden = r.dim(2);
  rule.gates = gates;
  if (c.has_attribute("hidden_size") &&
      c.attribute_int("hidden_size") != rule.hidden) {
    c.wrong_attribute("hidden_size", std::to_string(rule.hidden));
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
  rule.lengths = c.ints(4);
  for (const std::int64_t length : rule.lengths) {
    if (length < 0 || length > rule.steps) {
      c.wrong_value(4, "0 to " + std::to_string(rule.steps),
                    std::to_string(length));
    }
  }
  return rule;
}

}  // namespace ruleengine::kernels
