// Which nodes a runtime computes on integers.
#include "core/analysis/quantized.h"

#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {
namespace {

using ir::ValueId;

struct Fixture : Builder {
  Inference facts{g};
  ValueId scale = floats({}, {0.5F});
  const std::string from = "DequantizeLinear", to = "QuantizeLinear";

  ValueId integers() { return input({"2", "2"}, ir::DataType::kInt8); }
  ValueId stored() {
    return initializer(
        tensor<std::int8_t>(ir::DataType::kInt8, {2, 2}, {1, 2, 3, 4}));
  }
  ValueId dequantized() { return add(from, {integers(), scale}); }
  ValueId weight() { return add(from, {stored(), scale}); }
  void quantize(ValueId v) { output(add(to, {v, scale})); }
  void output(ValueId v) { g.add_block_output(ir::Graph::main_block(), v); }
  bool quantized(ValueId v) { return is_quantized(g, facts, g.producer(v)); }
};

TEST_CASE_FIXTURE(Fixture, "an op between the two") {
  const ValueId x = dequantized();
  const ValueId y = add("Softmax", {x});
  SUBCASE("is computed on integers") {
    quantize(y);
    CHECK(quantized(y));
    CHECK_FALSE(quantized(x));
    CHECK_FALSE(is_quantized(g, facts, g.producer(add("Sin", {y}))));
  }
  SUBCASE("unless another reads its result") {
    quantize(y);
    output(add("Sin", {y}));
    CHECK_FALSE(quantized(y));
  }
  SUBCASE("or it is an output") {
    quantize(y);
    output(y);
    CHECK_FALSE(quantized(y));
  }
  SUBCASE("views may follow it, and ops that bound it") {
    const ValueId t = add("Transpose", {add("Relu", {y})});
    quantize(t);
    quantize(t);
    CHECK(quantized(y));
    CHECK_FALSE(quantized(add("Softmax", {t})));
  }
  SUBCASE("but no other node may read their results") {
    quantize(add("Transpose", {y}));
    const ValueId t = add("Transpose", {add("Relu", {y})});
    quantize(t);
    output(add("Sin", {t}));
    CHECK_FALSE(quantized(y));
  }
  SUBCASE("nothing reads it") { CHECK_FALSE(quantized(y)); }
}

TEST_CASE_FIXTURE(Fixture, "ops of two inputs") {
  const ValueId x = dequantized();
  const ValueId z = input({"2", "2"});
  SUBCASE("both dequantized") {
    const ValueId y = add("Add", {x, dequantized()});
    quantize(y);
    CHECK(quantized(y));
  }
  SUBCASE("one is constant") {
    const ValueId y = add("Mul", {x, floats({2}, {1, 2})});
    quantize(y);
    CHECK(quantized(y));
  }
  SUBCASE("one is computed in floats") {
    const ValueId y = add("Add", {x, z});
    quantize(y);
    CHECK_FALSE(quantized(y));
  }
  SUBCASE("one is no float") {
    const ValueId y = add("Reshape", {x, input({"1"}, ir::DataType::kInt64)});
    quantize(y);
    CHECK(quantized(y));
  }
  SUBCASE("an op that no runtime has for integers") {
    const ValueId y = add("Pow", {x, dequantized()});
    quantize(y);
    CHECK_FALSE(quantized(y));
  }
  SUBCASE("an op of ours") {
    const ValueId y = add("ruleengine::Linear", {x, weight()});
    quantize(y);
    CHECK_FALSE(quantized(y));
  }
}

TEST_CASE_FIXTURE(Fixture, "products") {
  const ValueId x = dequantized();
  const ValueId z = input({"2", "2"});
  CHECK(quantized(add("MatMul", {x, dequantized()})));
  CHECK(quantized(add("MatMul", {x, add("Transpose", {dequantized()})})));
  CHECK(quantized(add("Gemm", {x, weight(), z})));
  CHECK_FALSE(quantized(add("MatMul", {x, z})));
  CHECK_FALSE(quantized(add("MatMul", {z, dequantized()})));  // a cache
  CHECK(quantized(add("MatMul", {z, weight()})));
  const ValueId fake = add(to, {floats({2, 2}, {1, 2, 3, 4}), scale});
  CHECK(quantized(add("MatMul", {z, add(from, {fake, scale})})));
  const ValueId other = add("com.microsoft::" + from, {stored(), scale});
  CHECK(quantized(add("MatMul", {z, other})));
}

TEST_CASE_FIXTURE(Fixture, "a model without") {
  CHECK_FALSE(may_be_quantized(model));
  dequantized();
  CHECK(may_be_quantized(model));
}

}  // namespace
}  // namespace ruleengine::analysis
