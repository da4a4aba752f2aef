#include "runtime/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace ruleengine::runtime {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Executor::Named named(DataType type, const std::vector<T>& values) {
  auto block = std::make_shared<std::vector<T>>(values);
  const auto count = static_cast<std::int64_t>(values.size());
  return {
      {"y",
       Tensor(type, {&count, 1},
              std::shared_ptr<const std::byte>(
                  block, reinterpret_cast<const std::byte*>(block->data())))}};
}
Executor::Named floats(const std::vector<float>& values) {
  return named(DataType::kFloat, values);
}

bool agree(const std::vector<float>& a, const std::vector<float>& b) {
  return !compare_by_type(floats(a), floats(b)).mismatch;
}

Bound at_most(double bound) {
  return [bound](std::size_t, std::size_t, double) { return bound; };
}

TEST_CASE("floats that were half precision on the way are as far off") {
  const auto a = floats({1, 1000}), b = floats({1.5f, 1002});
  CHECK_FALSE(!compare_by_type(a, b).mismatch);
  CHECK(!compare_by_type(a, b, {}, 11).mismatch);
  CHECK_FALSE(!compare_by_type(a, floats({1, 1010}), {}, 11).mismatch);
  CHECK_FALSE(!compare_by_type(named<std::int64_t>(DataType::kInt64, {1}),
                               named<std::int64_t>(DataType::kInt64, {2}), {},
                               11)
                   .mismatch);
}

TEST_CASE("by type, floats agree within rounding of the largest") {
  CHECK(agree({1, 2}, {1, 2}));
  CHECK(agree({1, 1000}, {1.001f, 1000}));
  CHECK_FALSE(agree({1, 2}, {1.001f, 2}));
  CHECK(agree({1e-40f}, {2e-40f}));
}

TEST_CASE("where the model gives NaN, anything is right") {
  CHECK(agree({kNan, 1}, {7, 1}));
  CHECK(agree({kInf, 1}, {kInf, 1}));
  CHECK_FALSE(agree({1, 1}, {kNan, 1}));
  CHECK_FALSE(agree({kInf, 1}, {-kInf, 1}));
  CHECK_FALSE(agree({1, 1}, {kInf, 1}));
}

TEST_CASE("integers are equal, or within the bound") {
  const auto a = named<std::int64_t>(DataType::kInt64, {1, 5});
  const auto b = named<std::int64_t>(DataType::kInt64, {1, 6});
  CHECK(compare_by_type(a, b).mismatch);
  CHECK(compare(a, b, at_most(0.5)).mismatch);
  CHECK_FALSE(compare(a, b, at_most(1)).mismatch);
  // As doubles they are the same.
  const auto large = named<std::int64_t>(DataType::kInt64, {1LL << 53});
  const auto other = named<std::int64_t>(DataType::kInt64, {(1LL << 53) + 1});
  CHECK(compare(large, other, at_most(0)).mismatch);
}

TEST_CASE("narrow floats are numbers, not bits") {
  const auto two = [](std::uint8_t byte) {
    return named<std::uint8_t>(DataType::kFloat4E2M1, {byte, 0});
  };
  CHECK_FALSE(compare_by_type(two(0x21), two(0x21)).mismatch);
  CHECK(compare_by_type(two(0x21), two(0x31))
            .mismatch->text.find("at [1]: 1 became 1.5") != std::string::npos);
}

TEST_CASE("complex numbers count by both parts") {
  using Complex = std::complex<float>;
  const auto of = [](float imaginary) {
    return named<Complex>(DataType::kComplex64, {{1, 2}, {3, imaginary}});
  };
  CHECK_FALSE(compare_by_type(of(4), of(4)).mismatch);
  CHECK(compare_by_type(of(4), of(5)).mismatch->text.find("3+4i became 3+5i") !=
        std::string::npos);
}

