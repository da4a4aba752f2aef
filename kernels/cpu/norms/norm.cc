// Normalizations of rows and over axes.
#include <algorithm>
#include <limits>

#include "core/ops/dialect.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/norms/norm_rows.h"
#include "kernels/cpu/reductions/reduce.h"
#include "kernels/strided.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

// A scale or bias of rows: the same for all of them, or one for each.
struct RowParameter {
  Tensor values;
  std::int64_t step = 0;  // from one row to the next
};

// Input `i`, which broadcasts to `x`, for rows of `size` elements.
template <typename T>
RowParameter row_parameter(Call& c, std::size_t i, const Tensor& x,
                           std::int64_t size) {
  const Tensor p = parameters(c, i, c.input(i).count(), kTypeOf<T>);
  expect_broadcast(c, i, p, x.dims());
  if (p.count() == size) {
    // One for each element of a row, if its leading axes are 1.
    Dims inner(p.dims());
    const std::size_t rank = x.rank();
    std::int64_t covered = 1;
    bool fits = true;
    for (std::size_t k = 0; k < inner.size() && covered < size; ++k) {
      const std::size_t from_end = inner.size() - 1 - k;
      fits = fits && inner[from_end] == x.dim(rank - 1 - k);
      covered *= inner[from_end];
    }
    if (fits && covered == size) return {p, 0};
  }
  Tensor out = c.allocate(kTypeOf<T>, x.dims());
  copy_block(c, x.dims(), p, {0, broadcast_strides(p.dims(), x.dims())}, out,
             dense(x.dims()));
  return {std::move(out), size};
}

// Rows from an axis on.
struct RowShape {
  std::int64_t rows, size;
  Dims reduced;  // the shape with 1 for each axis of a row
};
RowShape rows_of(const Call& c, const Tensor& x, AttributeAxis axis_said) {
  const std::size_t axis = axis_said.of(c, x.rank());
  RowShape s{0, 0, Dims(x.dims())};
  // Products of the sizes of an empty tensor may overflow.
  if (x.count() != 0) {
    s.rows = product(x.dims(), 0, axis);
    s.size = product(x.dims(), axis, x.rank());
  }
  for (std::size_t i = axis; i < x.rank(); ++i) s.reduced[i] = 1;
  return s;
}

struct LayerNormOp {
  explicit LayerNormOp(const Preparation& p)
      : axis(p),
        epsilon(p.attribute_float("epsilon")),
        stash_type(p.attribute_type("stash_type")) {}
  void operator()(Call& c) const;
  template <typename T>
  void run(Call& c, const Tensor& x, const RowShape& s, Tensor& out) const;
  void give_statistic(Call& c, std::size_t i, const Tensor& values) const;

  AttributeAxis axis;
  double epsilon;
  DataType stash_type;
};

// Output `i`, in the type that the statistics have.
void LayerNormOp::give_statistic(Call& c, std::size_t i,
                                 const Tensor& values) const {
  if (!c.wants(i)) return;
  c.set_output(i, runtime::narrowed(values, stash_type, c.run()));
}

template <typename T>
void LayerNormOp::run(Call& c, const Tensor& x, const RowShape& s,
                      Tensor& out) const {
  const RowParameter scale = row_parameter<T>(c, 1, x, s.size);
  const RowParameter bias =
      c.has_input(2) ? row_parameter<T>(c, 2, x, s.size) : RowParameter();
  Tensor means, inverses;
  if (c.wants(1)) means = c.allocate(DataType::kFloat, s.reduced);
  if (c.wants(2)) inverses = c.allocate(DataType::kFloat, s.reduced);
  auto* mean_of = means.mutable_data<float>();  // nullptr where it is not made
  auto* inverse_of = inverses.mutable_data<float>();
  T* to = out.mutable_data<T>();
  const auto one = [&](std::int64_t i) {
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      const T* row = x.data<T>() + i * s.size;
      T* y = to + i * s.size;
      const Moments m = moments_of(row, s.size);
      const double inverse = 1 / std::sqrt(m.variance + epsilon);
      if (mean_of != nullptr) mean_of[i] = static_cast<float>(m.mean);
      if (inverse_of != nullptr) inverse_of[i] = static_cast<float>(inverse);
      const Mean<T> mean(m.mean);
      const T by = static_cast<T>(inverse);
      const T* w = scale.values.data<T>() + i * scale.step;
      if (bias.values.count() == 0) {
        for (std::int64_t k = 0; k < s.size; ++k) {
          y[k] = mean.away_from(row[k]) * by * w[k];
        }
        return;
      }
      const T* b = bias.values.data<T>() + i * bias.step;
      for (std::int64_t k = 0; k < s.size; ++k) {
        y[k] = mean.away_from(row[k]) * by * w[k] + b[k];
      }
    });
  };
  c.threads().for_each_index(s.rows, row_grain(s.size), one);
  give_statistic(c, 1, means);
  give_statistic(c, 2, inverses);
}

