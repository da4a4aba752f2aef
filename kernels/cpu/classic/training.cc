// Optimizers of ai.onnx.preview.training: inputs are a learning rate, a count
// of updates, then groups of tensors, one of each group for each weight.
#include <cmath>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

struct Update {
  std::vector<Tensor> in;    // of one weight: one of each group
  std::vector<Tensor*> out;  // as many as `outputs`
};

// Calls f(update) for each weight; its outputs are allocated.
template <typename F>
void for_weights(Call& c, std::size_t groups, std::size_t outputs, F f) {
  if (c.input_count() < 2 || (c.input_count() - 2) % groups != 0) {
    fail("wrong number of inputs",
         "2 and " + std::to_string(groups) + " for each weight",
         std::to_string(c.input_count()));
  }
  const std::size_t weights = (c.input_count() - 2) / groups;
  for (std::size_t w = 0; w < weights; ++w) {
    Update update;
    for (std::size_t g = 0; g < groups; ++g) {
      const Tensor& first = c.input(2 + w);
      update.in.push_back(
          c.expect_shape(2 + g * weights + w, first.dims(), first.dtype()));
    }
    // Output 0 is the new weight; the others are the last groups.
    for (std::size_t o = 0; o < outputs; ++o) {
      update.out.push_back(&c.output(o * weights + w, update.in[0].dtype(),
                                     update.in[0].dims()));
    }
    f(update);
  }
}

// Calls f.operator()<T>(i) for all elements of a weight.
template <typename F>
void for_each_weight(Call& c, const Update& u, F f) {
  dispatch(Floats(), u.in[0].dtype(), [&]<typename T>() {
    for_each_element(c, u.in[0].count(),
                     [&](std::int64_t i) { f.template operator()<T>(i); });
  });
}

template <typename T>
double get(const Update& u, std::size_t group, std::int64_t i) {
  return static_cast<double>(u.in[group].data<T>()[i]);
}
template <typename T>
void set(const Update& u, std::size_t group, std::int64_t i, double value) {
  u.out[group]->mutable_data<T>()[i] = static_cast<T>(value);
}

// Groups: weights, gradients, sums of squared gradients.
void adagrad(Call& c, double decay, double norm, double epsilon) {
  const double t = static_cast<double>(c.scalar_int(1));
  const double rate = c.scalar_float(0) / (1 + t * decay);
  for_weights(c, 3, 2, [&](const Update& u) {
    for_each_weight(c, u, [&]<typename T>(std::int64_t i) {
      const double x = get<T>(u, 0, i), g = norm * x + get<T>(u, 1, i);
      const double sum = get<T>(u, 2, i) + g * g;
      set<T>(u, 0, i, x - rate * g / (std::sqrt(sum) + epsilon));
      set<T>(u, 1, i, sum);
    });
  });
}

// Groups: weights, gradients, their averages, averages of their squares.
void adam(Call& c, double alpha, double beta, double norm, double norm_after,
          double epsilon) {
  const double t = static_cast<double>(c.scalar_int(1));
  double rate = c.scalar_float(0);
  // The averages start at 0; this corrects for it.
  if (t > 0)
    rate *= std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t));
  for_weights(c, 4, 3, [&](const Update& u) {
    for_each_weight(c, u, [&]<typename T>(std::int64_t i) {
      const double x = get<T>(u, 0, i), g = norm * x + get<T>(u, 1, i);
      const double v = alpha * get<T>(u, 2, i) + (1 - alpha) * g;
      const double h = beta * get<T>(u, 3, i) + (1 - beta) * g * g;
      set<T>(u, 0, i,
             (1 - norm_after) * (x - rate * v / (std::sqrt(h) + epsilon)));
      set<T>(u, 1, i, v);
      set<T>(u, 2, i, h);
    });
  });
}

// Groups: weights, gradients, momenta.
bool is_nesterov(const Preparation& p) {
  return p.choice("mode", {"standard", "nesterov"}) == "nesterov";
}

// `later_beta`: after the first update.
void momentum(Call& c, bool nesterov, double alpha, double norm,
              double later_beta) {
  const double rate = c.scalar_float(0);
  const double beta = c.scalar_int(1) > 0 ? later_beta : 1;
  for_weights(c, 3, 2, [&](const Update& u) {
    for_each_weight(c, u, [&]<typename T>(std::int64_t i) {
      const double x = get<T>(u, 0, i), g = norm * x + get<T>(u, 1, i);
      const double v = alpha * get<T>(u, 2, i) + beta * g;
      set<T>(u, 0, i, x - rate * (nesterov ? g + alpha * v : v));
      set<T>(u, 1, i, v);
    });
  });
}

constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";
}  // namespace

const KernelRows kTrainingRows = {
    {kTrainingDomain, "Adagrad",
     keeping<adagrad, float_attribute<"decay_factor">,
             float_attribute<"norm_coefficient">, float_attribute<"epsilon">>},
    {kTrainingDomain, "Adam",
     keeping<adam, float_attribute<"alpha">, float_attribute<"beta">,
             float_attribute<"norm_coefficient">,
             float_attribute<"norm_coefficient_post">,
             float_attribute<"epsilon">>},
    {kTrainingDomain, "Momentum",
     keeping<momentum, is_nesterov, float_attribute<"alpha">,
             float_attribute<"norm_coefficient">, float_attribute<"beta">>},
};

}  // namespace ruleengine::kernels
