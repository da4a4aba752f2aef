// The reasons why no runtime accepts a node.
#include <doctest/doctest.h>

#include <initializer_list>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::ValueId;
using Values = std::vector<ValueId>;
using Attributes = std::vector<ir::Attribute>;

struct RefusalFixture : Builder {
  Inference facts{g};
  std::string why(std::string_view op, Values inputs, Attributes with = {}) {
    const ir::NodeId made = node(op, std::move(inputs), std::move(with), 1);
    return facts.refusal(made).value_or("");
  }
};

TEST_CASE_FIXTURE(RefusalFixture, "element types") {
  const ValueId x = input({"2", "3"});
  const ValueId n = input({"2", "3"}, DataType::kInt64);
  const ValueId b = input({"2", "3"}, DataType::kBool);
  CHECK(why("Add", {x, x}) == "");
  CHECK(why("Add", {x, n}) == "input 2 is int64 beside one that is float");
  CHECK(why("MatMul", {b, b}) == "input 1 cannot be bool");
  CHECK(why("And", {b, x}) == "input 2 cannot be float");
  CHECK(why("Where", {b, x, n}) == "input 3 is int64 beside one that is float");
  CHECK(why("Softmax", {n}) == "input 1 cannot be int64");
}

TEST_CASE_FIXTURE(RefusalFixture, "shapes and axes") {
  const ValueId x = input({"2", "3"}), y = input({"4", "5"});
  const ValueId s = input({"B", "S"}), t = input({"T", "3"});
  CHECK(why("Add", {x, y}) == "the shapes do not broadcast");
  CHECK(why("Add", {x, s}) == "");
  CHECK(why("MatMul", {x, y}) == "the inner sizes of the product differ");
  CHECK(why("MatMul", {x, s}) == "");
  CHECK(why("Gemm", {x, t}, {i("transB", 1)}) == "");
  CHECK(why("Gemm", {x, y}) == "the inner sizes of the product differ");
  CHECK(why("Softmax", {x}, {i("axis", 2)}) == "the axis is out of range");
  CHECK(why("Concat", {x, y}, {i("axis", 0)}) ==
        "the joined values differ beside the axis");
  CHECK(why("Concat", {x, y}, {i("axis", 2)}) != "");
  CHECK(why("Concat", {x, t}, {i("axis", 0)}) == "");
  CHECK(why("Transpose", {x}, {is("perm", {0, 0})}) != "");
  CHECK(why("ReduceMax", {x}, {is("axes", {7})}) != "");
  CHECK(why("Flatten", {x}, {i("axis", 3)}) != "");
  CHECK(why("Reshape", {x, ints({3, 2, 0})}) == "a 0 stands for no axis");
  CHECK(why("Reshape", {s, ints({0, 4})}) == "");
  CHECK(why("Reshape", {input({"0", "3"}), ints({0, -1})}) ==
        "a -1 stands beside a size of 0");
  CHECK(why("Reshape", {input({"S", "3"}), ints({0, -1})}) == "");
}

TEST_CASE_FIXTURE(RefusalFixture, "the rank of angles") {
  const ValueId x = input({"2", "4", "6", "8"});
  const ValueId rows = input({"6", "4"}), batch = input({"2", "6", "4"});
  const ValueId places = input({"2", "6"}, DataType::kInt64);
  CHECK(why("RotaryEmbedding", {x, batch, batch}) == "");
  CHECK(why("RotaryEmbedding", {x, rows, rows, places}) == "");
  CHECK(why("RotaryEmbedding", {x, rows, rows}) == "wrong rank of the cosines");
  CHECK(why("RotaryEmbedding", {x, batch, batch, places}) ==
        "wrong rank of the cosines");
  CHECK(why("RotaryEmbedding", {x, batch, rows}) == "wrong rank of the sines");
}

TEST_CASE_FIXTURE(RefusalFixture, "errors that only the library finds") {
  const ValueId x = input({"2", "3"});
  CHECK(why("DepthToSpace", {x}, {i("blocksize", 2)}) != "");
  CHECK(why("DepthToSpace", {input({"1", "4", "2", "2"})},
            {i("blocksize", 2)}) == "");
}

TEST_CASE_FIXTURE(RefusalFixture, "attention") {
  const std::string op = "ruleengine::ScaledDotProductAttention";
  const ValueId q = input({"B", "8", "S", "16"});
  const ValueId k = input({"B", "2", "T", "16"});
  const ValueId v = input({"B", "2", "T", "32"});
  const Attributes heads = {i("head_dim", 32), i("num_heads", 8)};
  const auto with = [&](ValueId a, ValueId b, ValueId c, ValueId mask = {}) {
    Values all = {a, b, c};
    if (mask) all.push_back(mask);
    return why(op, all, heads);
  };
  CHECK(with(q, k, v) == "");
  CHECK(with(q, k, v, input({"1", "1", "S", "T"})) == "");
  CHECK(with(q, k, v, input({"B", "1", "1", "T"}, DataType::kBool)) == "");
  CHECK(with(q, input({"B", "2", "T", "8"}), v) ==
        "queries and keys differ in size");
  CHECK(with(q, input({"B", "2", "4", "16"}), input({"B", "2", "5", "32"})) ==
        "keys and values differ in length");
  CHECK(with(q, input({"B", "3", "T", "16"}), input({"B", "3", "T", "32"})) ==
        "the heads of keys or values do not divide those of queries");
  CHECK(with(q, k, input({"B", "4", "T", "32"})).empty());
  CHECK(with(q, k, input({"B", "3", "T", "32"})) ==
        "the heads of keys or values do not divide those of queries");
  CHECK(with(q, input({"2", "T", "16"}), v) ==
        "queries, keys and values differ in rank");
  CHECK(with(q, k, v, input({"B", "5", "S", "T"})) == "the mask does not fit");
  CHECK(with(q, k, v, input({"1", "1", "1", "1", "1"})) ==
        "the mask has more axes than the scores");
  CHECK(with(q, k, v, input({"S", "T"}, DataType::kInt64)) ==
        "the mask is neither bool nor of the type of the scores");
  CHECK(with(input({"B", "4", "S", "16"}), k, v) ==
        "num_heads is not the number of heads");
}

}  // namespace
}  // namespace ruleengine::analysis