TEST_CASE("a complex number is NaN where a part is") {
  using Complex = std::complex<float>;
  const auto one = [](Complex v) {
    return named<Complex>(DataType::kComplex64, {v, 1});
  };
  for (const Complex wrong : {Complex(1, kNan), Complex(kNan, 2)}) {
    CHECK(compare_by_type(one({1, 2}), one(wrong)).mismatch);
    CHECK_FALSE(compare_by_type(one(wrong), one({1, 2})).mismatch);
  }
}

TEST_CASE("an output that is left out may be anything") {
  CHECK_FALSE(compare(floats({1}), floats({2}), at_most(0), {true}).mismatch);
  CHECK(compare(floats({1}), floats({2}), at_most(0), {false}).mismatch);
}

TEST_CASE("a spread is the largest move of each element") {
  const auto center = floats({1, 2, 3});
  Spread spread(center);
  CHECK(spread.at(0, 1) == 0);
  spread.add(floats({1, 2.5f, 3}));
  spread.add(floats({1.25f, 1.75f, kNan}));
  CHECK(spread.at(0, 0) == 0.25);
  CHECK(spread.at(0, 1) == 0.5);
  CHECK(std::isinf(spread.at(0, 2)));
}

TEST_CASE("what a spread does not know") {
  // NaN has not moved, whatever it becomes.
  const auto nan = floats({kNan, kNan});
  Spread of_nan(nan);
  of_nan.add(floats({kNan, 1}));
  CHECK(of_nan.at(0, 0) == 0);
  CHECK(of_nan.at(0, 1) == 0);
  // Another form says nothing of an element.
  const auto center = floats({1, 256});
  Spread spread(center);
  spread.add(floats({1}));
  CHECK(spread.at(0, 0) == 1);
  spread.add(floats({1, 256.5f}));
  CHECK(spread.at(0, 0) == 0);
  CHECK(spread.at(0, 1) == 0.5);
  spread.add(floats({1}));
  CHECK(spread.at(0, 0) == 0);
}

TEST_CASE("outputs that are finite somewhere") {
  const std::vector<std::optional<bool>> yes{true}, no{false}, none{{}};
  CHECK(finite_outputs(floats({kNan, 1})) == yes);
  CHECK(finite_outputs(floats({kNan, kInf})) == no);
  CHECK(finite_outputs(floats({})) == none);
  CHECK(finite_outputs(named<std::int64_t>(DataType::kInt64, {1})) == yes);
}

TEST_CASE("sequences agree item by item") {
  const auto sequence = [](const std::vector<Executor::Named>& items) {
    Datum::List list;
    for (const auto& each : items) list.push_back(each[0].second);
    return Executor::Named{{"y", Datum::sequence(std::move(list))}};
  };
  const auto a = floats({1, 2}), b = floats({1, 3});
  CHECK_FALSE(compare_by_type(sequence({a, b}), sequence({a, b})).mismatch);
  CHECK_FALSE(compare_by_type(sequence({}), sequence({})).mismatch);
  CHECK(compare_by_type(sequence({a, b}), sequence({a, a})).mismatch);
  CHECK(compare_by_type(sequence({b, a}), sequence({a, a})).mismatch);
  CHECK(compare_by_type(sequence({a, b}), sequence({a})).mismatch);
  CHECK(compare_by_type(sequence({a}), a).mismatch);
}

TEST_CASE("types, shapes and numbers of outputs") {
  const auto f = floats({1, 2});
  CHECK(compare_by_type(f, named<std::int64_t>(DataType::kInt64, {1, 2}))
            .mismatch->text == "float[2] became int64[2]");
  CHECK(compare_by_type(f, floats({1})).mismatch->text ==
        "float[2] became float[1]");
  CHECK(compare_by_type(f, {}).mismatch);
}

TEST_CASE("the worst element is named") {
  const auto found = compare_by_type(floats({1, 2, 3}), floats({1, 2.5f, 4}));
  REQUIRE(found.mismatch);
  CHECK(found.mismatch->output == "y");
  CHECK(found.mismatch->text.find("at [2]: 3 became 4") != std::string::npos);
  CHECK(found.max_abs == 1);
}

}  // namespace
}  // namespace ruleengine::runtime
