#include "core/ops/op_facts.h"

#include <doctest/doctest.h>

#include <climits>
#include <set>
#include <string>

namespace ruleengine::ops {
namespace {

TEST_CASE("the version of an opset is the newest one not after it") {
  CHECK(find_op("", "Attention", 22) == nullptr);
  REQUIRE(find_op("", "Attention", 23) != nullptr);
  CHECK(find_op("", "Attention", 23)->since_version == 23);
  CHECK(find_op("", "Attention", 24)->since_version == 24);
  CHECK(find_op("", "Attention", 24)->inputs.size() == 7);
  CHECK(find_op("ai.onnx", "Softmax", 12)->since_version == 11);
  CHECK(find_op("", "Softmax", 13)->since_version == 13);
  CHECK(newest_op("", "Softmax")->since_version == 13);
  CHECK(find_op("", "Softmax", 0) == nullptr);
  CHECK(find_op("", "Sofmax", 13) == nullptr);
  CHECK(find_op("com.microsoft", "PagedAttention", 1) == nullptr);
  CHECK(newest_op("com.microsoft", "PagedAttention") == nullptr);
}

TEST_CASE("counts of inputs and outputs") {
  const OpFacts& gemm = *find_op("", "Gemm", 13);
  CHECK(gemm.min_inputs == 2);
  CHECK(gemm.max_inputs == 3);
  CHECK(gemm.inputs[2].arity == Arity::kOptional);
  CHECK(gemm.inputs[2].type == "T");
  CHECK(gemm.input(3) == nullptr);
  const OpFacts& concat = *find_op("", "Concat", 13);
  CHECK(concat.max_inputs == INT_MAX);
  REQUIRE(concat.input(1000) != nullptr);
  CHECK(concat.input(1000)->arity == Arity::kVariadic);
  CHECK(find_op("", "Shape", 13)->output(0)->type == "tensor(int64)");
}

TEST_CASE("attributes and their defaults") {
  const OpFacts& gemm = *find_op("", "Gemm", 13);
  REQUIRE(gemm.attribute("alpha") != nullptr);
  CHECK(gemm.attribute("alpha")->kind == ir::AttributeKind::kFloat);
  CHECK(gemm.attribute("alpha")->default_float == 1.0f);
  CHECK(gemm.attribute("transB")->default_int == 0);
  CHECK(gemm.attribute("transB")->has_default);
  CHECK(gemm.attribute("transC") == nullptr);
  CHECK(find_op("", "Softmax", 11)->attribute("axis")->default_int == 1);
  CHECK(find_op("", "Softmax", 13)->attribute("axis")->default_int == -1);
  CHECK(find_op("", "Concat", 13)->attribute("axis")->required);
  CHECK_FALSE(find_op("", "Transpose", 13)->attribute("perm")->has_default);
  CHECK(find_op("", "LeakyRelu", 16)->attribute("alpha")->default_float ==
        doctest::Approx(0.01));
  const OpFacts& gru = *find_op("", "RNN", 14);
  CHECK(gru.attribute("direction")->default_string == "forward");
  REQUIRE(gru.attribute("activations")->default_strings.size() == 2);
  CHECK(gru.attribute("activations")->default_strings[0] == "Tanh");
}

TEST_CASE("domains") {
  CHECK(newest_opset("") == 28);
  CHECK(newest_opset("ai.onnx") == 28);
  CHECK(newest_opset("ai.onnx.ml") >= 5);
  CHECK(newest_opset("ruleengine") == 1);
  CHECK(newest_opset("com.microsoft") == 0);
  CHECK(known_domain("tensor_cast"));
  CHECK(known_domain("aten"));
  CHECK_FALSE(known_domain("com.microsoft"));
}

TEST_CASE("every row is valid and can be looked up") {
  CHECK(all_ops().size() > 600);
  for (const OpFacts* each : all_ops()) {
    const OpFacts& op = *each;
    CAPTURE(std::string(op.type));
    CHECK(find_op(op.domain, op.type, op.since_version) == &op);
    // The engine knows only some ops of such a domain.
    CHECK((!known_domain(op.domain) ||
           op.since_version <= newest_opset(op.domain)));
    CHECK(op.min_inputs <= op.max_inputs);
    CHECK(op.min_outputs <= op.max_outputs);
    std::set<std::string_view> names;
    for (const FormalAttribute& attribute : op.attributes) {
      CHECK(op.attribute(attribute.name) == &attribute);
      CHECK(attribute.kind != ir::AttributeKind::kUndefined);
      CHECK_FALSE((attribute.required && attribute.has_default));
      CHECK(names.insert(attribute.name).second);
    }
  }
}

TEST_CASE("the dialect is known like any other op") {
  const OpFacts* sdpa = newest_op("ruleengine", "ScaledDotProductAttention");
  REQUIRE(sdpa != nullptr);
  CHECK(sdpa->min_inputs == 3);
  CHECK(sdpa->max_inputs == 4);
  CHECK(sdpa->attribute("num_heads")->required);
  CHECK_FALSE(sdpa->attribute("scale")->has_default);
  CHECK(sdpa->attribute("softcap")->default_float == 0.0f);

  // Inputs after input 13 are extra arguments, which are accepted.
  const OpFacts* mha = newest_op("ruleengine", "MultiheadAttention");
  REQUIRE(mha != nullptr);
  CHECK(mha->min_inputs == 6);
  CHECK(mha->max_inputs == INT_MAX);
  CHECK(mha->input(13)->name == "bias_v");
  CHECK(mha->input(14)->name == "extra");
  CHECK(mha->max_outputs == 2);

  const OpFacts* quantize =
      newest_op("tensor_cast", "dynamic_quantize_asymmetric");
  REQUIRE(quantize != nullptr);
  CHECK(quantize->outputs.size() == 3);
  REQUIRE(quantize->attribute("dims")->default_ints.size() == 1);
  CHECK(quantize->attribute("dims")->default_ints[0] == -1);
  CHECK(find_op("aten", "scaled_dot_product_attention", 1) != nullptr);
}

std::string suggestions(std::string_view domain, std::string_view type) {
  std::string out;
  for (std::string_view name : similar_ops(domain, type)) {
    out += (out.empty() ? "" : " ") + std::string(name);
  }
  return out;
}

TEST_CASE("did you mean") {
  CHECK(suggestions("", "Sofmax") == "Softmax");
  CHECK(suggestions("", "matmul").substr(0, 6) == "MatMul");
  CHECK(suggestions("", "LayerNorm") == "LayerNormalization");
  CHECK(suggestions("ruleengine", "SwinAtention") == "SwinAttention");
  CHECK(suggestions("", "Frobnicate").empty());
  CHECK(suggestions("com.example", "Gelu").empty());
  CHECK(suggestions("", std::string(100000, 'a')).empty());
  CHECK(similar_ops("", "Reduce").size() == 3);
}

TEST_CASE("commutative ops") {
  CHECK(is_commutative("", "Add"));
  CHECK(is_commutative("ai.onnx", "Mul"));
  CHECK(is_commutative("", "Xor"));
  CHECK_FALSE(is_commutative("", "Sub"));
  CHECK_FALSE(is_commutative("", "MatMul"));
  CHECK_FALSE(is_commutative("com.microsoft", "Add"));
}

}  // namespace
}  // namespace ruleengine::ops
