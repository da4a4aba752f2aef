#include "kernels/cpu/families.h"

#include <vector>

#include "kernels/cpu/norms/norm_rows.h"
#include "kernels/cpu/reductions/reduce.h"

namespace ruleengine::kernels {
namespace {

// [batch, channels, elements]: without axis 1 there is one channel.
CutShape channel_shape(Call& c) {
  const Tensor& x = c.expect_min_rank(0, 1);
  if (x.rank() == 1) return {x.dim(0), 1, 1};
  return cut_at(x.dims(), 1);
}

template <typename T>
void normalize_channels(Call& c, const Tensor& x, const CutShape& s,
                        const std::vector<Moments>& moments, double epsilon,
                        Tensor& out) {
  const Tensor scale = parameters(c, 1, s.size, x.dtype());
  const Tensor bias = parameters(c, 2, s.size, x.dtype());
  Tensor factors = c.allocate(x.dtype(), Dims{2, s.size});
  T* by = factors.mutable_data<T>();
  T* shift = by + s.size;
  for (std::int64_t i = 0; i < s.size; ++i) {
    const Moments& m = moments[index_of(i)];
    const double factor =
        double(scale.data<T>()[i]) / std::sqrt(m.variance + epsilon);
    by[i] = static_cast<T>(factor);
    shift[i] = static_cast<T>(double(bias.data<T>()[i]) - m.mean * factor);
  }
  const T* from = x.data<T>();
  T* to = out.mutable_data<T>();
  if (s.inner == 1) {
    c.threads().for_each_index(s.outer, row_grain(s.size), [&](std::int64_t i) {
      const T* row = from + i * s.size;
      T* y = to + i * s.size;
      for (std::int64_t k = 0; k < s.size; ++k) {
        y[k] = row[k] * by[k] + shift[k];
      }
    });
    return;
  }
  c.threads().for_each_index(s.outer * s.size, row_grain(s.inner),
                             [&](std::int64_t i) {
                               const std::int64_t k = i % s.size;
                               affine_row(from + i * s.inner, s.inner, 0, by[k],
                                          shift[k], to + i * s.inner);
                             });
}

// Over the batch and all elements of each channel.
template <typename T>
std::vector<Moments> batch_moments(Call& c, const Tensor& x,
                                   const CutShape& s) {
  std::vector<Moments> out(index_of(s.size));
  const auto count = static_cast<double>(s.outer) * double(s.inner);
  const auto over_batch = [&](std::int64_t channel, auto f) {
    double sum = 0;
    for (std::int64_t i = 0; i < s.outer; ++i) {
      sum += f(x.data<T>() + (i * s.size + channel) * s.inner);
    }
    return sum;
  };
  c.threads().for_each_index(
      s.size, row_grain(s.outer * s.inner), [&](std::int64_t k) {
        Moments& m = out[index_of(k)];
        m.mean = over_batch(k,
                            [&](const T* row) {
                              return sum_of(s.inner, [row](std::int64_t i) {
                                return row[i];
                              });
                            }) /
                 count;
        m.variance = over_batch(k,
                                [&](const T* row) {
                                  return squares_around(row, s.inner, m.mean);
                                }) /
                     count;
      });
  return out;
}

// Output `i`: the old statistic moved towards that of this batch, or as it is.
void write_statistic(Call& c, std::size_t i, std::size_t from,
                     const std::vector<Moments>& moments,
                     double Moments::*field, double momentum) {
  if (!c.wants(i)) return;
  const Tensor old = c.input(from);
  Tensor& out = c.output(i, old.dtype(), old.dims());
  dispatch(Floats(), old.dtype(), [&]<typename T>() {
    for (std::size_t k = 0; k < moments.size(); ++k) {
      const double before = static_cast<double>(old.data<T>()[k]);
      out.mutable_data<T>()[k] = static_cast<T>(
          before * momentum + moments[k].*field * (1 - momentum));
    }
  });
}

std::vector<Moments> given_moments(Call& c, std::int64_t channels) {
  const Tensor mean = parameters(c, 3, channels, DataType::kDouble);
  const Tensor variance = parameters(c, 4, channels, DataType::kDouble);
  std::vector<Moments> out(index_of(channels));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = {mean.data<double>()[i], variance.data<double>()[i]};
  }
  return out;
}

void normalize_batch(Call& c, double epsilon, double momentum, bool training) {
  const Tensor x = c.input(0);
  Tensor& out = c.output(0, x.dtype(), x.dims());
  // Products of the sizes of an empty tensor may overflow.
  const bool is_empty = x.count() == 0;
  const CutShape s =
      is_empty ? CutShape{0, c.input(1).count(), 1} : channel_shape(c);
  std::vector<Moments> moments = given_moments(c, s.size);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    if (training) moments = batch_moments<T>(c, x, s);
    normalize_channels<T>(c, x, s, moments, epsilon, out);
  });
  if (!training) return;
  write_statistic(c, 1, 3, moments, &Moments::mean, momentum);
  write_statistic(c, 2, 4, moments, &Moments::variance, momentum);
}

// Each of `groups` parts of a batch element's channels by its own statistics.
void normalize_groups(Call& c, std::int64_t groups, double epsilon) {
  const Tensor x = c.input(0);
  Tensor& out = c.output(0, x.dtype(), x.dims());
  if (x.count() == 0) return;
  const CutShape s = channel_shape(c);
  if (groups <= 0 || s.size % groups != 0) {
    c.wrong_attribute("num_groups",
                      "a divisor of " + std::to_string(s.size) + " channels");
  }
  const std::int64_t width = s.size / groups, row = width * s.inner;
  const Tensor scale = parameters(c, 1, s.size, x.dtype());
  const Tensor bias = parameters(c, 2, s.size, x.dtype());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    T* to = out.mutable_data<T>();
    const auto one = [&](std::int64_t i) {
      Moments m;
      runtime::for_vectors([&]() RULEENGINE_INLINE {
        m = moments_of(x.data<T>() + i * row, row);
      });
      const double inverse = 1 / std::sqrt(m.variance + epsilon);
      for (std::int64_t k = 0; k < width; ++k) {
        const std::int64_t at = i * row + k * s.inner;
        const std::int64_t place = i % groups * width + k;
        const double factor = double(scale.data<T>()[place]) * inverse;
        affine_row(x.data<T>() + at, s.inner, m.mean, static_cast<T>(factor),
                   bias.data<T>()[place], to + at);
      }
    };
    c.threads().for_each_index(s.outer * groups, row_grain(row), one);
  });
}

}  // namespace

Op batch_normalization(const Preparation& p) {
  return keeping<normalize_batch, float_attribute<"epsilon">,
                 float_attribute<"momentum">, flag_attribute<"training_mode">>(
      p);
}

Op instance_normalization(const Preparation& p) {
  return [epsilon = p.attribute_float("epsilon")](Call& c) {
    normalize_groups(c, c.expect_min_rank(0, 2).dim(1), epsilon);
  };
}

Op group_normalization(const Preparation& p) {
  p.need_attribute("num_groups");
  return [groups = p.attribute_int("num_groups"),
          epsilon = p.attribute_float("epsilon")](Call& c) {
    c.expect_min_rank(0, 2);
    normalize_groups(c, groups, epsilon);
  };
}

}  // namespace ruleengine::kernels
