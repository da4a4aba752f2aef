#include "runtime/compare.h"

#include <doctest/doctest.h>

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
  return !compare(floats(a), floats(b)).mismatch;
}

TEST_CASE("floats agree within rounding of the largest") {
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

TEST_CASE("integers are equal, or within the slack") {
  const auto a = named<std::int64_t>(DataType::kInt64, {1, 5});
  const auto b = named<std::int64_t>(DataType::kInt64, {1, 6});
  CHECK(compare(a, b).mismatch);
  CHECK_FALSE(compare(a, b, {1.0}).mismatch);
  CHECK(distances(a, b) == Slack{1.0});
}

TEST_CASE("sequences agree item by item") {
  const auto sequence = [](const std::vector<Executor::Named>& items) {
    Datum::List list;
    for (const auto& each : items) list.push_back(each[0].second);
    return Executor::Named{{"y", Datum::sequence(std::move(list))}};
  };
  const auto a = floats({1, 2}), b = floats({1, 3});
  CHECK_FALSE(compare(sequence({a, b}), sequence({a, b})).mismatch);
  CHECK_FALSE(compare(sequence({}), sequence({})).mismatch);
  CHECK(compare(sequence({a, b}), sequence({a, a})).mismatch);
  CHECK(compare(sequence({b, a}), sequence({a, a})).mismatch);
  CHECK(compare(sequence({a, b}), sequence({a})).mismatch);
  CHECK(compare(sequence({a}), a).mismatch);
}

TEST_CASE("types, shapes and numbers of outputs") {
  const auto f = floats({1, 2});
  CHECK(compare(f, named<std::int64_t>(DataType::kInt64, {1, 2}))
            .mismatch->text == "float[2] became int64[2]");
  CHECK(compare(f, floats({1})).mismatch->text == "float[2] became float[1]");
  CHECK(compare(f, {}).mismatch);
}

TEST_CASE("the worst element is named") {
  const auto found = compare(floats({1, 2, 3}), floats({1, 2.5f, 4}));
  REQUIRE(found.mismatch);
  CHECK(found.mismatch->output == "y");
  CHECK(found.mismatch->text.find("at [2]: 3 became 4") != std::string::npos);
  CHECK(found.max_abs == 1);
}

}  // namespace
}  // namespace ruleengine::runtime
