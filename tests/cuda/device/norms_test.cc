#include "kernels/cuda/device/norms.h"

#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

constexpr float kEpsilon = 1e-5f;

template <typename T>
struct NormTest {
  bool has_mean = true, skips = false, scales = false;
  int64_t rows, n;
  int skip_elements;
  Buffer<T> x, skip, skip_bias, scale, bias, out, sum;
  Buffer<float> mean, inverse;

  NormTest(int64_t r, int64_t size, int unaligned)
      : rows(r),
        n(size),
        skip_elements(unaligned),
        x(random_buffer<T>(r * n, unaligned)),
        skip(random_buffer<T>(r * n, unaligned, 4, 7)),
        skip_bias(random_buffer<T>(n, unaligned, 1, 8)),
        scale(random_buffer<T>(n, unaligned, 2, 9)),
        bias(random_buffer<T>(n, unaligned, 1, 10)),
        out(r * n, unaligned),
        sum(r * n, unaligned),
        mean(r),
        inverse(r) {}

  double input(int64_t row, int64_t i) {
    const int64_t at = row * n + i;
    return x.at(at) + (skips ? skip.at(at) + skip_bias.at(i) : 0);
  }

  NormArgs args() {
    return {x.data(),
            skips ? skip.data() : nullptr,
            skips ? skip_bias.data() : nullptr,
            scales ? scale.data() : nullptr,
            scales ? bias.data() : nullptr,
            out.data(),
            skips ? sum.data() : nullptr,
            has_mean ? mean.data() : nullptr,
            inverse.data(),
            rows,
            n,
            kEpsilon};
  }

  void check() {
    std::vector<double> want(static_cast<std::size_t>(rows * n));
    std::vector<double> means(static_cast<std::size_t>(rows)), inverses = means;
    for (int64_t row = 0; row < rows; ++row) {
      double m = 0, variance = 0;
      for (int64_t i = 0; i < n && has_mean; ++i)
        m += input(row, i) / double(n);
      for (int64_t i = 0; i < n; ++i) {
        variance += std::pow(input(row, i) - m, 2) / double(n);
      }
      const double deviation = 1 / std::sqrt(variance + kEpsilon);
      means[std::size_t(row)] = m;
      inverses[std::size_t(row)] = deviation;
      for (int64_t i = 0; i < n; ++i) {
        const double value = (input(row, i) - m) * deviation;
        want[std::size_t(row * n + i)] =
            scales ? value * scale.at(i) + bias.at(i) : value;
      }
    }
    const Shape shape{.blocks = unsigned(norm_blocks(args()))};
    const std::string name = named<T>(has_mean ? "layer_norm" : "rms_norm");
    check_kernel(
        name, args(), shape, out,
        [&](int64_t i) { return want[std::size_t(i)]; }, tolerance<T>(), 4e-6);
    check_close(
        inverse, [&](int64_t i) { return inverses[std::size_t(i)]; },
        n == 1 && has_mean ? 1e-3 : 2e-6);
    if (has_mean) {
      check_close(
          mean, [&](int64_t i) { return means[std::size_t(i)]; }, 2e-6, 2e-6);
    }
    if (skips) {
      check_close(
          sum, [&](int64_t i) { return input(i / n, i % n); }, tolerance<T>(),
          1e-6);
    }
  }
};

TEST_CASE_TEMPLATE("norms of rows", T, float, __half, __nv_bfloat16) {
  for (const int64_t n : {1, 31, 32, 33, 768, 1023, 1024, 1025, 4097, 9216}) {
    for (const int unaligned : {0, 1}) {
      NormTest<T> test(n > 1024 ? 2 : 9, n, unaligned);
      for (int options = 0; options < 8; ++options) {
        test.has_mean = options & 1;
        test.skips = options & 2;
        test.scales = options & 4;
        CAPTURE(n);
        CAPTURE(options);
        test.check();
      }
    }
  }
}

TEST_CASE("the variance of numbers far from 0 keeps its digits") {
  NormTest<float> test(3, 2048, 0);
  for (int64_t i = 0; i < test.x.size(); ++i) test.x[i] += 10000;
  const NormArgs args = test.args();
  run("layer_norm_f32", args, {.blocks = 3}, Order::kForward);
  double variance = 0, mean = 0;
  for (int64_t i = 0; i < test.n; ++i) mean += test.x.at(i) / 2048;
  for (int64_t i = 0; i < test.n; ++i) {
    variance += std::pow(test.x.at(i) - mean, 2) / 2048;
  }
  CHECK(is_close(test.inverse.at(0), 1 / std::sqrt(variance + kEpsilon), 1e-5,
                 0));
}

}  // namespace
}  // namespace ruleengine::kernels::device
