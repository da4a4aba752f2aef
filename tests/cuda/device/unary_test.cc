#include <limits>

#include "kernels/cuda/device/elementwise.h"
#include "tests/cuda/device/formulas.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

constexpr float kAlpha = 1.5f;

struct Function {
  const char* name;
  double (*of)(double);
  bool positive = false;  // of no negative number
};

const Function kFunctions[] = {
    {"abs", [](double x) { return std::abs(x); }},
    {"neg", [](double x) { return -x; }},
    {"relu", [](double x) { return x < 0 ? 0 : x; }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }, true},
    {"sqrt", [](double x) { return std::sqrt(x); }, true},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"erf", [](double x) { return std::erf(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sigmoid", sigmoid_of},
    {"gelu", gelu_of},
    {"gelu_tanh", gelu_tanh_of},
    {"quick_gelu", [](double x) { return x * sigmoid_of(kAlpha * x); }},
    {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"leaky_relu", [](double x) { return x < 0 ? kAlpha * x : x; }},
};

template <typename T>
void check_function(const Function& function, int64_t count, int skip) {
  auto in = random_buffer<T>(count, skip);
  for (int64_t i = 0; i < count && function.positive; ++i) {
    in[i] = of_double<T>(std::abs(in.at(i)));
  }
  if (count > 40) {
    in[0] = of_double<T>(kNan);
    in[1] = of_double<T>(2.5);
    in[2] = of_double<T>(0);
    in[33] = of_double<T>(kInf);
  }
  Buffer<T> out(count, skip);
  const UnaryArgs args{in.data(), out.data(), count, kAlpha};
  // Of gelu_tanh below 0, 1 + tanh loses digits, as its definition does.
  check_kernel(
      named<T>(function.name), args, {.blocks = 3}, out,
      [&](int64_t i) { return function.of(in.at(i)); }, tolerance<T>(), 4e-7);
}

TEST_CASE_TEMPLATE("unary kernels compute what their functions do", T, float,
                   __half, __nv_bfloat16) {
  for (const Function& function : kFunctions) {
    check_function<T>(function, 1, 0);
    check_function<T>(function, 1023, 0);
    check_function<T>(function, 4097, 1);
  }
}

TEST_CASE_TEMPLATE("unary kernels of integers wrap around", T, std::int32_t,
                   std::int64_t) {
  const T least = std::numeric_limits<T>::min();
  Buffer<T> in(33), out(33);
  for (int i = 0; i < 33; ++i) in[i] = static_cast<T>(i - 16);
  in[32] = least;
  const UnaryArgs args{in.data(), out.data(), 33, 0};
  for (const Order order : kOrders) {
    run(named<T>("neg"), args, {}, order);
    CHECK((out[0] == 16 && out[20] == -4 && out[32] == least));
    run(named<T>("abs"), args, {}, order);
    CHECK((out[0] == 16 && out[20] == 4 && out[32] == least));
    run(named<T>("relu"), args, {}, order);
    CHECK((out[0] == 0 && out[20] == 4 && out[32] == 0));
  }
}

TEST_CASE_TEMPLATE("signs keep NaN", T, float, __half, __nv_bfloat16,
                   std::int32_t, std::int64_t) {
  auto in = random_buffer<T>(301, 1, 3);
  if (!std::is_integral_v<T>) in[5] = of_double<T>(kNan);
  Buffer<T> out(301, 1);
  check_kernel(
      named<T>("sign"), UnaryArgs{in.data(), out.data(), 301, 0}, {}, out,
      [&](int64_t i) {
        const double x = in.at(i);
        return x != x ? x : double(x > 0) - double(x < 0);
      },
      0);
}

TEST_CASE_TEMPLATE("tests of what is no number", T, float, __half,
                   __nv_bfloat16) {
  for (const int skip : {0, 1}) {
    auto in = random_buffer<T>(301, skip);
    for (int i = 0; i < 301; i += 7) {
      in[i] = of_double<T>(i % 3 == 0 ? kNan : i % 3 == 1 ? kInf : -kInf);
    }
    Buffer<std::uint8_t> out(301, skip);
    const UnaryArgs args{in.data(), out.data(), 301, 0};
    const auto check = [&](const char* name, bool (*of)(double)) {
      check_kernel(
          named<T>(name), args, {}, out,
          [&](int64_t i) { return double(of(in.at(i))); }, 0);
    };
    check("is_nan", [](double x) { return std::isnan(x); });
    check("is_inf", [](double x) { return std::isinf(x); });
    check("is_positive_inf", [](double x) { return x == kInf; });
    check("is_negative_inf", [](double x) { return x == -kInf; });
  }
}

TEST_CASE("not turns booleans around") {
  Buffer<std::uint8_t> in(37), out(37);
  for (int i = 0; i < 37; ++i) in[i] = i % 3 == 0;
  check_kernel(
      "not_bool", UnaryArgs{in.data(), out.data(), 37, 0}, {}, out,
      [&](int64_t i) { return in[i] == 0; }, 0);
}

TEST_CASE_TEMPLATE("clip keeps NaN, and its upper bound wins", T, float, __half,
                   __nv_bfloat16, std::int32_t, std::int64_t) {
  auto in = random_buffer<T>(1023, 1, 9);
  Buffer<T> out(1023, 1);
  if (std::is_same_v<T, float>) in[5] = of_double<T>(kNan);
  ClipArgs args{in.data(), out.data(), 1023, -2, 3, -2, 3};
  check_kernel(
      named<T>("clip"), args, {}, out,
      [&](int64_t i) {
        return std::isnan(in.at(i)) ? kNan : std::clamp(in.at(i), -2.0, 3.0);
      },
      0);
  args.low = 7;
  args.int_low = 7;
  run(named<T>("clip"), args, {}, Order::kForward);
  CHECK(out.at(0) == 3);
}

}  // namespace
}  // namespace ruleengine::kernels::device
