#include "kernels/cuda/device/softmax.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

struct AxisCase {
  int64_t outer, n, inner;
  int skip = 0;
};
const AxisCase kAxisCases[] = {
    {1, 1, 1},    {9, 31, 1},     {17, 32, 1},     {3, 33, 1, 1}, {5, 1023, 1},
    {2, 1024, 1}, {2, 1025, 1},   {2, 4097, 1, 3}, {2, 9216, 1},  {2, 9, 2},
    {1, 1, 33},   {3, 33, 31, 1}, {2, 1023, 32},   {3, 7, 100},
};

// The values along the axis of output or input element `at`.
template <typename T>
struct Axis {
  Buffer<T>& in;
  AxisCase size;

  int64_t start(int64_t at) const {
    const int64_t block = size.n * size.inner;
    return at / block * block + at % size.inner;
  }
  template <typename F>
  double fold(int64_t begin, double from, F f) const {
    for (int64_t i = 0; i < size.n; ++i) {
      from = f(from, in.at(begin + i * size.inner));
    }
    return from;
  }
  double most(int64_t begin) const {
    return fold(begin, -kInf, [](double a, double b) {
      return std::isnan(a) || b < a ? a : b;
    });
  }
  double least(int64_t begin) const {
    return fold(begin, kInf, [](double a, double b) {
      return std::isnan(a) || b > a ? a : b;
    });
  }
  double sum(int64_t begin) const {
    return fold(begin, 0, [](double a, double b) { return a + b; });
  }
  double exponents(int64_t begin) const {
    const double top = most(begin);
    return fold(begin, 0,
                [top](double a, double b) { return a + std::exp(b - top); });
  }
};

template <typename T>
void check_softmax(Buffer<T>& in, const AxisCase& each) {
  Buffer<T> out(in.size(), each.skip);
  const AxisArgs args{in.data(), out.data(), each.outer, each.n, each.inner};
  const Shape shape{.blocks = unsigned(axis_blocks(args))};
  const Axis<T> axis{in, each};
  std::vector<double> most, sum;
  for (int64_t i = 0; i < in.size(); ++i) {
    most.push_back(axis.start(i) == i ? axis.most(i)
                                      : most[std::size_t(axis.start(i))]);
    sum.push_back(axis.start(i) == i ? axis.exponents(i)
                                     : sum[std::size_t(axis.start(i))]);
  }
  const auto at = [&](int64_t i) { return in.at(i) - most[std::size_t(i)]; };
  check_kernel(
      named<T>("softmax"), args, shape, out,
      [&](int64_t i) { return std::exp(at(i)) / sum[std::size_t(i)]; },
      tolerance<T>() + 2e-6, 1e-7);
  check_kernel(
      named<T>("log_softmax"), args, shape, out,
      [&](int64_t i) { return at(i) - std::log(sum[std::size_t(i)]); },
      tolerance<T>(), 4e-6);
}

TEST_CASE_TEMPLATE("softmax along an axis", T, float, __half, __nv_bfloat16) {
  for (const AxisCase& each : kAxisCases) {
    CAPTURE(each.n);
    CAPTURE(each.inner);
    auto in = random_buffer<T>(each.outer * each.n * each.inner, each.skip, 9);
    check_softmax(in, each);
  }
}

TEST_CASE_TEMPLATE("softmax of what is not finite", T, float, __half,
                   __nv_bfloat16) {
  for (const AxisCase& each :
       {AxisCase{5, 40, 1}, AxisCase{5, 3000, 1}, AxisCase{5, 40, 3}}) {
    auto in = random_buffer<T>(each.outer * each.n * each.inner, 0, 9);
    const int64_t row = each.n * each.inner;
    for (int64_t i = 0; i < row; ++i) {
      in[i] = of_double<T>(-kInf);  // nothing else
      if (i != 7) in[row + i] = of_double<T>(-kInf);
      if (i > 35) in[2 * row + i] = of_double<T>(-kInf);
    }
    in[3 * row + 6] = of_double<T>(kInf);
    in[4 * row + 6] = of_double<T>(kNan);
    check_softmax(in, each);
  }
}

template <typename T>
void check_reductions(const AxisCase& each) {
  auto in = random_buffer<T>(each.outer * each.n * each.inner, each.skip, 100);
  constexpr bool is_float = !std::is_integral_v<T>;
  if (is_float && in.size() > 100) in[50] = of_double<T>(kNan);
  Buffer<T> out(each.outer * each.inner);
  const AxisArgs args{in.data(), out.data(), each.outer, each.n, each.inner};
  const Shape shape{.blocks = unsigned(axis_blocks(args))};
  const Axis<T> axis{in, each};
  const auto start = [&](int64_t i) {
    return i / each.inner * each.n * each.inner + i % each.inner;
  };
  const double relative = is_float ? tolerance<T>() : 0;
  const double size = double(each.n);
  const double absolute = is_float ? 1e-6 * 100 * std::sqrt(size) : 0;
  check_kernel(
      named<T>("reduce_sum"), args, shape, out,
      [&](int64_t i) { return axis.sum(start(i)); }, relative, absolute);
  check_kernel(
      named<T>("reduce_max"), args, shape, out,
      [&](int64_t i) { return axis.most(start(i)); }, 0);
  check_kernel(
      named<T>("reduce_min"), args, shape, out,
      [&](int64_t i) { return axis.least(start(i)); }, 0);
  if (!is_float) return;
  check_kernel(
      named<T>("reduce_mean"), args, shape, out,
      [&](int64_t i) { return axis.sum(start(i)) / size; }, relative,
      absolute / size);
}

TEST_CASE_TEMPLATE("reductions along an axis", T, float, __half, __nv_bfloat16,
                   std::int32_t, std::int64_t) {
  for (const AxisCase& each : kAxisCases) {
    CAPTURE(each.n);
    CAPTURE(each.inner);
    check_reductions<T>(each);
  }
}

}  // namespace
}  // namespace ruleengine::kernels::device