void LayerNormOp::operator()(Call& c) const {
  const Tensor x = c.input(0);
  const RowShape s = rows_of(c, x, axis);
  Tensor& out = c.output(0, x.dtype(), x.dims());
  if (out.count() == 0) {
    Tensor none = c.allocate(DataType::kFloat, s.reduced);
    std::fill_n(none.mutable_data<float>(), none.count(),
                std::numeric_limits<float>::quiet_NaN());
    give_statistic(c, 1, none);
    return give_statistic(c, 2, none);
  }
  dispatch(Floats(), x.dtype(), [&]<typename T>() { run<T>(c, x, s, out); });
}

// y = x / sqrt(mean(x^2) + epsilon) w for all rows, where `w` may be missing.
template <typename T, typename To>
void rms_rows(Call& c, const Tensor& x, std::int64_t size, double epsilon,
              const RowParameter& w, Tensor& out) {
  To* to = out.mutable_data<To>();
  const auto one = [&](std::int64_t i) {
    runtime::for_vectors([&]() RULEENGINE_INLINE {
      const T* row = x.data<T>() + i * size;
      const T* scale = w.values.data<T>() + i * w.step;
      To* y = to + i * size;
      const double square = squares_around(row, size, 0) / double(size);
      const T by = static_cast<T>(1 / std::sqrt(square + epsilon));
      for (std::int64_t k = 0; k < size; ++k) {
        y[k] = static_cast<To>(scale == nullptr ? row[k] * by
                                                : row[k] * by * scale[k]);
      }
    });
  };
  c.threads().for_each_index(x.count() / size, row_grain(size), one);
}

// The result has the type of the scale.
void rms_normalization(Call& c, AttributeAxis axis, double epsilon) {
  const Tensor x = c.input(0);
  Tensor& out = c.output(0, c.input(1).dtype(), x.dims());
  if (out.count() == 0) return;
  const std::int64_t size = rows_of(c, x, axis).size;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    dispatch(Floats(), out.dtype(), [&]<typename To>() {
      rms_rows<T, To>(c, x, size, epsilon, row_parameter<T>(c, 1, x, size),
                      out);
    });
  });
}

// Output 0 is the norm of each row of x, times a weight that broadcasts with
// it.
void norm_rows(Call& c, const Tensor& x, std::size_t weight, double epsilon) {
  const Tensor w =
      c.has_input(weight) ? c.expect_type(weight, x.dtype()) : Tensor();
  const std::int64_t size = x.dim(x.rank() - 1);
  const bool along_rows =
      w.count() == size && w.rank() > 0 && w.dim(w.rank() - 1) == size;
  const bool is_whole = along_rows || !c.has_input(weight);
  Tensor& out = c.output(0, x.dtype(), broadcast(x.dims(), w.dims()));
  if (out.count() == 0) return;
  Tensor rows = is_whole ? out : c.allocate(x.dtype(), x.dims());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    rms_rows<T, T>(c, x, size, epsilon, {along_rows ? w : Tensor()}, rows);
    if (!is_whole) {
      map_binary<T, T, T>(c, rows, w, out, [](T a, T b) { return a * b; });
    }
  });
}

void own_rms_norm(Call& c, double epsilon) {
  norm_rows(c, c.expect_min_rank(0, 1), 1, epsilon);
}

