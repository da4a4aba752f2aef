#include <limits>

#include "kernels/cpu/number.h"
#include "kernels/cuda/device/elementwise.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

const double kNumbers[] = {0,    -0.0,  1,    -1,   0.5,    -0.75, 2.5, 100.7,
                           -77,  126,   -129, 300,  1000.5, -2049, 3e4, 7e4,
                           -7e4, 2.5e9, -3e9, 1e19, -1e19,  255.5, 256, 127.9};

// As the kernels of the CPU do it.
template <typename To>
double as_on_cpu(double x) {
  return static_cast<double>(to_number<To>(x));
}

template <typename From, typename To, typename F>
void check_cast(const std::string& name, const F& of,
                const std::vector<double>& numbers) {
  for (const int skip : {0, 1}) {
    Buffer<From> in(numbers, skip);
    Buffer<To> out(in.size(), skip);
    const UnaryArgs args{in.data(), out.data(), in.size(), 0};
    check_kernel(
        name, args, {.threads = 32}, out,
        [&](int64_t i) { return of(in.at(i)); }, 0);
  }
}

template <typename From>
void check_from_float() {
  std::vector<double> numbers(std::begin(kNumbers), std::end(kNumbers));
  numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  numbers.push_back(std::numeric_limits<double>::infinity());
  const std::string from = named<From>("cast");
  const auto rounded = [](auto to) {
    return [](double x) { return to_double(of_double<decltype(to)>(x)); };
  };
  check_cast<From, float>(from + "_f32", rounded(float()), numbers);
  check_cast<From, __half>(from + "_f16", rounded(__half()), numbers);
  check_cast<From, __nv_bfloat16>(from + "_bf16", rounded(__nv_bfloat16()),
                                  numbers);
  check_cast<From, std::int32_t>(from + "_i32", as_on_cpu<std::int32_t>,
                                 numbers);
  check_cast<From, std::int64_t>(from + "_i64", as_on_cpu<std::int64_t>,
                                 numbers);
  check_cast<From, std::uint8_t>(from + "_u8", as_on_cpu<std::uint8_t>,
                                 numbers);
  check_cast<From, std::int8_t>(from + "_i8", as_on_cpu<std::int8_t>, numbers);
  check_cast<From, std::uint8_t>(
      from + "_bool", [](double x) { return x != 0; }, numbers);
}

TEST_CASE_TEMPLATE("floats are cast", T, float, __half, __nv_bfloat16) {
  check_from_float<T>();
}

template <typename From>
void check_from_integer(const std::string& from) {
  const std::vector<double> numbers = {0, 1, 7, 100, 127, 3, 77, 9, 31};
  const auto same = [](double x) { return x; };
  check_cast<From, float>(from + "_f32", same, numbers);
  check_cast<From, __half>(from + "_f16", same, numbers);
  check_cast<From, __nv_bfloat16>(from + "_bf16", same, numbers);
  check_cast<From, std::int32_t>(from + "_i32", same, numbers);
  check_cast<From, std::int64_t>(from + "_i64", same, numbers);
  check_cast<From, std::uint8_t>(from + "_u8", same, numbers);
  check_cast<From, std::int8_t>(from + "_i8", same, numbers);
  check_cast<From, std::uint8_t>(
      from + "_bool", [](double x) { return x != 0; }, numbers);
}

TEST_CASE("integers are cast") {
  check_from_integer<std::int32_t>("cast_i32");
  check_from_integer<std::int64_t>("cast_i64");
  check_from_integer<std::uint8_t>("cast_u8");
  check_from_integer<std::int8_t>("cast_i8");
  const auto same = [](double x) { return x; };
  check_cast<std::uint8_t, float>("cast_bool_f32", same, {0, 1, 1, 0, 1});
  check_cast<std::uint8_t, std::int64_t>("cast_bool_i64", same, {0, 1, 1, 0});
}

TEST_CASE("a cast of a wide integer wraps around or rounds once") {
  check_cast<std::int64_t, std::uint8_t>(
      "cast_i64_u8", [](double x) { return double(std::uint8_t(int64_t(x))); },
      {256, 257, -1, 1e12});
  // 2^24 + 2^16 + 1 is above the middle of two numbers of bf16, which a float
  // does not see.
  const double above = 16777216 + 65536 + 1;
  check_cast<std::int32_t, __nv_bfloat16>(
      "cast_i32_bf16", [](double) { return 16777216 + 131072.0; }, {above});
  check_cast<std::int64_t, __half>(
      "cast_i64_f16", [](double x) { return x < 0 ? -HUGE_VAL : HUGE_VAL; },
      {1e6, -1e12});
}

}  // namespace
}  // namespace ruleengine::kernels::device
