#include <limits>

#include "kernels/cuda/device/elementwise.h"
#include "tests/cuda/device/formulas.h"
#include "tests/cuda/device/strided.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {
namespace {

struct Operation {
  const char* name;
  double (*of)(double, double);
  bool positive = false;  // of a first number above 0
};

const Operation kOperations[] = {
    {"add", [](double a, double b) { return a + b; }},
    {"sub", [](double a, double b) { return a - b; }},
    {"mul", [](double a, double b) { return a * b; }},
    {"div", [](double a, double b) { return a / b; }},
    {"pow", [](double a, double b) { return std::pow(a, b); }, true},
    {"truncated_mod", [](double a, double b) { return std::fmod(a, b); }},
    {"floor_mod",
     [](double a, double b) {
       const double rest = std::fmod(a, b);
       return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
     }},
    {"min", [](double a,
               double b) { return a != a || b != b ? a + b : std::min(a, b); }},
    {"max", [](double a,
               double b) { return a != a || b != b ? a + b : std::max(a, b); }},
};
const Operation kFused[] = {
    {"swiglu", [](double a, double b) { return a * sigmoid_of(a) * b; }},
    {"bias_gelu", [](double a, double b) { return gelu_of(a + b); }},
    {"bias_gelu_tanh", [](double a, double b) { return gelu_tanh_of(a + b); }},
};
const Operation kComparisons[] = {
    {"equal", [](double a, double b) { return double(a == b); }},
    {"less", [](double a, double b) { return double(a < b); }},
    {"less_or_equal", [](double a, double b) { return double(a <= b); }},
    {"greater", [](double a, double b) { return double(a > b); }},
    {"greater_or_equal", [](double a, double b) { return double(a >= b); }},
};

struct Case {
  Dims dims, a, b;  // sizes of the result and of the inputs, as many
  int skip = 0;
};
const Case kCases[] = {
    {{1}, {1}, {1}},
    {{4097}, {4097}, {4097}},
    {{1023}, {1023}, {1}, 1},
    {{33, 64}, {33, 64}, {1, 64}},
    {{33, 64}, {33, 1}, {1, 64}},
    {{5, 31}, {5, 31}, {1, 31}, 3},
    {{2, 3, 4, 8}, {2, 1, 4, 1}, {1, 3, 1, 8}},
    {{3, 2, 2, 3, 2, 2, 1, 8},
     {3, 1, 2, 1, 2, 1, 1, 8},
     {1, 2, 1, 3, 1, 2, 1, 1}},
};

template <typename T, typename Out>
void check_operation(const Operation& operation, const Case& each,
                     double absolute = 0) {
  const int64_t count = count_of(each.dims);
  auto a = random_buffer<T>(count_of(each.a), each.skip, 4, 3);
  auto b = random_buffer<T>(count_of(each.b), each.skip, 4, 4);
  for (int64_t i = 0; i < a.size() && operation.positive; ++i) {
    a[i] = of_double<T>(std::abs(a.at(i)) + 0.1);
  }
  for (int64_t i = 0; i < b.size() && std::is_integral_v<T>; ++i) {
    if (b[i] == T(0)) b[i] = T(3);
  }
  Buffer<Out> out(count, each.skip);
  BinaryArgs args;
  args.operands[0] = operand_of(out, each.dims, each.dims);
  args.operands[1] = operand_of(a, each.a, each.dims);
  args.operands[2] = operand_of(b, each.b, each.dims);
  plan(args, each.dims.data(), int(each.dims.size()), chunk_of(sizeof(T)));
  const auto want = [&](int64_t i) {
    const double value =
        operation.of(a.at(broadcast_index(i, each.dims, each.a)),
                     b.at(broadcast_index(i, each.dims, each.b)));
    return std::is_integral_v<T> ? std::trunc(value) : value;
  };
  check_kernel(named<T>(operation.name), args, {.blocks = 2}, out, want,
               std::is_integral_v<Out> ? 0 : tolerance<Out>(), absolute);
}

TEST_CASE_TEMPLATE("arithmetic broadcasts", T, float, __half, __nv_bfloat16) {
  for (const Operation& operation : kOperations) {
    for (const Case& each : kCases) check_operation<T, T>(operation, each);
  }
  for (const Operation& operation : kFused) {
    for (const Case& each : kCases) {
      check_operation<T, T>(operation, each, 2e-6);
    }
  }
}

TEST_CASE_TEMPLATE("integers are divided towards zero", T, std::int32_t,
                   std::int64_t) {
  for (const Operation& operation : kOperations) {
    if (operation.positive) continue;
    for (const Case& each : kCases) check_operation<T, T>(operation, each);
  }
}

TEST_CASE_TEMPLATE("comparisons give booleans", T, float, __half, __nv_bfloat16,
                   std::int32_t, std::int64_t) {
  for (const Operation& operation : kComparisons) {
    for (const Case& each : kCases) {
      check_operation<T, std::uint8_t>(operation, each);
    }
  }
}

template <typename T>
T computed(const char* name, T x, T y) {
  Buffer<T> a(1), b(1), out(1);
  a[0] = x;
  b[0] = y;
  BinaryArgs args;
  args.operands[0] = operand_of(out, {1}, {1});
  args.operands[1] = operand_of(a, {1}, {1});
  args.operands[2] = operand_of(b, {1}, {1});
  const int64_t dims[] = {1};
  plan(args, dims, 1, chunk_of(sizeof(T)));
  run(named<T>(name), args, {.threads = 32}, Order::kForward);
  return out[0];
}

TEST_CASE_TEMPLATE("integers wrap around at their ends", T, std::int32_t,
                   std::int64_t) {
  const T least = std::numeric_limits<T>::min();
  const T most = std::numeric_limits<T>::max();
  CHECK(computed<T>("div", least, -1) == least);
  CHECK(computed<T>("div", 7, 0) == 0);
  CHECK(computed<T>("add", most, 1) == least);
  CHECK(computed<T>("mul", most, 2) == -2);
}

TEST_CASE("numbers that are not finite") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(computed<float>("max", nan, 1)));
  CHECK(std::isnan(computed<float>("max", 1, nan)));
  CHECK(std::isnan(computed<float>("min", 1, nan)));
  CHECK(computed<float>("div", 1, 0) == inf);
  CHECK(std::signbit(computed<float>("mul", -1, 0)));
  CHECK(computed<float>("pow", 2, inf) == inf);
}

