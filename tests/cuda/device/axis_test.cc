#include "kernels/cuda/device/softmax.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

struct AxisCase {
  int64_t outer, n, inner;
  int skip = 0;
};
// The last one has more parts than a block has threads.
const AxisCase kAxisCases[] = {
    {1, 1, 1},    {9, 31, 1},     {17, 32, 1},     {3, 33, 1, 1}, {5, 1023, 1},
    {2, 1024, 1}, {2, 1025, 1},   {2, 4097, 1, 3}, {2, 9216, 1},  {2, 9, 2},
    {1, 1, 33},   {3, 33, 31, 1}, {2, 1023, 32},   {3, 7, 100},   {1, 4224, 1},
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

// As check_kernel, and where the rows are split.
template <typename T, typename F>
void check_softmax_by(const char* name, const AxisArgs& args, Buffer<T>& out,
                      const F& want, double relative, double absolute) {
  check_kernel(named<T>(name), args, {.blocks = unsigned(axis_blocks(args))},
               out, want, relative, absolute);
  const Split split = split_of(args.n, args.outer, 132, 16);
  if (args.inner > 1 || split.parts == 1) return;
  CAPTURE(split.parts);
  Buffer<float> sums(args.outer * split.parts * 2);
  const SplitSoftmaxArgs parts{args, split.parts, split.size, sums.data()};
  const Shape shape{.blocks = unsigned(args.outer * split.parts)};
  for (const Order order : kOrders) {
    out.clear(), sums.clear();
    run(named<T>("softmax_sums"), parts, shape, order);
    run(named<T>((std::string("split_") + name).c_str()), parts, shape, order);
    check_close(out, want, relative, absolute);
  }
}

template <typename T>
void check_softmax(Buffer<T>& in, const AxisCase& each) {
  Buffer<T> out(in.size(), each.skip);
  const AxisArgs args{in.data(), out.data(), each.outer, each.n, each.inner};
  const Axis<T> axis{in, each};
  std::vector<double> most, sum;
  for (int64_t i = 0; i < in.size(); ++i) {
    most.push_back(axis.start(i) == i ? axis.most(i)
                                      : most[std::size_t(axis.start(i))]);
    sum.push_back(axis.start(i) == i ? axis.exponents(i)
                                     : sum[std::size_t(axis.start(i))]);
  }
  const auto at = [&](int64_t i) { return in.at(i) - most[std::size_t(i)]; };
  check_softmax_by(
      "softmax", args, out,
      [&](int64_t i) { return std::exp(at(i)) / sum[std::size_t(i)]; },
      tolerance<T>() + 2e-6, 1e-7);
  check_softmax_by(
      "log_softmax", args, out,
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

// What the elements of T are summed up in.
template <typename T>
using SumOf = std::conditional_t<std::is_integral_v<T>, T, float>;

// The launch, and the second one where the axis is split.
template <typename T, typename F>
void check_reduction(const char* name, const ReduceArgs& args, Buffer<T>& out,
                     const F& want, double relative, double absolute = 0) {
  CAPTURE(args.splits);
  for (const Order order : kOrders) {
    out.clear();
    run(named<T>(name), args, {.blocks = unsigned(reduce_blocks(args))}, order);
    if (args.splits > 1) {
      run(named<T>((std::string(name) + "_parts").c_str()), args,
          {.blocks = unsigned(join_parts_blocks(args))}, order);
    }
    check_close(out, want, relative, absolute);
  }
}

// `processors`: 1 splits no axis.
template <typename T>
void check_reductions(const AxisCase& each, int64_t processors = 1) {
  auto in = random_buffer<T>(each.outer * each.n * each.inner, each.skip, 100);
  constexpr bool is_float = !std::is_integral_v<T>;
  if (is_float && in.size() > 100) in[50] = of_double<T>(kNan);
  Buffer<T> out(each.outer * each.inner);
  ReduceArgs args{
      .axis = {in.data(), out.data(), each.outer, each.n, each.inner},
      .size = 0};
  split_axis(args, processors);
  CHECK((args.splits > 1) == (processors > 1));
  Buffer<SumOf<T>> parts(out.size() * args.splits);
  args.parts = parts.data();
  const Axis<T> axis{in, each};
  const auto start = [&](int64_t i) {
    return i / each.inner * each.n * each.inner + i % each.inner;
  };
  const double relative = is_float ? tolerance<T>() : 0;
  const double size = double(each.n);
  const double absolute = is_float ? 1e-6 * 100 * std::sqrt(size) : 0;
  check_reduction(
      "reduce_sum", args, out, [&](int64_t i) { return axis.sum(start(i)); },
      relative, absolute);
  check_reduction(
      "reduce_max", args, out, [&](int64_t i) { return axis.most(start(i)); },
      0);
  check_reduction(
      "reduce_min", args, out, [&](int64_t i) { return axis.least(start(i)); },
      0);
  if (!is_float) return;
  check_reduction(
      "reduce_mean", args, out,
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

TEST_CASE_TEMPLATE("reductions of few outputs are split", T, float, __half,
                   __nv_bfloat16, std::int32_t, std::int64_t) {
  for (const AxisCase& each :
       {AxisCase{1, 70001, 1, 1}, AxisCase{2, 16384, 1}, AxisCase{1, 8192, 2},
        AxisCase{1, 1000, 64}, AxisCase{3, 300, 33, 1}}) {
    CAPTURE(each.n);
    CAPTURE(each.inner);
    check_reductions<T>(each, 132);
  }
}

TEST_CASE("an axis is split only where blocks are few") {
  ReduceArgs args{.axis = {nullptr, nullptr, 1, 1 << 20, 1}, .size = 0};
  split_axis(args, 132);
  CHECK(args.splits > 132);
  CHECK(args.splits <= 264);
  CHECK(args.size % 16 == 0);
  args.axis = {nullptr, nullptr, 1, 8192, 64};
  split_axis(args, 132);
  CHECK(reduce_blocks(args) == 128);
  args.axis = {nullptr, nullptr, 132, 1 << 20, 1};
  split_axis(args, 132);
  CHECK(args.splits == 1);
  args.axis = {nullptr, nullptr, 1, 4096, 1};
  split_axis(args, 132);
  CHECK(args.splits == 1);
}

}  // namespace
}  // namespace ruleengine::kernels::device
