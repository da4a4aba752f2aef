// Signals: Fourier transforms and the mel scale.
#include <algorithm>
#include <cmath>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/signal/fourier.h"

namespace ruleengine::kernels {
namespace {

// Room for one transform, so that a length that no memory holds fails here.
void need_room(Call& c, std::int64_t length) {
  if (length < 1) {
    fail("the length of the transform is out of range", "at least 1",
         std::to_string(length));
  }
  c.allocate(DataType::kComplex128, Dims{length, 8});
}

// The transforms along one axis of [outer, axis, inner, real or complex].
struct DftJob {
  std::int64_t outer, in, out, inner, length;
  std::int64_t parts_in, parts_out;
  bool inverse, mirror;  // the inverse of one half: the other mirrors it
};

template <typename T>
void transform(Call& c, const DftJob& job, const T* in, T* out) {
  const Fourier plan(job.length, c.threads());
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    std::vector<Complex> signal(index_of(job.length)), result(signal.size());
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t o = i / job.inner, r = i % job.inner;
      const T* from = in + (o * job.in * job.inner + r) * job.parts_in;
      const std::int64_t known =
          std::min(job.in, job.mirror ? job.length / 2 + 1 : job.length);
      std::fill(signal.begin(), signal.end(), Complex());
      for (std::int64_t k = 0; k < known; ++k) {
        const T* value = from + k * job.inner * job.parts_in;
        signal[index_of(k)] = {value[0], job.parts_in == 2 ? value[1] : T(0)};
      }
      if (job.mirror) {
        signal[0].imag(0);
        for (std::int64_t k = job.length / 2 + 1; k < job.length; ++k) {
          signal[index_of(k)] = std::conj(signal[index_of(job.length - k)]);
        }
        if (job.length % 2 == 0) signal[index_of(job.length / 2)].imag(0);
      }
      job.inverse ? plan.inverse(signal.data(), result.data())
                  : plan.forward(signal.data(), result.data());
      T* to = out + (o * job.out * job.inner + r) * job.parts_out;
      for (std::int64_t k = 0; k < job.out; ++k) {
        T* value = to + k * job.inner * job.parts_out;
        value[0] = static_cast<T>(result[index_of(k)].real());
        if (job.parts_out == 2) {
          value[1] = static_cast<T>(result[index_of(k)].imag());
        }
      }
    }
  };
  c.threads().for_each(job.outer * job.inner, kGrain / 16 / job.length, piece);
}

void need_parts(const Call& c) {
  const std::int64_t parts = c.expect_min_rank(0, 2).dims().back();
  if (parts != 1 && parts != 2) c.wrong_shape(0, "a last axis of 1 or 2");
}

void dft(Call& c, bool inverse, bool onesided) {
  const Tensor& x = c.input(0);
  need_parts(c);
  const std::int64_t where = c.has_input(2) ? c.scalar_int(2) : -2;
  const std::size_t axis = axis_of(where, x.rank()), last = x.rank() - 1;
  if (axis == last) {
    fail("the axis is that of real and imaginary parts",
         "an axis before the last", std::to_string(where));
  }
  DftJob job{.outer = product(x.dims(), 0, axis),
             .in = x.dim(axis),
             .out = 0,
             .inner = product(x.dims(), axis + 1, last),
             .length = x.dim(axis),
             .parts_in = x.dim(last),
             .parts_out = 2,
             .inverse = inverse,
             .mirror = inverse && onesided};
  if (job.mirror) job.length = 2 * (job.in - 1);
  if (c.has_input(1)) job.length = c.scalar_int(1);
  if (job.outer * job.inner == 0 && job.length < 1) job.length = 1;
  need_room(c, job.length);
  job.out = onesided && !inverse ? job.length / 2 + 1 : job.length;
  if (job.mirror) job.parts_out = 1;
  Dims dims(x.dims());
  dims[axis] = job.out;
  dims[last] = job.parts_out;
  Tensor& y = c.output(0, x.dtype(), dims);
  if (y.count() == 0) return;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    transform(c, job, x.data<T>(), y.mutable_data<T>());
  });
}

