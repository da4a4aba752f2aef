#include "kernels/cuda/device/lines.h"

#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

struct LineCase {
  int64_t outer, n, inner;
};
const LineCase kLineCases[] = {{1, 1, 1},    {300, 7, 1},  {2, 64, 3},
                               {3, 65, 1},   {1, 257, 2},  {2, 600, 1},
                               {1, 1000, 1}, {1, 1024, 1}, {2, 2500, 3}};

template <typename T>
struct LineTest {
  const LineCase& each;
  Buffer<T> in = random_buffer<T>(each.outer * each.n * each.inner, 1, 4, 5);
  LineSizes sizes{each.outer, each.n, each.inner};
  Shape shape{.blocks = unsigned(line_blocks(sizes)), .threads = kLineThreads};

  int64_t start(int64_t line) const {
    return line / each.inner * each.n * each.inner + line % each.inner;
  }
  double at(int64_t line, int64_t i) {
    return in.at(start(line) + i * each.inner);
  }
};

template <typename T>
void check_sums(const LineCase& each, bool is_exclusive, bool is_reverse) {
  LineTest<T> test{each};
  Buffer<T> out(test.in.size());
  std::vector<double> want(std::size_t(out.size()));
  for (int64_t line = 0; line < each.outer * each.inner; ++line) {
    double sum = 0;
    for (int64_t k = 0; k < each.n; ++k) {
      const int64_t i = is_reverse ? each.n - 1 - k : k;
      const double before = sum;
      sum += test.at(line, i);
      want[std::size_t(test.start(line) + i * each.inner)] =
          is_exclusive ? before : sum;
    }
  }
  CumSumArgs args{test.sizes, test.in.data(), out.data(), is_exclusive,
                  is_reverse};
  const auto is = [&](int64_t i) { return want[std::size_t(i)]; };
  const double relative = std::is_integral_v<T> ? 0 : tolerance<T>();
  check_kernel(named<T>("cum_sum"), args, test.shape, out, is, relative, 1e-12);
  args.out = test.in.data();
  run(named<T>("cum_sum"), args, test.shape, Order::kRandom);
  check_close(test.in, is, relative, 1e-12);
}

TEST_CASE_TEMPLATE("sums up to each element", T, float, __half, __nv_bfloat16,
                   std::int32_t, std::int64_t) {
  for (const LineCase& each : kLineCases) {
    CAPTURE(each.n);
    for (const int how : {0, 1, 2, 3}) {
      check_sums<T>(each, (how & 1) != 0, (how & 2) != 0);
    }
  }
}

TEST_CASE("sums before an element do not know it") {
  for (const int64_t n : {40, 1100}) {
    LineTest<float> test{{1, n, 1}};
    for (int64_t i = 0; i < n; ++i) test.in[i] = 1;
    test.in[n - 3] = std::numeric_limits<float>::max();
    test.in[n - 2] = std::numeric_limits<float>::infinity();
    Buffer<float> out(n);
    const CumSumArgs args{test.sizes, test.in.data(), out.data(), true, false};
    check_kernel(
        "cum_sum_f32", args, test.shape, out,
        [&](int64_t i) {
          return i < n - 2 ? double(i) : i == n - 2 ? test.in.at(n - 3) : kInf;
        },
        1e-6);
  }
}

// How elements are ordered, by a sort of the whole line.
struct TopKCase {
  bool is_largest, is_nan_first, is_last_first;
};

