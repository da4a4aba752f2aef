// Pooling: one number for each window, or for all of each channel.
#include <cmath>

#include "kernels/cpu/convolution/rows.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/number.h"
#include "kernels/cpu/reductions/fold.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

// Calls f(output, place in the row) for all windows of a row and their taps
// along it, in the order of the kernel.
template <typename F>
[[gnu::always_inline]] inline void for_row(const Plane& plane, Ticker& tick,
                                           const F& f) {
  const Window& w = plane.last();
  if (plane.inside.empty()) {
    for (std::int64_t o = 0; o < w.out; ++o) {
      const Range taps = taps_inside(w, o);
      const std::int64_t start = w.start(o);
      tick(taps.size());
      for (std::int64_t k = taps.begin; k < taps.end; ++k) {
        f(o, start + k * w.dilation);
      }
    }
    return;
  }
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    const Range range = plane.inside[index_of(k)];
    tick(range.size());
    for_steps(range.begin, range.end, w.start(range.begin) + k * w.dilation,
              w.stride, f);
  }
}

// out[o] = all of step(x) over window `o`, joined: first the rows of the image
// that the row of windows reads, into `line`, and then the taps along it.
template <typename T, typename Sum, typename Step, typename Join>
void join_row(const Plane& plane, const RowTaps& taps, const T* image,
              Sum start, Step step, Join join, std::byte* line, Sum* out,
              Ticker& tick) {
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    // Held in registers: bytes that are written may be anything.
    const Step own_step = step;
    const Join own_join = join;
    const Sum first = start;
    auto* sums = reinterpret_cast<Sum*>(line);
    Sum* to = out;
    const std::int64_t size = plane.last().in;
    std::fill_n(sums, size, first);
    for (const std::int64_t place : taps.places) {
      const T* from = image + place;
      tick(size);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < size; ++i) {
        sums[i] = own_join(sums[i], own_step(from[i]));
      }
    }
    std::fill_n(to, plane.last().out, first);
    for_row(plane, tick, [=](std::int64_t o, std::int64_t i) RULEENGINE_INLINE {
      to[o] = own_join(to[o], sums[i]);
    });
  });
}

WindowRule pool_rule(const Preparation& p) {
  p.need_attribute("kernel_shape");
  return WindowRule(p);
}

Windows pool_windows(Call& c, const WindowRule& rule) {
  return windows_of(c, rule, c.input(0).dims(), rule.kernel);
}

// A place of the input with the first spatial axis running fastest.
std::int64_t column_major(const Windows& windows, std::int64_t place) {
  std::int64_t rest = place, out = 0;
  for (std::size_t i = windows.size(); i-- > 0;) {
    const std::int64_t at = rest % windows[i].in;
    rest /= windows[i].in;
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < i; ++k) stride *= windows[k].in;
    out += at * stride;
  }
  return out;
}

template <typename T>
void max_rows(Call& c, const Plane& plane, const T* in, T* out,
              std::int64_t planes) {
  const Window& w = plane.last();
  for_rows(c, plane, planes, w.in * std::int64_t{sizeof(T)},
           [&](std::int64_t p, std::int64_t row, const RowTaps& taps,
               std::byte* line, Ticker& tick) {
             join_row(
                 plane, taps, in + p * plane.in, kLowest<T>,
                 [](T x) { return x; },
                 [](T most, T x) { return x > most ? x : most; }, line,
                 out + p * plane.out + row * w.out, tick);
           });
}

template <typename T>
void max_rows_with_places(Call& c, const Plane& plane, const T* in, T* out,
                          std::int64_t* places, std::int64_t planes,
                          bool by_column) {
  const Window& w = plane.last();
  for_rows(c, plane, planes, 0,
           [&](std::int64_t p, std::int64_t row, const RowTaps& taps,
               std::byte*, Ticker& tick) {
             const T* from = in + p * plane.in;
             const std::int64_t at = p * plane.out + row * w.out;
             T* to = out + at;
             std::int64_t* place = places + at;
             std::fill_n(to, w.out, kLowest<T>);
             std::fill_n(place, w.out, std::int64_t{-1});
             for (const std::int64_t base : taps.places) {
               for_row(plane, tick, [&](std::int64_t o, std::int64_t at_tap) {
                 const std::int64_t i = base + at_tap;
                 if (from[i] > to[o] || place[o] < 0) {
                   to[o] = from[i];
                   place[o] = i;
                 }
               });
             }
             for (std::int64_t o = 0; o < w.out; ++o) {
               if (place[o] < 0) continue;  // only padding
               place[o] = p * plane.in +
                          (by_column ? column_major(plane.windows, place[o])
                                     : place[o]);
             }
           });
}

void max_pool(Call& c, const WindowRule& rule, bool by_column) {
  const Tensor& x = c.input(0);
  const Windows windows = pool_windows(c, rule);
  const Dims dims = dims_of(x.dim(0), x.dim(1), windows);
  Tensor& y = c.output(0, x.dtype(), dims);
  Tensor* places = c.wants(1) ? &c.output(1, DataType::kInt64, dims) : nullptr;
  const std::int64_t planes = x.dim(0) * x.dim(1);

  using MaxTypes = Types<float, double, std::int8_t, std::uint8_t>;
  dispatch(MaxTypes(), x.dtype(), [&]<typename T>() {
    if (y.count() == 0) return;
    const Plane plane(windows);
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    if (places == nullptr) return max_rows(c, plane, in, out, planes);
    max_rows_with_places(c, plane, in, out,
                         places->mutable_data<std::int64_t>(), planes,
                         by_column);
  });
}