// Output 1 is the sum.
void add_rms_norm(Call& c, double epsilon) {
  const Tensor& x = c.input(0);
  const Tensor& residual = c.expect_type(1, x.dtype());
  Tensor sum = c.allocate(x.dtype(), broadcast(x.dims(), residual.dims()));
  if (sum.rank() == 0) c.expect_min_rank(0, 1);
  if (sum.count() != 0) {
    dispatch(Floats(), x.dtype(), [&]<typename T>() {
      map_binary<T, T, T>(c, x, residual, sum, [](T a, T b) { return a + b; });
    });
  }
  norm_rows(c, sum, 2, epsilon);
  if (c.wants(1)) c.set_output(1, std::move(sum));
}

// x / norm, where the sum of absolute values (p = 1) or of squares is known; 0
// where that is 0.
template <typename T>
[[gnu::always_inline]] inline T by_norm(T x, double sum, std::int64_t p) {
  const double norm = p == 1 ? sum : std::sqrt(sum);
  const T quotient = static_cast<T>(double(x) / norm);
  return norm == 0 ? T(0) : quotient;
}
// Of a line whose elements lie side by side.
template <typename T>
void lp_row(const T* x, std::int64_t n, std::int64_t p, T* y) {
  const double sum = sum_of(n, [=](std::int64_t i) {
    const auto v = static_cast<double>(x[i]);
    return p == 1 ? std::abs(v) : v * v;
  });
  for (std::int64_t i = 0; i < n; ++i) y[i] = by_norm(x[i], sum, p);
}

// A line whose norm is 0 stays 0. `p`: 1 or 2.
void lp_normalization(Call& c, AttributeAxis axis_said, std::int64_t p) {
  const Tensor x = c.input(0);
  const std::size_t axis = axis_said.of(c, x.rank());
  Tensor& out = c.output(0, x.dtype(), x.dims());
  if (out.count() == 0) return;
  const CutShape s = cut_at(x.dims(), axis);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    T* to = out.mutable_data<T>();
    if (s.inner == 1) {
      return for_lines(c, s, x.data<T>(), to,
                       [p](const T* row, T* y, std::int64_t n) {
                         runtime::for_vectors(
                             [&]() RULEENGINE_INLINE { lp_row(row, n, p, y); });
                       });
    }
    for_columns(c.threads(), s,
                [&](std::int64_t block, std::int64_t first, std::int64_t last) {
                  const T* from = x.data<T>() + block * s.size * s.inner;
                  T* y = to + block * s.size * s.inner;
                  double sums[kColumns] = {};
                  for (std::int64_t i = 0; i < s.size; ++i) {
                    for (std::int64_t j = first; j < last; ++j) {
                      const auto v = static_cast<double>(from[i * s.inner + j]);
                      sums[j - first] += p == 1 ? std::abs(v) : v * v;
                    }
                  }
                  for (std::int64_t i = 0; i < s.size; ++i) {
                    for (std::int64_t j = first; j < last; ++j) {
                      const std::int64_t at = i * s.inner + j;
                      y[at] = by_norm(from[at], sums[j - first], p);
                    }
                  }
                });
  });
}

std::int64_t lp_of(const Preparation& p) {
  const std::int64_t norm = p.attribute_int("p");
  if (norm != 1 && norm != 2) p.wrong_attribute("p", "1 or 2");
  return norm;
}

std::int64_t lrn_size(const Preparation& p) {
  p.need_attribute("size");
  const std::int64_t size = p.attribute_int("size");
  if (size < 1) p.wrong_attribute("size", "1 or more");
  return size;
}

// Each element by the squares of the channels around it.
void lrn(Call& c, std::int64_t size, double alpha, double beta, double bias) {
  const Tensor x = c.expect_min_rank(0, 2);
  Tensor& out = c.output(0, x.dtype(), x.dims());
  if (out.count() == 0) return;
  const CutShape s = cut_at(x.dims(), 1);
  const double each = alpha / double(size);
  const std::int64_t before = std::min((size - 1) / 2, s.size);
  const std::int64_t after = std::min(size / 2, s.size);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    T* to = out.mutable_data<T>();
    const auto one = [&](std::int64_t i) {
      const std::int64_t k = i % s.size;
      const T* row = x.data<T>() + i * s.inner;
      const std::int64_t first = std::max<std::int64_t>(0, k - before) - k;
      const std::int64_t last = std::min(s.size - 1, k + after) - k;
      for (std::int64_t j = 0; j < s.inner; ++j) {
        double sum = 0;
        for (std::int64_t d = first; d <= last; ++d) {
          const auto v = static_cast<double>(row[d * s.inner + j]);
          sum += v * v;
        }
        const double base = bias + each * sum;
        const double power = beta == 0.75
                                 ? std::sqrt(base) * std::sqrt(std::sqrt(base))
                                 : std::pow(base, beta);
        to[i * s.inner + j] = static_cast<T>(double(row[j]) / power);
      }
    };
    c.threads().for_each_index(s.outer * s.size,
                               row_grain(s.inner * (before + after + 1)), one);
  });
}

