// Ops that draw numbers. Each element has its own draw, from a counter (Philox
// 4x32 of ten rounds, Salmon et al. 2011), so the numbers are the same on every
// machine and with any number of threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "runtime/conversions.h"
#include "runtime/seed.h"

namespace ruleengine::kernels {
namespace {

class Philox {
 public:
  explicit Philox(std::uint64_t seed) : seed_(seed) {}

  // 128 bits for a counter.
  std::array<std::uint32_t, 4> bits(std::uint64_t counter) const {
    auto low = static_cast<std::uint32_t>(seed_);
    auto high = static_cast<std::uint32_t>(seed_ >> 32);
    std::array<std::uint32_t, 4> x = {static_cast<std::uint32_t>(counter),
                                      static_cast<std::uint32_t>(counter >> 32),
                                      0, 0};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * x[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * x[2];
      x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ low,
           static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ high,
           static_cast<std::uint32_t>(a)};
      low += 0x9E3779B9u;
      high += 0xBB67AE85u;
    }
    return x;
  }

  // In [0, 1), of 53 bits.
  double uniform(std::uint64_t counter) const {
    const auto x = bits(counter);
    return unit(x[0], x[1]);
  }
  // Of mean 0 and deviation 1 (Box and Muller).
  double normal(std::uint64_t counter) const {
    const auto x = bits(counter);
    const double radius = std::sqrt(-2 * std::log(1 - unit(x[0], x[1])));
    return radius * std::cos(2 * std::numbers::pi * unit(x[2], x[3]));
  }

 private:
  static double unit(std::uint32_t a, std::uint32_t b) {
    const std::uint64_t all = std::uint64_t{a} << 32 | b;
    return static_cast<double>(all >> 11) * 0x1p-53;
  }

  std::uint64_t seed_;
};

// Output 0 = f(i) for each element i, in a type of floats.
template <typename F>
void draw(Call& c, DataType type, Shape dims, F f) {
  const DataType in = ir::is_narrow_float(type) ? DataType::kFloat : type;
  Tensor out = c.allocate(in, dims);
  dispatch(Floats(), in, [&]<typename T>() {
    T* to = out.mutable_data<T>();
    c.threads().for_each_index(out.count(), kGrain / 16, [&](std::int64_t i) {
      to[i] = static_cast<T>(f(i));
    });
  });
  c.set_output(0, runtime::narrowed(out, type, c.run()));
}

// Attribute `dtype`, or the type of input 0.
DataType type_like(const Call& c, DataType said) {
  return said == DataType::kUndefined ? c.input(0).dtype() : said;
}

struct Normal {
  explicit Normal(const Preparation& p)
      : mean(p.attribute_float("mean")), scale(p.attribute_float("scale")) {}
  double operator()(const Philox& from, std::uint64_t i) const {
    return mean + scale * from.normal(i);
  }
  double mean, scale;
};

struct Uniformly {
  explicit Uniformly(const Preparation& p)
      : low(p.attribute_float("low")), high(p.attribute_float("high")) {}
  double operator()(const Philox& from, std::uint64_t i) const {
    return low + (high - low) * from.uniform(i);
  }
  double low, high;
};

// Of this shape, or of that of input 0.
template <typename Distribution>
void draw_all(Call& c, DataType said, const std::optional<Ints>& shape,
              const Distribution& distribution, const runtime::Seed& seed) {
  const Philox from(seed.next(c.run()));
  const DataType type = shape ? said : type_like(c, said);
  draw(c, type, shape ? Shape(*shape) : c.input(0).dims(), [&](std::int64_t i) {
    return distribution(from, static_cast<std::uint64_t>(i));
  });
}

template <typename Distribution>
Op random_like(const Preparation& p) {
  return keeping<draw_all<Distribution>, type_attribute<"dtype">,
                 written_ints<"shape">, kept<Distribution>,
                 kept<runtime::Seed>>(p);
}
template <typename Distribution>
Op random_of(const Preparation& p) {
  p.need_attribute("shape");
  return random_like<Distribution>(p);
}

// The ONNX library has a body for it, which draws 1 with the probability 1 - p.
void bernoulli(Call& c, DataType said, const runtime::Seed& seed) {
  const DataType type = type_like(c, said);
  const Tensor p = runtime::widened(c.input(0), c.run());
  const Philox from(seed.next(c.run()));
  dispatch(Floats(), p.dtype(), [&]<typename T>() {
    const T* at = p.data<T>();
    const auto is_drawn = [&](std::int64_t i) {
      return from.uniform(static_cast<std::uint64_t>(i)) <
             static_cast<double>(at[i]);
    };
    if (ir::is_narrow_float(type) || type == DataType::kFloat ||
        type == DataType::kDouble) {
      return draw(c, type, p.dims(), is_drawn);
    }
    Tensor& out = c.output(0, type, p.dims());
    dispatch(NumbersAndBool(), type, [&]<typename To>() {
      for_each_element(c, p.count(), [&](std::int64_t i) {
        out.mutable_data<To>()[i] = static_cast<To>(is_drawn(i));
      });
    });
  });
}

// Classes by their logarithms of probabilities, which need no sum of 1.
template <typename T, typename To>
void sample(Call& c, const Tensor& x, const Philox& from, Tensor& out) {
  const std::int64_t classes = x.dim(1), samples = out.dim(1);
  const Tensor room = c.allocate(DataType::kDouble, Dims{classes});
  std::vector<double> sums(index_of(classes));
  Ticker tick(c.threads());
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    const T* row = x.data<T>() + b * classes;
    const auto most =
        static_cast<double>(*std::max_element(row, row + classes));
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      tick();
      sum += std::exp(static_cast<double>(row[k]) - most);
      sums[index_of(k)] = sum;
    }
    if (!(sum > 0) || !std::isfinite(sum)) {
      c.wrong_value(0, "finite logarithms of probabilities",
                    std::to_string(most) + " as the largest of a row");
    }
    for (std::int64_t s = 0; s < samples; ++s) {
      tick(8);
      const std::int64_t i = b * samples + s;
      const double at = sum * from.uniform(static_cast<std::uint64_t>(i));
      const auto found = std::ranges::upper_bound(sums, at) - sums.begin();
      out.mutable_data<To>()[i] =
          static_cast<To>(std::min<std::int64_t>(found, classes - 1));
    }
  }
}

void multinomial(Call& c, DataType type, std::int64_t samples,
                 const runtime::Seed& seed) {
  const Tensor x = runtime::widened(c.expect_rank(0, 2), c.run());
  if (x.dim(1) == 0) c.wrong_shape(0, "1 class or more");
  const std::int64_t dims[] = {x.dim(0), samples};
  Tensor& out = c.output(0, type, dims);
  const Philox from(seed.next(c.run()));
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    dispatch(Types<std::int32_t, std::int64_t>(), type,
             [&]<typename To>() { sample<T, To>(c, x, from, out); });
  });
}

}  // namespace

const KernelRows kRandomRows = {
    {"", "Bernoulli",
     keeping<bernoulli, type_attribute<"dtype">, kept<runtime::Seed>>},
    {"", "Dropout", dropout, Adapt::kWiden},
    {"", "Multinomial",
     keeping<multinomial, type_attribute<"dtype">, int_attribute<"sample_size">,
             kept<runtime::Seed>>},
    {"", "RandomNormal", random_of<Normal>},
    {"", "RandomNormalLike", random_like<Normal>},
    {"", "RandomUniform", random_of<Uniformly>},
    {"", "RandomUniformLike", random_like<Uniformly>},
};

}  // namespace ruleengine::kernels