// y = finish(sum of step(x) over the window, taps inside, taps in the row's
// input and padding).
template <typename Step, typename Finish>
void sum_pool(Call& c, const WindowRule& rule, Step step, Finish finish) {
  const Tensor& x = c.input(0);
  const Windows windows = pool_windows(c, rule);
  const Dims dims = dims_of(x.dim(0), x.dim(1), windows);
  Tensor& y = c.output(0, x.dtype(), dims);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    if (y.count() == 0) return;
    const Plane plane(windows);
    const Window& w = plane.last();
    // By window of a row: taps of the last axis inside, and in the padding too.
    Tensor counts = c.allocate(DataType::kDouble, Dims{2, w.out});
    double *inside = counts.mutable_data<double>(), *padded = inside + w.out;
    for (std::int64_t o = 0; o < w.out; ++o) {
      inside[o] = static_cast<double>(taps_inside(w, o).size());
      padded[o] = padded_taps(w, o);
    }

    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    const auto row = [&](std::int64_t p, std::int64_t at, const RowTaps& taps,
                         std::byte* line, Ticker& tick) {
      double* sums = reinterpret_cast<double*>(line) + w.in;
      join_row(
          plane, taps, in + p * plane.in, 0.0,
          [step](T v) { return step(static_cast<double>(v)); },
          [](double sum, double v) { return sum + v; }, line, sums, tick);
      const auto rows = static_cast<double>(taps.places.size());
      T* to = out + p * plane.out + at * w.out;
      runtime::for_vectors([&]() RULEENGINE_INLINE {
        for (std::int64_t o = 0; o < w.out; ++o) {
          to[o] = static_cast<T>(
              finish(sums[o], rows * inside[o], taps.with_padding * padded[o]));
        }
      });
    };
    for_rows(c, plane, x.dim(0) * x.dim(1),
             (w.in + w.out) * std::int64_t{sizeof(double)}, row);
  });
}

Op average_pool(const Preparation& p) {
  const bool with_padding = p.attribute_flag("count_include_pad");
  return [rule = pool_rule(p), with_padding](Call& c) {
    sum_pool(
        c, rule, [](double x) { return x; },
        [with_padding](double sum, double inside, double padded) {
          const double count = with_padding ? padded : inside;
          return count == 0 ? 0.0 : sum / count;
        });
  };
}

// f(power, root) with functions for the exponent, which attribute 'p' is.
template <typename F>
Op with_norm(const Preparation& node, F f) {
  const auto p = static_cast<double>(node.attribute_int("p"));
  if (!(p > 0)) node.wrong_attribute("p", "more than 0");
  if (p == 1) {
    return f([](double x) { return std::abs(x); },
             [](double sum) { return sum; });
  }
  if (p == 2) {
    return f([](double x) { return x * x; },
             [](double sum) { return std::sqrt(sum); });
  }
  return f([p](double x) { return std::pow(std::abs(x), p); },
           [p](double sum) { return std::pow(sum, 1 / p); });
}

Op lp_pool(const Preparation& p) {
  return with_norm(p, [&](auto power, auto root) {
    return [=, rule = pool_rule(p)](Call& c) {
      sum_pool(c, rule, power,
               [root](double sum, double, double) { return root(sum); });
    };
  });
}

// f(elements, count) for each channel of each batch.
template <typename F>
void global_pool(Call& c, F f) {
  const Tensor& x = c.expect_min_rank(0, 2);
  Dims dims(x.dims());
  std::int64_t size = 1;
  for (std::size_t i = 2; i < x.rank(); ++i) {
    size *= x.dim(i);
    dims[i] = 1;
  }
  Tensor& y = c.output(0, x.dtype(), dims);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    c.threads().for_each_index(
        y.count(), kGrain / (size + 1), [&](std::int64_t i) {
          out[i] = static_cast<T>(f(in + i * size, size));
        });
  });
}

// The sum of f of the elements.
template <typename T, typename F>
double sum_of_all(const T* in, std::int64_t count, F f) {
  double out = 0;
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    out = sum_of(count, [in, f](std::int64_t i) {
      return f(static_cast<double>(in[i]));
    });
  });
  return out;
}

void global_average_pool(Call& c) {
  global_pool(c, [](const auto* in, std::int64_t count) {
    return sum_of_all(in, count, [](double x) { return x; }) /
           static_cast<double>(count);
  });
}

void global_max_pool(Call& c) {
  global_pool(c, [](const auto* in, std::int64_t count) {
    using T = std::remove_cvref_t<decltype(*in)>;
    T most = kLowest<T>;
    for (std::int64_t i = 0; i < count; ++i) {
      if (in[i] > most || std::isnan(in[i])) most = in[i];
      if (std::isnan(most)) break;
    }
    return most;
  });
}

Op global_lp_pool(const Preparation& p) {
  return with_norm(p, [](auto power, auto root) {
    return [=](Call& c) {
      global_pool(c, [&](const auto* in, std::int64_t count) {
        return root(sum_of_all(in, count, power));
      });
    };
  });
}

}  // namespace

const KernelRows kPoolingRows = {
    {"", "AveragePool", average_pool, Adapt::kWiden},
    {"", "GlobalAveragePool", global_average_pool, Adapt::kWiden},
    {"", "GlobalLpPool", global_lp_pool, Adapt::kWiden},
    {"", "GlobalMaxPool", global_max_pool, Adapt::kWiden},
    {"", "LpPool", lp_pool, Adapt::kWiden},
    {"", "MaxPool",
     keeping<max_pool, pool_rule, flag_attribute<"storage_order">>,
     Adapt::kWiden},
    {"", "MaxRoiPool", max_roi_pool, Adapt::kWiden},
    {"", "MaxUnpool", max_unpool, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
