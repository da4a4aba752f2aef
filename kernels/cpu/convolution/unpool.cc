// The inverse of max pooling, and max pooling over regions.
#include <cmath>

#include "kernels/cpu/convolution/windows.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

// The attributes of MaxUnpool.
struct UnpoolRule {
  explicit UnpoolRule(const Preparation& p)
      : kernel(p, "kernel_shape", 1),
        strides(p, "strides", 1),
        pads(p, "pads", 0) {
    p.need_attribute("kernel_shape");
  }

  WindowInts kernel, strides, pads;
};

// The windows whose maxima x holds, along all axes.
Windows pooled_windows(Call& c, const UnpoolRule& rule, const Tensor& x) {
  const std::size_t rank = x.rank() - 2;
  const Ints kernel = rule.kernel.of(c, rank);
  const Ints strides = rule.strides.of(c, rank);
  const Ints pads = rule.pads.of(c, 2 * rank);
  Windows all{{.in = x.dim(0), .out = x.dim(0)},
              {.in = x.dim(1), .out = x.dim(1)}};
  for (std::size_t i = 0; i < rank; ++i) {
    if (x.dim(i + 2) > std::int64_t{1} << 31) {
      fail("wrong shape of input 'X'", "axes of 2^31 at most", x.text());
    }
    Window w{.out = x.dim(i + 2),
             .kernel = kernel[i],
             .stride = strides[i],
             .before = pads[i],
             .after = pads[rank + i]};
    w.in = w.span() - w.before - w.after;
    all.push_back(w);
  }
  return all;
}

// Whether every element of x lies in its own window, if `places` are in the
// shape `to`.
bool fits(const Windows& windows, const Tensor& x, const Ints& places, Shape to,
          Ticker tick) {
  const Shape from = x.dims();
  for (std::size_t n = 0; n < places.size(); ++n) {
    tick(8);
    std::int64_t place = places[n], element = static_cast<std::int64_t>(n);
    for (std::size_t i = from.size(); i-- > 0;) {
      if (to[i] <= 0 || place < 0) return false;
      const std::int64_t at =
          place % to[i] - windows[i].start(element % from[i]);
      if (at < 0 || at >= windows[i].kernel) return false;
      place /= to[i];
      element /= from[i];
    }
    if (place != 0) return false;
  }
  return true;
}

// A place in one shape as a place in another of the same rank.
std::int64_t moved(std::int64_t place, Shape from, Shape to) {
  std::int64_t out = 0, stride = 1;
  for (std::size_t i = from.size(); i-- > 0;) {
    const std::int64_t at = place % from[i];
    place /= from[i];
    if (at >= to[i]) {
      fail("wrong value of input 'I'",
           "places in the output, " + runtime::shape_text(to),
           std::to_string(at) + " along axis " + std::to_string(i));
    }
    out += at * stride;
    stride *= to[i];
  }
  return out;
}

// The first and last element of a bin, within the axis.
struct Bins {
  std::int64_t start;
  double size;

  Bins(double begin, double end, double scale, std::int64_t count) {
    const double limit = 1e9;
    const double low = std::clamp(std::round(begin * scale), -limit, limit);
    const double high = std::clamp(std::round(end * scale), -limit, limit);
    if (std::isnan(low) || std::isnan(high)) {
      fail("wrong value of input 'rois'", "numbers", "NaN");
    }
    start = static_cast<std::int64_t>(low);
    size = std::max(high - low + 1, 1.0) / static_cast<double>(count);
  }
  Range at(std::int64_t i, std::int64_t length) const {
    const auto from = static_cast<double>(i), to = static_cast<double>(i + 1);
    const auto begin = static_cast<std::int64_t>(std::floor(from * size));
    const auto end = static_cast<std::int64_t>(std::ceil(to * size));
    return {std::clamp<std::int64_t>(begin + start, 0, length),
            std::clamp<std::int64_t>(end + start, 0, length)};
  }
};

