#include "core/ops/op_family.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <string>

#include "core/ops/op_facts.h"

namespace ruleengine::ops {
namespace {

TEST_CASE("families") {
  CHECK(op_family("", "Tanh") == OpFamily::kElementwise);
  CHECK(op_family("", "Where") == OpFamily::kElementwise);
  CHECK(op_family("", "ReduceMean") == OpFamily::kReduction);
  CHECK(op_family("", "Squeeze") == OpFamily::kView);
  CHECK(op_family("", "Softmax") == OpFamily::kOther);
  CHECK(op_family("", "ArgMax") == OpFamily::kOther);
  CHECK(op_family("mine", "Tanh") == OpFamily::kOther);
}

TEST_CASE("classes hold known ops with the right number of inputs") {
  for (const OpClass& each : op_classes()) {
    CAPTURE(std::string(each.name));
    CHECK(find_op_class(each.name) == &each);
    CHECK(newest_op("", each.name) == nullptr);
    CHECK(!each.ops.empty());
    CHECK(std::ranges::is_sorted(each.ops));
    for (const OpName& op : each.ops) {
      CAPTURE(std::string(op.type));
      REQUIRE(newest_op(op.domain, op.type) != nullptr);
      CHECK(each.has(op.domain, op.type));
    }
  }
  CHECK(find_op_class("elementwise") == nullptr);
  const OpClass& unary = *find_op_class("elementwise_unary");
  CHECK(unary.has("", "Cast"));
  CHECK(unary.has("com.microsoft", "Gelu"));
  CHECK(!unary.has("", "Clip"));
  CHECK(!unary.has("", "Add"));
  const OpClass& binary = *find_op_class("elementwise_binary");
  CHECK(binary.has("", "Max"));
  CHECK(binary.has("", "PRelu"));
  CHECK(!binary.has("", "Where"));
  CHECK(!binary.has("", "Clip"));
}

}  // namespace
}  // namespace ruleengine::ops
