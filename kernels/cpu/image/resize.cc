// Resize and Upsample: one axis after the other.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/image/image.h"
#include "kernels/cpu/image/resample.h"
#include "kernels/keeping.h"

namespace ruleengine::kernels {
namespace {

ResizeMode resize_mode_of(const Preparation& p) {
  const std::string_view mode = p.attribute_string("mode");
  if (mode == "nearest") return ResizeMode::kNearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMode::kLinear;
  if (mode == "cubic") return ResizeMode::kCubic;
  p.wrong_attribute("mode", "nearest, linear or cubic");
}

std::vector<double> doubles_of(Call& c, std::size_t i, std::size_t count) {
  const Tensor& t = c.expect_count(i, count);
  std::vector<double> all(index_of(t.count()));
  dispatch(Floats(), t.dtype(), [&]<typename T>() {
    std::ranges::copy(t.values<T>(), all.begin());
  });
  for (const double each : all) {
    if (!std::isfinite(each)) {
      c.wrong_value(i, "finite numbers", std::to_string(each));
    }
  }
  return all;
}

// A scale that is given: the size follows.
void set_scale(ResizeAxis& axis, double scale) {
  if (!(scale > 0)) {
    fail("wrong value of 'scales'", "more than 0", std::to_string(scale));
  }
  axis.scale = scale;
  axis.out = static_cast<std::int64_t>(
      std::min(std::floor(scale * static_cast<double>(axis.in)), 1e15));
}

// A size that is given: the scale follows.
void set_size(ResizeAxis& axis, std::int64_t size) {
  if (size < 0)
    fail("wrong value of input 'sizes'", "0 or more", std::to_string(size));
  axis.out = size;
  axis.scale = axis.in == 0
                   ? 1
                   : static_cast<double>(size) / static_cast<double>(axis.in);
}

using ResizeAxes = std::vector<ResizeAxis>;

ResizeAxes axes_from(const Tensor& x) {
  ResizeAxes axes;
  for (const std::int64_t size : x.dims()) {
    axes.push_back({.in = size, .out = size});
  }
  return axes;
}

// The axes that the inputs of Resize are about, in their order.
std::vector<std::size_t> named_axes(Call& c, const ResizeRule& rule,
                                    std::size_t rank) {
  std::vector<std::size_t> all;
  if (!rule.axes) {
    for (std::size_t i = 0; i < rank; ++i) all.push_back(i);
    return all;
  }
  for (const std::int64_t axis : *rule.axes) all.push_back(axis_of(axis, rank));
  if (axes_of(*rule.axes, rank).size() != all.size()) {
    c.wrong_attribute("axes", "each axis once");
  }
  return all;
}

void set_sizes(Call& c, AspectRatio aspect,
               const std::vector<std::size_t>& named, ResizeAxes& axes) {
  c.expect_count(3, named.size());
  const Ints sizes = c.ints(3);
  for (std::size_t i = 0; i < named.size(); ++i) {
    set_size(axes[named[i]], sizes[i]);
  }
  if (aspect == AspectRatio::kStretch || named.empty()) return;
  double scale = axes[named[0]].scale;
  for (const std::size_t i : named) {
    scale = aspect == AspectRatio::kNotLarger ? std::min(scale, axes[i].scale)
                                              : std::max(scale, axes[i].scale);
  }
  for (const std::size_t i : named) {
    const double size = scale * static_cast<double>(axes[i].in);
    axes[i].scale = scale;
    axes[i].out = static_cast<std::int64_t>(std::min(size + 0.5, 1e15));
  }
}

void set_crop(Call& c, const std::vector<std::size_t>& named,
              ResizeAxes& axes) {
  if (!c.has_input(1) || c.input(1).count() == 0) {
    fail("input 'roi' is missing, which tf_crop_and_resize needs");
  }
  const auto roi = doubles_of(c, 1, 2 * named.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    axes[named[i]].begin = roi[i];
    axes[named[i]].end = roi[named.size() + i];
  }
}

template <typename T>
void nearest(Call& c, const Tensor& x, const ResizeRule& rule,
             const ResizeAxes& axes, T outside, Tensor& y) {
  std::vector<Tensor> tables;
  std::vector<const std::int64_t*> places;
  for (const ResizeAxis& axis : axes) {
    tables.push_back(nearest_places(c, rule, axis));
    places.push_back(tables.back().data<std::int64_t>());
  }
  const T* in = elements<T>(x);
  T* out = mutable_elements<T>(y);
  if (axes.empty()) {
    *out = *in;
    return;
  }
  const std::size_t last = axes.size() - 1;
  const std::int64_t length = axes[last].out;
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    Ticker tick(c.threads());
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, base = 0, stride = axes[last].in;
      bool is_inside = true;
      for (std::size_t i = last; i-- > 0;) {
        const auto at = index_of(rest % axes[i].out);
        rest /= axes[i].out;
        is_inside = is_inside && places[i][at] >= 0;
        base += places[i][at] * stride;
        stride *= axes[i].in;
      }
      T* to = out + row * length;
      const std::int64_t* from = places[last];
      for (std::int64_t i = 0; i < length; ++i) {
        tick();
        to[i] = is_inside && from[i] >= 0 ? in[base + from[i]] : outside;
      }
    }
  };
  c.threads().for_each(y.count() / length, kGrain / length, piece);
}

