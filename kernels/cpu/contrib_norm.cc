// Norms of ONNX Runtime: of a sum, and by the root of the mean square alone.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

struct SkipNorm {
  std::int64_t size = 0;  // of a row
  double epsilon = 0;
  bool centered = false;
  const float* scale = nullptr;
  const float* shift = nullptr;

  // y = the norm of x; gives the mean and the inverse deviation.
  std::pair<double, double> row(const float* x, float* y) const {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[i]);
    const auto n = static_cast<double>(size);
    const double mean = centered ? sum / n : 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const double d = static_cast<double>(x[i]) - mean;
      squares += d * d;
    }
    const double by = 1 / std::sqrt(squares / n + epsilon);
    for (std::int64_t i = 0; i < size; ++i) {
      const double v = (static_cast<double>(x[i]) - mean) * by;
      y[i] = static_cast<float>(
          v * static_cast<double>(scale[i]) +
          (shift == nullptr ? 0 : static_cast<double>(shift[i])));
    }
    return {mean, by};
  }
};

// The elements of an input with one for each place of a row.
const float* row_input(KernelContext& c, std::size_t i, std::int64_t size) {
  return c.expect_count(i, size, DataType::kFloat).data<float>();
}

double epsilon(KernelContext& c, double otherwise) {
  return c.has_attribute("epsilon")
             ? static_cast<double>(c.attribute_float("epsilon"))
             : otherwise;
}

const Tensor& float_rows(KernelContext& c) {
  need_float(c, 0);
  return c.expect_min_rank(0, 1);
}

// Mean and deviation as [..., 1].
float* statistic(KernelContext& c, std::size_t i, const Tensor& x,
                 std::size_t axis) {
  if (!c.wants(i)) return nullptr;
  Dims dims(x.dims());
  for (std::size_t k = axis; k < dims.size(); ++k) dims[k] = 1;
  return c.output(i, DataType::kFloat, dims).mutable_data<float>();
}

void skip_norm(KernelContext& c, SkipNorm norm, std::size_t bias_input) {
  const Tensor x = float_rows(c), skip = c.input(1);
  norm.size = x.dim(x.rank() - 1);
  norm.epsilon = epsilon(c, 1e-12);
  norm.scale = row_input(c, 2, norm.size);
  if (norm.centered && c.has_input(3)) norm.shift = row_input(c, 3, norm.size);
  const float* bias =
      c.has_input(bias_input) ? row_input(c, bias_input, norm.size) : nullptr;
  // The other operand may be the same for all of the batch.
  if (skip.dtype() != DataType::kFloat ||
      (skip.count() != x.count() &&
       (skip.count() == 0 || x.count() % skip.count() != 0 ||
        skip.count() % std::max<std::int64_t>(norm.size, 1) != 0))) {
    c.wrong_shape(1, x.text() + ", or the same without leading axes");
  }
  Tensor& y = c.output(0, DataType::kFloat, x.dims());
  Tensor sum = c.allocate(DataType::kFloat, x.dims());
  float* means = statistic(c, 1, x, x.rank() - 1);
  float* deviations = statistic(c, 2, x, x.rank() - 1);
  const std::int64_t n = norm.size;
  const std::int64_t rows = n == 0 ? 0 : x.count() / n;
  c.threads().for_each_index(
      rows, kGrain / std::max<std::int64_t>(n, 1), [&](std::int64_t r) {
        const float* a = x.data<float>() + r * n;
        const float* b = skip.data<float>() + r * n % skip.count();
        float* s = sum.mutable_data<float>() + r * n;
        for (std::int64_t i = 0; i < n; ++i) {
          s[i] = a[i] + b[i] + (bias == nullptr ? 0 : bias[i]);
        }
        const auto [mean, by] = norm.row(s, y.mutable_data<float>() + r * n);
        if (means != nullptr) means[r] = static_cast<float>(mean);
        if (deviations != nullptr) deviations[r] = static_cast<float>(by);
      });
  if (c.wants(3)) c.set_output(3, std::move(sum));
}

}  // namespace

void skip_layer_norm(KernelContext& c) { skip_norm(c, {.centered = true}, 4); }
void skip_rms_norm(KernelContext& c) { skip_norm(c, {.centered = false}, 3); }

void simplified_layer_norm(KernelContext& c) {
  const Tensor x = float_rows(c);
  const std::size_t axis = axis_of(c.attribute_int("axis", -1), x.rank());
  SkipNorm norm{.size = product(x.dims(), axis, x.rank()),
                .epsilon = epsilon(c, 1e-5)};
  norm.scale = row_input(c, 1, norm.size);
  Tensor& y = c.output(0, DataType::kFloat, x.dims());
  float* deviations = statistic(c, 1, x, axis);
  const std::int64_t rows = x.count() == 0 ? 0 : x.count() / norm.size;
  c.threads().for_each_index(
      rows, kGrain / std::max<std::int64_t>(norm.size, 1), [&](std::int64_t r) {
        const auto [mean, by] =
            norm.row(x.data<float>() + r * norm.size,
                     y.mutable_data<float>() + r * norm.size);
        if (deviations != nullptr) deviations[r] = static_cast<float>(by);
      });
}

}  // namespace ruleengine::kernels
