// Losses of a classification: NegativeLogLikelihoodLoss and
// SoftmaxCrossEntropyLoss. The classes are axis 1.

#include "kernels/cpu/families.h"
#include "kernels/cpu/fold.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/softmax.h"

namespace ruleengine::kernels {
namespace {

// The sizes of the scores, after the labels were checked against them.
CutShape check_shapes(const KernelContext& c) {
  const Tensor& x = c.expect_min_rank(0, 2);
  Dims without{x.dim(0)};
  without.append(x.dims().subspan(2));
  const Tensor& labels = c.expect_shape(1, without);
  if (c.has_input(2)) c.expect_shape(2, Dims{x.dim(1)}, x.dtype());
  if (labels.count() == 0) return {0, x.dim(1), 0};
  return cut_at(x.dims(), 1);
}

// The loss of each label and its weight.
template <typename T>
void losses(const KernelContext& c, const CutShape& s, const T* log_prob,
            std::span<const std::int64_t> labels, T* loss, double* weight) {
  const bool ignores = c.has_attribute("ignore_index");
  const std::int64_t ignored = c.attribute_int("ignore_index");
  const T* weights = c.has_input(2) ? c.input(2).data<T>() : nullptr;
  Ticker tick(c.threads());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    tick();
    const std::int64_t label = labels[i];
    loss[i] = 0;
    weight[i] = 0;
    if (ignores && label == ignored) continue;
    if (label < 0 || label >= s.size) {
      c.wrong_value(1, "labels from 0 to " + std::to_string(s.size - 1),
                    std::to_string(label));
    }
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t block = at / s.inner, place = at % s.inner;
    const T p = log_prob[(block * s.size + label) * s.inner + place];
    weight[i] = weights == nullptr ? 1 : static_cast<double>(weights[label]);
    loss[i] = static_cast<T>(-static_cast<double>(p) * weight[i]);
  }
}

// Output 0 from the logarithms of probabilities.
template <typename T>
void reduce_losses(KernelContext& c, const CutShape& s,
                   const Tensor& log_prob) {
  const Tensor labels = c.input(1);
  const std::string_view reduction =
      c.choice("reduction", {"none", "mean", "sum"});
  Tensor each = c.allocate(kTypeOf<T>, labels.dims());
  Tensor weights = c.allocate(DataType::kDouble, labels.dims());
  const Ints classes = c.ints(1);
  losses<T>(c, s, log_prob.data<T>(), classes, each.mutable_data<T>(),
            weights.mutable_data<double>());
  if (reduction == "none") return c.set_output(0, std::move(each));
  const auto total = [&](const auto* x) {
    return sum_of(each.count(), [x](std::int64_t i) { return x[i]; });
  };
  double sum = total(each.data<T>());
  if (reduction == "mean") sum /= total(weights.data<double>());
  c.set_output(0, scalar(c, static_cast<T>(sum)));
}

void nll_loss(KernelContext& c) {
  const Tensor x = c.input(0);
  const CutShape s = check_shapes(c);
  dispatch(Floats(), x.dtype(),
           [&]<typename T>() { reduce_losses<T>(c, s, x); });
}

void cross_entropy_loss(KernelContext& c) {
  const Tensor x = c.input(0);
  const CutShape s = check_shapes(c);
  Tensor log_prob = c.allocate(x.dtype(), x.dims());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    if (x.count() != 0) {
      for_lines(c, s, x.data<T>(), log_prob.mutable_data<T>(),
                [](const T* from, T* to, std::int64_t n) {
                  log_softmax_row(from, n, to);
                });
    }
    reduce_losses<T>(c, s, log_prob);
  });
  if (c.wants(1)) c.set_output(1, std::move(log_prob));
}

constexpr Kernel kLossKernels[] = {
    {"", "NegativeLogLikelihoodLoss", nll_loss, Adapt::kWiden},
    {"", "SoftmaxCrossEntropyLoss", cross_entropy_loss, Adapt::kWiden},
};

}  // namespace

const KernelRows kLossRows = kLossKernels;

}  // namespace ruleengine::kernels