// `processors`: 1 splits no line.
template <typename T>
void check_top_k(const LineCase& each, int64_t k, const TopKCase& how,
                 int64_t processors = 1) {
  LineTest<T> test{each};
  for (int64_t i = 0; i < test.in.size(); ++i) {
    const double whole = std::floor(test.in.at(i));  // equal ones are there
    const bool is_nan = !std::is_integral_v<T> && i % 11 == 3;
    test.in[i] = of_double<T>(is_nan ? kNan : whole);
  }
  const int64_t lines = each.outer * each.inner;
  Buffer<T> values(lines * k);
  Buffer<int64_t> indices(lines * k);
  std::vector<int64_t> want(std::size_t(lines * k));
  for (int64_t line = 0; line < lines; ++line) {
    std::vector<int64_t> order(std::size_t(each.n));
    for (int64_t i = 0; i < each.n; ++i) order[std::size_t(i)] = i;
    std::ranges::sort(order, [&](int64_t i, int64_t j) {
      const double a = test.at(line, i), b = test.at(line, j);
      if (std::isnan(a) != std::isnan(b)) {
        return std::isnan(a) == how.is_nan_first;
      }
      if (!std::isnan(a) && a != b) return how.is_largest ? a > b : a < b;
      return how.is_last_first ? i > j : i < j;
    });
    for (int64_t i = 0; i < k; ++i) {
      want[std::size_t((line / each.inner * k + i) * each.inner +
                       line % each.inner)] = order[std::size_t(i)];
    }
  }
  TopKArgs args{
      test.sizes, test.in.data(), values.data(),    indices.data(),
      k,          how.is_largest, how.is_nan_first, how.is_last_first};
  split_lines(args, processors);
  CAPTURE(args.splits);
  CHECK((args.splits > 1) == (processors > 1));
  Buffer<int64_t> parts(args.splits == 1 ? 0 : lines * args.splits * k);
  args.parts = parts.data();
  for (const Order order : kOrders) {
    values.clear(), indices.clear();
    std::fill_n(parts.data(), parts.size(), 10 * each.n);  // no element
    if (args.splits == 1) {
      run(named<T>("top_k"), args, test.shape, order);
    } else {
      run(named<T>("top_k_parts"), args,
          {.blocks = unsigned(part_blocks(args)), .threads = kLineThreads},
          order);
      run(named<T>("top_k_join"), args, test.shape, order);
    }
    check_close(
        indices, [&](int64_t i) { return double(want[std::size_t(i)]); }, 0);
  }
  check_close(
      values,
      [&](int64_t i) {
        const int64_t line = i / (k * each.inner) * each.inner + i % each.inner;
        return test.at(line, want[std::size_t(i)]);
      },
      0);
}

TEST_CASE_TEMPLATE("the first elements in an order", T, float, __half,
                   __nv_bfloat16, std::int32_t, std::int64_t) {
  for (const LineCase& each : kLineCases) {
    CAPTURE(each.n);
    for (const int64_t k : {int64_t{1}, std::min<int64_t>(each.n, 5)}) {
      check_top_k<T>(each, k, {true, true, false});
      check_top_k<T>(each, k, {false, false, false});
      check_top_k<T>(each, k, {false, true, true});
    }
  }
  check_top_k<T>({2, 70, 1}, 70, {true, true, false});
}

TEST_CASE_TEMPLATE("lines that are few are split", T, float, __half,
                   __nv_bfloat16, std::int32_t, std::int64_t) {
  for (const LineCase& each :
       {LineCase{1, 1025, 1}, LineCase{2, 2048, 1}, LineCase{1, 9001, 1},
        LineCase{2, 1100, 3}, LineCase{1, 2049, 2}}) {
    CAPTURE(each.n);
    for (const int64_t k : {1, 5, 32}) {
      check_top_k<T>(each, k, {true, true, false}, 132);
      check_top_k<T>(each, k, {false, true, true}, 132);
    }
  }
  // The last part has fewer than are asked for.
  check_top_k<T>({1, 3205, 1}, 50, {true, true, false}, 132);
  check_top_k<T>({1, 3205, 1}, 50, {false, false, false}, 132);
}

TEST_CASE("a line is split only where blocks are few") {
  TopKArgs args{.sizes = {1, 128256, 1}, .k = 1};
  split_lines(args, 132);
  CHECK(args.splits == 126);
  CHECK(args.size == 1024);
  args = {.sizes = {1, 128256, 1}, .k = 256};
  split_lines(args, 132);
  CHECK(args.size == 8192);
  for (const LineSizes& sizes : {LineSizes{132, 128256, 1},
                                 LineSizes{1, 1024, 1}, LineSizes{1, 64, 1}}) {
    args = {.sizes = sizes, .k = 1};
    split_lines(args, 132);
    CHECK(args.splits == 1);
  }
}

}  // namespace
}  // namespace ruleengine::kernels::device