template <typename T>
T max_of(const T* plane, std::int64_t width, Range rows, Range columns) {
  if (rows.size() == 0 || columns.size() == 0) return 0;
  T most = plane[rows.begin * width + columns.begin];
  for (std::int64_t y = rows.begin; y < rows.end; ++y) {
    for (std::int64_t x = columns.begin; x < columns.end; ++x) {
      most = std::max(most, plane[y * width + x]);
    }
  }
  return most;
}

void unpool(Call& c, const UnpoolRule& rule) {
  const Tensor& x = c.expect_min_rank(0, 3);
  c.expect_shape(1, x.dims());
  const Windows windows = pooled_windows(c, rule, x);
  const Ints places = c.ints(1);
  Dims inferred;
  for (const Window& w : windows) inferred.push_back(w.in);
  Dims dims = inferred;
  if (c.has_input(2)) {
    c.expect_count(2, x.rank());
    dims.assign(c.ints(2));
  }
  Tensor& y = c.output(0, x.dtype(), dims);
  // Indices are places in the tensor that was pooled. Those of MaxPool are in
  // the output's shape; the standard's examples have them in the shape inferred
  // from x, where pooling dropped no rest (decision 0024).
  const bool is_given = fits(windows, x, places, dims, Ticker(c.threads()));
  const Shape from = is_given ? dims : Shape(inferred.data(), inferred.size());
  const std::int64_t count = runtime::count_of(from);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    T* out = y.mutable_data<T>();
    fill(c, out, y.count(), T(0));
    Ticker tick(c.threads());
    for (std::size_t i = 0; i < places.size(); ++i) {
      tick(8);
      if (places[i] < 0 || places[i] >= count) {
        c.wrong_value(1, "0 to " + std::to_string(count - 1),
                      std::to_string(places[i]));
      }
      out[moved(places[i], from, dims)] = x.data<T>()[i];
    }
  });
}

// `pooled`: height and width.
void pool_regions(Call& c, const Ints& pooled, double scale) {
  const Tensor& x = c.expect_rank(0, 4);
  const Tensor& rois = c.expect_shape(1, Dims{-1, 5}, x.dtype());
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  Tensor& y =
      c.output(0, x.dtype(), Dims{rois.dim(0), channels, pooled[0], pooled[1]});
  if (y.count() == 0) return;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    const auto piece = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* roi = rois.data<T>() + i / channels * 5;
        const auto batch = static_cast<double>(roi[0]);
        if (!(batch >= 0 && batch < static_cast<double>(x.dim(0)))) {
          c.wrong_value(1, "a batch from 0 to " + std::to_string(x.dim(0) - 1),
                        std::to_string(batch));
        }
        const auto plane =
            static_cast<std::int64_t>(batch) * channels + i % channels;
        const T* in = x.data<T>() + plane * height * width;
        T* out = y.mutable_data<T>() + i * pooled[0] * pooled[1];
        const Bins columns(roi[1], roi[3], scale, pooled[1]);
        const Bins rows(roi[2], roi[4], scale, pooled[0]);
        for (std::int64_t h = 0; h < pooled[0]; ++h) {
          for (std::int64_t w = 0; w < pooled[1]; ++w) {
            *out++ =
                max_of(in, width, rows.at(h, height), columns.at(w, width));
          }
        }
      }
    };
    c.threads().for_each(rois.dim(0) * channels, 1, piece);
  });
}

}  // namespace

Op max_unpool(const Preparation& p) {
  return [rule = UnpoolRule(p)](Call& c) { unpool(c, rule); };
}

Op max_roi_pool(const Preparation& p) {
  p.need_attribute("pooled_shape");
  return [pooled = WindowInts(p, "pooled_shape", 1).of(p, 2),
          scale = p.attribute_float("spatial_scale")](Call& c) {
    pool_regions(c, pooled, scale);
  };
}

}  // namespace ruleengine::kernels