// The standard's body takes the difference of two means for the variance, which
// may be negative.
void mean_variance_normalization(Call& c, const std::optional<Ints>& said) {
  const Tensor x = c.input(0);
  const auto axes = axes_of(said.value_or(Ints{0, 2, 3}), x.rank());
  const ReducedShape s = reduced_shape(x.dims(), axes, false);
  Tensor& out = c.output(0, x.dtype(), x.dims());
  if (out.count() == 0) return;
  const Rows<1> kept(s.kept, {s.kept_strides}), gone(s.gone, {s.gone_strides});
  const std::int64_t n = gone.length(), step = gone.inner(0);
  const auto terms = static_cast<double>(n * gone.count());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    T* to = out.mutable_data<T>();
    const auto one = [&](std::int64_t at) {
      Ticker tick(c.threads());
      const auto over = [&](auto f) {
        double sum = 0;
        gone.for_each(0, gone.count(), [&](std::int64_t, const auto& place) {
          tick(n);
          const T* row = x.data<T>() + at + place[0];
          sum += sum_of(n, [&](std::int64_t i) {
            return f(static_cast<double>(row[i * step]));
          });
        });
        return sum / terms;
      };
      const double mean = over([](double v) { return v; });
      const double variance =
          over([mean](double v) { return (v - mean) * (v - mean); });
      // The constant is that of the function body of the standard.
      const double by = 1 / (std::sqrt(variance) + 1e-9);
      gone.for_each(0, gone.count(), [&](std::int64_t, const auto& place) {
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t k = at + place[0] + i * step;
          to[k] = static_cast<T>((double(x.data<T>()[k]) - mean) * by);
        }
      });
    };
    const std::int64_t length = kept.length();
    c.threads().for_each(
        kept.count(), row_grain(n * gone.count() * length),
        [&](std::int64_t begin, std::int64_t end) {
          kept.for_each(begin, end, [&](std::int64_t, const auto& place) {
            for (std::int64_t i = 0; i < length; ++i) {
              one(place[0] + i * kept.inner(0));
            }
          });
        });
  });
}

constexpr Kernel::Prepare kAddRmsNorm =
    keeping<add_rms_norm, float_attribute<"epsilon">>;
}  // namespace

const KernelRows kNormRows = {
    {"", "BatchNormalization", batch_normalization, Adapt::kWiden},
    {"", "GroupNormalization", group_normalization, Adapt::kWiden},
    {"", "InstanceNormalization", instance_normalization, Adapt::kWiden},
    {"", "LRN",
     keeping<lrn, lrn_size, float_attribute<"alpha">, float_attribute<"beta">,
             float_attribute<"bias">>,
     Adapt::kWiden},
    {"", "LayerNormalization", prepared<LayerNormOp>, Adapt::kWiden},
    {"", "LpNormalization", keeping<lp_normalization, axis_attribute<>, lp_of>,
     Adapt::kWiden},
    {"", "MeanVarianceNormalization",
     keeping<mean_variance_normalization, written_ints<"axes">>, Adapt::kWiden},
    {"", "RMSNormalization",
     keeping<rms_normalization, axis_attribute<>, float_attribute<"epsilon">>,
     Adapt::kWiden},
    {ops::dialect::kCast, "add_rms_norm", kAddRmsNorm, Adapt::kWiden},
    {ops::dialect::kCast, "add_rms_norm2", kAddRmsNorm, Adapt::kWiden},
    {ops::dialect::kCast, "rms_norm",
     keeping<own_rms_norm, float_attribute<"epsilon">>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
