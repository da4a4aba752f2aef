// Which nodes work on each position of an axis by itself, and where the axis
// goes.
#include "core/ops/axis_flow.h"

#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {

using namespace ranks;
namespace {

using ir::ValueId;

struct AxisFlowFixture : Builder {
  Inference facts{g};

  // "1,1 -> 0": the axis of each input and output, "-" for a value that is the
  // same along the axis; or "none".
  std::string flow(ir::NodeId node, ops::Port port, int axis) {
    std::vector<const ir::Type*> in, out;
    for (const ir::Operand& o : g.inputs(node)) {
      in.push_back(o.value ? facts.type(o.value) : nullptr);
    }
    for (ValueId v : g.outputs(node)) out.push_back(facts.type(v));
    const auto found = ops::axis_flow(g, node, {in, out}, port, axis);
    if (!found) return "none";
    return places(found->inputs) + " -> " + places(found->outputs);
  }
  std::string flow(std::string_view op, std::vector<ValueId> inputs,
                   std::vector<ir::Attribute> with = {}, int axis = 1,
                   std::size_t outputs = 1) {
    return flow(node(op, std::move(inputs), std::move(with), outputs),
                {false, 0}, axis);
  }

 private:
  static std::string places(const SmallVector<int, 6>& axes) {
    std::string out;
    for (int a : axes) {
      out += (out.empty() ? "" : ",");
      out += a == ops::AxisFlow::kSame ? "-" : std::to_string(a);
    }
    return out;
  }
};

TEST_CASE_FIXTURE(AxisFlowFixture, "elements line up from the right") {
  const ValueId x = input({"2", "4", "8"}), w = input({"8"});
  CHECK(flow("Add", {x, x}) == "1,1 -> 1");
  CHECK(flow("Mul", {x, w}) == "1,- -> 1");
  CHECK(flow("Add", {x, input({"4", "8"})}) == "1,0 -> 1");
  CHECK(flow("Add", {x, input({"4", "1"})}) == "1,0 -> 1");
  CHECK(flow("Add", {x, input({"2", "1", "8"})}) == "1,- -> 1");
  CHECK(flow("Add", {input({"2", "1", "8"}), x}) == "none");
  CHECK(flow("Clip", {x, ValueId(), input({})}) == "1,-,- -> 1");
  CHECK(flow("Add", {x, input({"", "8"})}) == "none");
  CHECK(flow("MatMul", {x, input({"8", "8"})}) == "none");
}

TEST_CASE_FIXTURE(AxisFlowFixture,
                  "norms and reductions leave the other axes alone") {
  const ValueId x = input({"2", "4", "8"}), w = input({"8"});
  CHECK(flow("LayerNormalization", {x, w}) == "1,- -> 1");
  CHECK(flow("LayerNormalization", {x, input({"4", "8"})}, {i("axis", 1)}) ==
        "none");
  CHECK(flow("tensor_cast::rms_norm", {x, w}) == "1,- -> 1");
  CHECK(flow("tensor_cast::rms_norm", {x, w}, {}, 2) == "none");
  CHECK(flow("tensor_cast::add_rms_norm2", {x, x, w}, {}, 1, 2) ==
        "1,1,- -> 1,1");
  CHECK(flow("ReduceMean", {x, ints({-1})}) == "1,- -> 1");
  CHECK(flow("ReduceMean", {x, ints({1})}) == "none");
  CHECK(flow("ReduceMean", {x, ints({-1})}, {i("keepdims", 0)}) == "none");
}

TEST_CASE_FIXTURE(AxisFlowFixture, "views and transposes") {
  const ValueId x = input({"1", "4", "8"}), b = input({"B", "4", "8"});
  CHECK(flow("Reshape", {x, ints({4, 8})}) == "1,- -> 0");
  CHECK(flow("Reshape", {x, ints({1, 4, 2, 4})}) == "1,- -> 1");
  CHECK(flow("Reshape", {x, ints({2, 2, 8})}) == "none");
  CHECK(flow("Reshape", {input({"2", "4", "8"}), ints({8, 8})}) == "none");
  CHECK(flow("Reshape", {b, ints({0, 4, 2, 4})}) == "1,- -> 1");
  CHECK(flow("Squeeze", {x, ints({0})}) == "1,- -> 0");
  CHECK(flow("Transpose", {x}, {is("perm", {1, 0, 2})}) == "1 -> 0");
  const ir::NodeId view = node("Reshape", {input({"4", "8"}), ints({1, 4, 8})});
  CHECK(flow(view, {true, 0}, 1) == "0,- -> 1");
  CHECK(flow("Concat", {x, x}, {i("axis", 2)}) == "1,1 -> 1");
  CHECK(flow("Concat", {x, x}, {i("axis", 1)}) == "none");
}

TEST_CASE_FIXTURE(AxisFlowFixture,
                  "quantizers of rows, of columns, of everything") {
  const ValueId x = input({"2", "4", "8"});
  const auto rows = "tensor_cast::dynamic_quantize_symmetric";
  CHECK(flow(rows, {x}, {}, 1, 2) == "1 -> 1,1");
  CHECK(flow(rows, {x}, {is("dims", {1})}, 1, 2) == "none");
  CHECK(flow(rows, {x}, {is("dims", {})}, 1, 2) == "none");
  CHECK(flow("DynamicQuantizeLinear", {x}, {}, 1, 3) == "none");
  CHECK(flow("QuantizeLinear", {x, input({})}) == "1,- -> 1");
  CHECK(flow("QuantizeLinear", {x, input({"8"})}, {i("axis", 2)}) ==
        "1,- -> 1");
  CHECK(flow("QuantizeLinear", {x, input({"4"})}, {i("axis", 1)}) == "none");
}

}  // namespace
}  // namespace ruleengine::analysis