TEST_CASE("booleans are joined") {
  const std::pair<const char*, bool (*)(bool, bool)> operations[] = {
      {"and_bool", [](bool a, bool b) { return a && b; }},
      {"or_bool", [](bool a, bool b) { return a || b; }},
      {"xor_bool", [](bool a, bool b) { return a != b; }},
      {"equal_bool", [](bool a, bool b) { return a == b; }}};
  Buffer<std::uint8_t> a(35), b(7), out(35);
  for (int i = 0; i < 35; ++i) a[i] = i % 2;
  for (int i = 0; i < 7; ++i) b[i] = i % 3 == 0;
  for (const auto& [name, of] : operations) {
    BinaryArgs args;
    args.operands[0] = operand_of(out, {5, 7}, {5, 7});
    args.operands[1] = operand_of(a, {5, 7}, {5, 7});
    args.operands[2] = operand_of(b, {1, 7}, {5, 7});
    const int64_t dims[] = {5, 7};
    plan(args, dims, 2, chunk_of(1));
    check_kernel(
        name, args, {}, out,
        [&](int64_t i) { return of(a[i] != 0, b[i % 7] != 0); }, 0);
  }
}

TEST_CASE_TEMPLATE("where chooses by a condition", T, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  for (const int64_t inner : {1, 16, 31}) {
    const Dims dims = {3, 5, inner};
    Buffer<std::uint8_t> holds(5 * inner);
    Buffer<T> a(15 * inner), b(3), out(15 * inner);
    for (int64_t i = 0; i < holds.size(); ++i) holds[i] = i % 3 == 0;
    for (int64_t i = 0; i < a.size(); ++i) a[i] = T(i);
    for (int64_t i = 0; i < 3; ++i) b[i] = T(200 + i);
    WhereArgs args;
    args.operands[0] = operand_of(out, dims, dims);
    args.operands[1] = operand_of(holds, {1, 5, inner}, dims);
    args.operands[2] = operand_of(a, dims, dims);
    args.operands[3] = operand_of(b, {3, 1, 1}, dims);
    plan(args, dims.data(), 3, chunk_of(sizeof(T)));
    check_kernel(
        "where_" + std::to_string(sizeof(T)), args, {}, out,
        [&](int64_t i) -> double {
          return double(holds[i % (5 * inner)] ? a[i] : b[i / (5 * inner)]);
        },
        0);
  }
}

}  // namespace
}  // namespace ruleengine::kernels::device