// One axis of [outer, axis, inner]; the elements of the result are Mid.
template <typename From, typename Mid>
void resample_axis(Call& c, const From* in, std::int64_t outer,
                   const ResizeAxis& axis, std::int64_t inner,
                   const ResizeRule& rule, Mid* out) {
  const ResizeWeights table = resize_weights(c, rule, axis);
  const auto exact = table.weights.values<double>();
  const std::vector<Mid> weights(exact.begin(), exact.end());
  const std::int64_t taps = table.taps;
  const std::int64_t work = taps * inner + 1;
  c.threads().for_each_index(
      outer * axis.out, kGrain / work, [&](std::int64_t i) {
        const std::int64_t* places =
            table.places.data<std::int64_t>() + i % axis.out * taps;
        const Mid* w = weights.data() + i % axis.out * taps;
        const From* from = in + i / axis.out * axis.in * inner;
        Mid* to = out + i * inner;
        if (places[0] < 0) {
          std::fill_n(to, inner, static_cast<Mid>(rule.outside));
          return;
        }
        std::fill_n(to, inner, Mid(0));
        for (std::int64_t k = 0; k < taps; ++k) {
          if (w[k] == 0) continue;
          const From* row = from + places[k] * inner;
          for (std::int64_t e = 0; e < inner; ++e) {
            to[e] += w[k] * static_cast<Mid>(row[e]);
          }
        }
      });
}

// Axis after axis, in double for whole numbers.
template <typename T>
void interpolate(Call& c, const Tensor& x, const ResizeRule& rule,
                 const ResizeAxes& axes, Tensor& y) {
  using Mid = std::conditional_t<std::is_same_v<T, float>, float, double>;
  Tensor now;
  Dims dims(x.dims());
  bool any = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].is_same()) continue;
    const std::int64_t outer = product(dims, 0, i);
    const std::int64_t inner = product(dims, i + 1, dims.size());
    dims[i] = axes[i].out;
    Tensor next = c.allocate(kTypeOf<Mid>, dims);
    if (!any) {
      resample_axis(c, x.data<T>(), outer, axes[i], inner, rule,
                    next.template mutable_data<Mid>());
    } else {
      resample_axis(c, now.template data<Mid>(), outer, axes[i], inner, rule,
                    next.template mutable_data<Mid>());
    }
    now = std::move(next);
    any = true;
  }
  T* out = y.mutable_data<T>();
  if (!any) {
    std::copy_n(x.data<T>(), x.count(), out);
    return;
  }
  const Mid* from = now.template data<Mid>();
  for_each_element(c, y.count(), [&](std::int64_t i) {
    out[i] = saturated<T>(static_cast<double>(from[i]));
  });
}

void run(Call& c, const Tensor& x, const ResizeRule& rule,
         const ResizeAxes& axes) {
  Dims dims;
  for (const ResizeAxis& axis : axes) dims.push_back(axis.out);
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  if (x.count() == 0) c.wrong_shape(0, "1 element or more");
  if (rule.mode != ResizeMode::kNearest) {
    dispatch(NumbersAndBool(), x.dtype(),
             [&]<typename T>() { interpolate<T>(c, x, rule, axes, y); });
  } else if (rule.coordinates == Coordinates::kCrop) {
    dispatch(NumbersAndBool(), x.dtype(), [&]<typename T>() {
      nearest<T>(c, x, rule, axes, saturated<T>(rule.outside), y);
    });
  } else {
    dispatch_width(x.dtype(),
                   [&]<typename T>() { nearest<T>(c, x, rule, axes, T(), y); });
  }
}

void resize_image(Call& c, const ResizeRule& rule) {
  const Tensor x = c.input(0);
  ResizeAxes axes = axes_from(x);
  const auto named = named_axes(c, rule, x.rank());
  const bool has_sizes = c.has_input(3) && c.input(3).count() > 0;
  const bool has_scales = c.has_input(2) && c.input(2).count() > 0;
  if (has_sizes && has_scales) {
    fail("inputs 'scales' and 'sizes' are both given", "one of them", "both");
  }
  if (has_sizes) {
    set_sizes(c, rule.aspect, named, axes);
  } else if (has_scales) {
    const auto scales = doubles_of(c, 2, named.size());
    for (std::size_t i = 0; i < named.size(); ++i) {
      set_scale(axes[named[i]], scales[i]);
    }
  } else if (!named.empty()) {
    fail("inputs 'scales' and 'sizes' are both missing", "one of them", "none");
  }
  const bool is_same =
      rule.coordinates == Coordinates::kAsymmetric &&
      std::ranges::all_of(axes, [](const auto& a) { return a.scale == 1; });
  if (is_same) return c.set_output(0, x);
  if (rule.coordinates == Coordinates::kCrop) set_crop(c, named, axes);
  run(c, x, rule, axes);
}

}  // namespace

ResizeRule::ResizeRule(const Preparation& p)
    : mode(resize_mode_of(p)),
      coordinates(choice_of<Coordinates>(
          p, "coordinate_transformation_mode",
          {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
           "align_corners", "asymmetric", "tf_crop_and_resize",
           "tf_half_pixel_for_nn"})),
      aspect(
          choice_of<AspectRatio>(p, "keep_aspect_ratio_policy",
                                 {"stretch", "not_larger", "not_smaller", ""})),
      cubic_a(p.attribute_float("cubic_coeff_a")),
      outside(p.attribute_float("extrapolation_value")),
      antialias(p.attribute_flag("antialias")),
      exclude_outside(p.attribute_flag("exclude_outside")) {
  if (mode == ResizeMode::kNearest) {
    nearest = choice_of<NearestMode>(
        p, "nearest_mode",
        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  }
  if (antialias && mode == ResizeMode::kNearest) {
    p.wrong_attribute("antialias", "0 where 'mode' is nearest");
  }
  if (p.has_attribute("axes")) axes = p.attribute_ints("axes");
}

Op resize(const Preparation& p) {
  return [rule = ResizeRule(p)](Call& c) { resize_image(c, rule); };
}

}  // namespace ruleengine::kernels