// `one_side`: of transforms of real numbers.
void stft(Call& c, bool one_side) {
  const Tensor& x = c.expect_rank(0, 3);
  need_parts(c);
  const std::int64_t batch = x.dim(0), total = x.dim(1), parts = x.dim(2);
  const std::int64_t step = c.scalar_int(1);
  if (step < 1) c.wrong_value(1, "1 or more", std::to_string(step));
  const Tensor* window = c.has_input(2) ? &c.input(2) : nullptr;
  std::int64_t length = window == nullptr ? total : window->count();
  if (c.has_input(3)) length = c.scalar_int(3);
  if (window != nullptr) c.expect_shape(2, Dims{length}, x.dtype());
  if (length < 1 || length > total) {
    fail("the frames do not fit the signal", std::to_string(total) + " at most",
         std::to_string(length));
  }
  const std::int64_t frames = (total - length) / step + 1;
  const bool onesided = one_side && parts == 1;
  const std::int64_t bins = onesided ? length / 2 + 1 : length;
  Tensor& y = c.output(0, x.dtype(), Dims{batch, frames, bins, 2});
  if (y.count() == 0) return;
  need_room(c, length);
  const Fourier plan(length, c.threads());
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    const auto piece = [&](std::int64_t begin, std::int64_t end) {
      std::vector<Complex> signal(index_of(length)), result(signal.size());
      for (std::int64_t i = begin; i < end; ++i) {
        const T* from =
            x.data<T>() + (i / frames * total + i % frames * step) * parts;
        for (std::int64_t k = 0; k < length; ++k) {
          const T weight = window == nullptr ? T(1) : window->data<T>()[k];
          signal[index_of(k)] = {
              from[k * parts] * weight,
              parts == 2 ? from[k * parts + 1] * weight : T(0)};
        }
        plan.forward(signal.data(), result.data());
        T* to = y.mutable_data<T>() + i * bins * 2;
        for (std::int64_t k = 0; k < bins; ++k) {
          to[2 * k] = static_cast<T>(result[index_of(k)].real());
          to[2 * k + 1] = static_cast<T>(result[index_of(k)].imag());
        }
      }
    };
    c.threads().for_each(batch * frames, 1, piece);
  });
}

// y = at(i), from 0 to 1, for each element.
template <typename F>
void give_doubles(Call& c, Tensor& y, F at) {
  const DataType type = y.dtype();
  if (ir::is_narrow_float(type) && ir::bit_width(type) == 16) {
    auto* to = y.mutable_data<std::uint16_t>();
    return for_each_element(c, y.count(), [&](std::int64_t i) {
      to[i] = static_cast<std::uint16_t>(ir::narrow(type, at(i)));
    });
  }
  dispatch(Numbers(), type, [&]<typename T>() {
    T* to = y.mutable_data<T>();
    for_each_element(c, y.count(),
                     [&](std::int64_t i) { to[i] = static_cast<T>(at(i)); });
  });
}

// The bins of the spectrogram at which bands begin, have their peak and end.
Tensor mel_points(Call& c, std::int64_t bands, std::int64_t length, double rate,
                  double low, double high) {
  const auto mel = [](double hertz) {
    return 2595 * std::log10(1 + hertz / 700);
  };
  const double first = mel(low);
  const double step = (mel(high) - first) / (static_cast<double>(bands) + 2);
  Tensor points = c.allocate(DataType::kInt64, Dims{bands + 2});
  auto* to = points.mutable_data<std::int64_t>();
  for_each_element(c, points.count(), [&](std::int64_t i) {
    const double at = static_cast<double>(i) * step + first;
    const double hertz = 700 * (std::pow(10.0, at / 2595) - 1);
    const double bin =
        std::floor((static_cast<double>(length) + 1) * hertz / rate);
    const std::int64_t last = length / 2;
    if (!(bin >= 0 && bin <= static_cast<double>(last))) {
      fail("an edge lies outside the spectrogram",
           "0 to " + std::to_string(last), std::to_string(bin));
    }
    to[i] = static_cast<std::int64_t>(bin);
  });
  return points;
}

// Rises from 0 at `begin` to 1 at `peak`, and falls to 0 at `end`.
double triangle(std::int64_t at, std::int64_t begin, std::int64_t peak,
                std::int64_t end) {
  if (at == peak) return 1;
  const std::int64_t foot = at < peak ? begin : end;
  if (at < peak ? at < foot : at > foot) return 0;
  return static_cast<double>(at - foot) / static_cast<double>(peak - foot);
}

void mel_weight_matrix(Call& c, DataType type) {
  const std::int64_t bands = c.scalar_int(0), length = c.scalar_int(1);
  const std::int64_t rate = c.scalar_int(2);
  const double low = c.scalar_float(3), high = c.scalar_float(4);
  if (bands < 0 || length < 1 || rate < 1 || !(low >= 0) || !(high >= low)) {
    fail("the number of bands, a length, the rate or an edge is out of range",
         "0, 1, 1 or more, and edges from 0 up",
         std::to_string(bands) + ", " + std::to_string(length) + ", " +
             std::to_string(rate) + ", " + std::to_string(low) + ", " +
             std::to_string(high));
  }
  // Says how many bands there may be.
  Tensor& y = c.output(0, type, Dims{length / 2 + 1, bands});
  const Tensor points =
      mel_points(c, bands, length, static_cast<double>(rate), low, high);
  give_doubles(c, y, [&](std::int64_t i) {
    const std::int64_t* band = points.data<std::int64_t>() + i % bands;
    return triangle(i / bands, band[0], band[1], band[2]);
  });
}

Op mel_weight_matrix(const Preparation& p) {
  DataType type = p.attribute_type("output_datatype");
  if (type == DataType::kUndefined) type = DataType::kFloat;
  return [type](Call& c) { mel_weight_matrix(c, type); };
}

}  // namespace

const KernelRows kSignalRows = {
    {"", "DFT",
     keeping<dft, flag_attribute<"inverse">, flag_attribute<"onesided">>,
     Adapt::kWiden},
    {"", "MelWeightMatrix", mel_weight_matrix},
    {"", "STFT", keeping<stft, flag_attribute<"onesided">>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
