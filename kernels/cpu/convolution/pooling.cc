// Pooling: one number for each window, or for all of each channel.
#include <cmath>
#include <limits>

#include "kernels/cpu/convolution/windows.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

// The rows of the output: along the last axis one after the other.
struct Plane {
  Windows windows;  // at least one axis
  std::int64_t in = 1, out = 1, rows = 1;

  explicit Plane(Windows all) : windows(std::move(all)) {
    if (windows.empty()) windows.push_back({.in = 1, .out = 1});
    for (const Window& w : windows) {
      in *= w.in;
      out *= w.out;
    }
    for (std::size_t i = 0; i + 1 < windows.size(); ++i) rows *= windows[i].out;
  }
  const Window& last() const { return windows.back(); }
};

// What one row of the output reads: where rows of the input begin, and how
// many taps of the outer axes count.
struct RowTaps {
  std::vector<std::int64_t> places;
  double with_padding = 1;  // taps within input and padding
};

void find_taps(const Plane& plane, std::int64_t row, RowTaps& taps) {
  const std::size_t outer = plane.windows.size() - 1;
  taps.places.assign(1, 0);
  taps.with_padding = 1;
  std::vector<std::int64_t> at(outer);
  for (std::size_t i = outer; i-- > 0;) {
    at[i] = row % plane.windows[i].out;
    row /= plane.windows[i].out;
  }
  std::vector<std::int64_t> next;
  for (std::size_t i = 0; i < outer; ++i) {
    const Window& w = plane.windows[i];
    const Range range = taps_inside(w, at[i]);
    next.clear();
    for (const std::int64_t base : taps.places) {
      for (std::int64_t k = range.begin; k < range.end; ++k) {
        next.push_back(base * w.in + w.start(at[i]) + k * w.dilation);
      }
    }
    taps.places.swap(next);
    taps.with_padding *= static_cast<double>(std::min(
        w.kernel, ceil_div(w.in + w.after - w.start(at[i]), w.dilation)));
  }
  for (std::int64_t& place : taps.places) place *= plane.last().in;
}

// Calls f(output, place in the input) for all windows of a row and their taps
// in one row of the input. The order of taps is that of the kernel.
template <typename F>
void for_row(const Window& w, std::int64_t base, Ticker& tick, F f) {
  if (w.kernel > 2 * w.out) {
    for (std::int64_t o = 0; o < w.out; ++o) {
      const Range taps = taps_inside(w, o);
      const std::int64_t start = base + w.start(o);
      for (std::int64_t k = taps.begin; k < taps.end; ++k) {
        tick();
        f(o, start + k * w.dilation);
      }
    }
    return;
  }
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    const Range range = windows_with(w, k);
    const std::int64_t shift = base + k * w.dilation - w.before;
    tick(range.size());
    if (w.stride == 1) {
      for (std::int64_t o = range.begin; o < range.end; ++o) f(o, shift + o);
    } else {
      for (std::int64_t o = range.begin; o < range.end; ++o) {
        f(o, shift + o * w.stride);
      }
    }
  }
}

WindowRule pool_rule(const Preparation& p) {
  p.need_attribute("kernel_shape");
  return WindowRule(p);
}

Windows pool_windows(Call& c, const WindowRule& rule) {
  return windows_of(c, rule, c.input(0).dims(), rule.kernel);
}

// Calls f(plane, row, taps) for each row of the output.
template <typename F>
void for_rows(Call& c, const Plane& plane, std::int64_t planes, F f) {
  if (plane.out == 0 || planes == 0) return;
  std::int64_t work = plane.last().out;
  for (const Window& w : plane.windows) {
    work = std::min(work, kGrain) * std::min(w.kernel, w.in + 1);
  }
  const std::int64_t grain =
      std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work));
  c.threads().for_each(planes * plane.rows, grain,
                       [&](std::int64_t begin, std::int64_t end) {
                         RowTaps taps;
                         std::int64_t known = -1;
                         for (std::int64_t i = begin; i < end; ++i) {
                           const std::int64_t row = i % plane.rows;
                           if (row != known) find_taps(plane, row, taps);
                           known = row;
                           f(i / plane.rows, row, taps);
                         }
                       });
}

template <typename T>
constexpr T least() {
  return std::numeric_limits<T>::has_infinity
             ? -std::numeric_limits<T>::infinity()
             : std::numeric_limits<T>::lowest();
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
  for_rows(c, plane, planes,
           [&](std::int64_t p, std::int64_t row, const RowTaps& taps) {
             const T* from = in + p * plane.in;
             T* to = out + p * plane.out + row * w.out;
             std::fill_n(to, w.out, least<T>());
             Ticker tick(c.threads());
             for (const std::int64_t base : taps.places) {
               for_row(w, base, tick, [&](std::int64_t o, std::int64_t i) {
                 to[o] = from[i] > to[o] ? from[i] : to[o];
               });
             }
           });
}

