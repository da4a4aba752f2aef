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
void for_weights(KernelContext& c, std::size_t groups, std::size_t outputs,
                 F f) {
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
void for_each_weight(KernelContext& c, const Update& u, F f) {
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
void adagrad(KernelContext& c) {
  const double t = static_cast<double>(c.scalar_int(1));
  const double rate =
      c.scalar_float(0) / (1 + t * double(c.attribute_float("decay_factor")));
  const double norm = c.attribute_float("norm_coefficient");
  const double epsilon = c.attribute_float("epsilon");
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
void adam(KernelContext& c) {
  const double alpha = c.attribute_float("alpha");
  const double beta = c.attribute_float("beta");
  const double norm = c.attribute_float("norm_coefficient");
  const double after = 1 - double(c.attribute_float("norm_coefficient_post"));
  const double epsilon = c.attribute_float("epsilon");
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
      set<T>(u, 0, i, after * (x - rate * v / (std::sqrt(h) + epsilon)));
      set<T>(u, 1, i, v);
      set<T>(u, 2, i, h);
    });
  });
}

// Groups: weights, gradients, momenta.
void momentum(KernelContext& c) {
  const bool nesterov =
      c.choice("mode", {"standard", "nesterov"}) == "nesterov";
  const double alpha = c.attribute_float("alpha");
  const double norm = c.attribute_float("norm_coefficient");
  const double rate = c.scalar_float(0);
  const double beta = c.scalar_int(1) > 0 ? c.attribute_float("beta") : 1;
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
constexpr Kernel kTrainingKernels[] = {
    {kTrainingDomain, "Adagrad", adagrad},
    {kTrainingDomain, "Adam", adam},
    {kTrainingDomain, "Momentum", momentum},
};

}  // namespace

const KernelRows kTrainingRows = kTrainingKernels;

}  // namespace ruleengine::kernels