template <typename T>
void max_rows_with_places(Call& c, const Plane& plane, const T* in, T* out,
                          std::int64_t* places, std::int64_t planes,
                          bool by_column) {
  const Window& w = plane.last();
  for_rows(c, plane, planes,
           [&](std::int64_t p, std::int64_t row, const RowTaps& taps) {
             const T* from = in + p * plane.in;
             const std::int64_t at = p * plane.out + row * w.out;
             T* to = out + at;
             std::int64_t* place = places + at;
             std::fill_n(to, w.out, least<T>());
             std::fill_n(place, w.out, std::int64_t{-1});
             Ticker tick(c.threads());
             for (const std::int64_t base : taps.places) {
               for_row(w, base, tick, [&](std::int64_t o, std::int64_t i) {
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
  const Plane plane(windows);
  const std::int64_t planes = x.dim(0) * x.dim(1);

  using MaxTypes = Types<float, double, std::int8_t, std::uint8_t>;
  dispatch(MaxTypes(), x.dtype(), [&]<typename T>() {
    if (!c.wants(1)) {
      return max_rows(c, plane, x.data<T>(), y.mutable_data<T>(), planes);
    }
    Tensor& places = c.output(1, DataType::kInt64, dims);
    max_rows_with_places(c, plane, x.data<T>(), y.mutable_data<T>(),
                         places.mutable_data<std::int64_t>(), planes,
                         by_column);
  });
}

Op max_pool(const Preparation& p) {
  return [rule = pool_rule(p), by_column = p.attribute_flag("storage_order")](
             Call& c) { max_pool(c, rule, by_column); };
}

// y = finish(sum of step(x) over the window, taps inside, taps in the row's
// input and padding).
template <typename Step, typename Finish>
void sum_pool(Call& c, const WindowRule& rule, Step step, Finish finish) {
  const Tensor& x = c.input(0);
  const Windows windows = pool_windows(c, rule);
  const Dims dims = dims_of(x.dim(0), x.dim(1), windows);
  Tensor& y = c.output(0, x.dtype(), dims);
  const Plane plane(windows);
  const Window& w = plane.last();

  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    const T* in = x.data<T>();
    T* out = y.mutable_data<T>();
    for_rows(c, plane, x.dim(0) * x.dim(1),
             [&](std::int64_t p, std::int64_t row, const RowTaps& taps) {
               const T* from = in + p * plane.in;
               T* to = out + p * plane.out + row * w.out;
               std::vector<double> sums(index_of(w.out));
               double* sum = sums.data();
               Ticker tick(c.threads());
               for (const std::int64_t base : taps.places) {
                 for_row(w, base, tick, [&](std::int64_t o, std::int64_t i) {
                   sum[o] += step(static_cast<double>(from[i]));
                 });
               }
               const auto rows = std::ssize(taps.places);
               for (std::int64_t o = 0; o < w.out; ++o) {
                 const std::int64_t padded = std::min(
                     w.kernel,
                     ceil_div(w.in + w.after - w.start(o), w.dilation));
                 const std::int64_t inside = rows * taps_inside(w, o).size();
                 to[o] = static_cast<T>(
                     finish(sum[o], static_cast<double>(inside),
                            taps.with_padding * static_cast<double>(padded)));
               }
             });
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

// In four lanes, so that additions need not wait for each other.
template <typename T, typename F>
double sum_of(const T* in, std::int64_t count, F f) {
  double lane[4] = {};
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int k = 0; k < 4; ++k) lane[k] += f(static_cast<double>(in[i + k]));
  }
  for (; i < count; ++i) lane[0] += f(static_cast<double>(in[i]));
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

void global_average_pool(Call& c) {
  global_pool(c, [](const auto* in, std::int64_t count) {
    return sum_of(in, count, [](double x) { return x; }) /
           static_cast<double>(count);
  });
}

void global_max_pool(Call& c) {
  global_pool(c, [](const auto* in, std::int64_t count) {
    using T = std::remove_cvref_t<decltype(*in)>;
    T most = least<T>();
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
        return root(sum_of(in, count, power));
      });
    };
  });
}

constexpr Kernel kPoolingKernels[] = {
    {"", "AveragePool", average_pool, Adapt::kWiden},
    {"", "GlobalAveragePool", global_average_pool, Adapt::kWiden},
    {"", "GlobalLpPool", global_lp_pool, Adapt::kWiden},
    {"", "GlobalMaxPool", global_max_pool, Adapt::kWiden},
    {"", "LpPool", lp_pool, Adapt::kWiden},
    {"", "MaxPool", max_pool, Adapt::kWiden},
    {"", "MaxRoiPool", max_roi_pool, Adapt::kWiden},
    {"", "MaxUnpool", max_unpool, Adapt::kWiden},
};

}  // namespace

const KernelRows kPoolingRows = kPoolingKernels;

}  // namespace ruleengine::kernels
