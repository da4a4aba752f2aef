#include "core/analysis/inference.h"

#include <doctest/doctest.h>

#include <chrono>

#include "core/ir/order.h"
#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::NodeId;
using ir::ValueId;

// The [B,S,H*D] -> [B,S,H,D] of every export: the shape is computed by Shape,
// Gather, Unsqueeze and Concat.
TEST_CASE("a computed Reshape of attention has per-axis dims") {
  Builder b;
  const ValueId x = b.input({"B", "S", "64"});
  const ValueId shape = b.add("Shape", {x});
  const ValueId batch = b.add("Gather", {shape, b.scalar(0)}, {b.i("axis", 0)});
  const ValueId length = b.add("Gather", {shape, b.scalar(1)});
  const ValueId target = b.add(
      "Concat",
      {b.add("Unsqueeze", {batch, b.ints({0})}),
       b.add("Unsqueeze", {length, b.ints({0})}), b.ints({-1}), b.ints({16})},
      {b.i("axis", 0)});
  const ValueId heads = b.add("Reshape", {x, target});
  const ValueId swapped =
      b.add("Transpose", {heads}, {b.is("perm", {0, 2, 1, 3})});
  const ValueId flat = b.add("Reshape", {swapped, b.ints({-1, 16})});
  Inference facts(b.g);
  CHECK(b.elements(facts, target) == "{B, S, -1, 16}");
  CHECK(b.text(facts, heads) == "float[B,S,4,16]");
  CHECK(b.text(facts, swapped) == "float[B,4,S,16]");
  CHECK(b.text(facts, flat) == "float[4*B*S,16]");
  CHECK(b.text(facts, b.add("Reshape", {flat, b.ints({0, 4, 4})})) ==
        "float[4*B*S,4,4]");
  CHECK_FALSE(facts.is_constant(batch));
  CHECK(facts.constant(target) == nullptr);
}

TEST_CASE("a scale computed from a known size is a constant") {
  Builder b;
  const ValueId x = b.input({"B", "S", "64"});
  const ValueId last =
      b.add("Slice", {b.add("Shape", {x}), b.ints({-1}), b.ints({INT64_MAX})});
  const ValueId root = b.add("Sqrt", {b.add("Cast", {last}, {b.i("to", 1)})});
  const ValueId scale = b.add("Div", {b.floats({1}, {1}), root});
  Inference facts(b.g);
  CHECK(facts.is_constant(scale));
  CHECK(b.constant(facts, scale) == "float[1]: 0.125");
  CHECK(b.constant(facts, last) == "int64[1]: 64");
}

TEST_CASE("an input of an unknown type is no fault of the library's schemas") {
  Builder b;
  const ValueId any = b.add("Thing", {b.input({"N", "N"})});
  Inference facts(b.g);
  CHECK(b.text(facts, b.add("EyeLike", {any}, {b.i("dtype", 1)})) != "int64");
  for (const char* op : {"RegexFullMatch", "Bernoulli", "CenterCropPad"}) {
    CAPTURE(op);
    b.text(facts, b.add(op, {any, any}));
  }
}

TEST_CASE(
    "a type that contradicts a declaration is unknown, and reported once") {
  Builder b;
  const ValueId x = b.input({"B", "3"});
  const ValueId y = b.add("Relu", {x});
  b.g.mutable_value(y).declared = b.type(DataType::kFloat, {"B", "4"});
  const ValueId z = b.add("Relu", {x});
  b.g.mutable_value(z).declared = b.type(DataType::kFloat, {"made_up", ""});
  const ValueId w = b.add("Unknown", {x});
  b.g.mutable_value(w).declared = b.type(DataType::kFloat, {"B", "7"});
  Inference facts(b.g);
  CHECK(b.text(facts, y).starts_with("float[B,?"));
  CHECK(b.text(facts, z) == "float[B,3]");
  CHECK(b.text(facts, w) == "float[B,7]");
  CHECK(b.text(facts, y).starts_with("float[B,?"));
  const auto warnings = facts.take_warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "value 'v1' is declared as float[B,4] but inferred as float[B,3]; "
        "the declaration is kept");
  CHECK(facts.take_warnings().empty());
}

TEST_CASE("values that depend on an edited node are inferred again") {
  Builder b;
  const ValueId x = b.input({"B", "6"}), y = b.input({"B", "8"});
  const NodeId top = b.node("Relu", {x});
  ValueId v = b.g.output(top);
  std::vector<ValueId> chain;
  for (int i = 0; i < 5; ++i) chain.push_back(v = b.add("Neg", {v}));
  const ValueId halves = b.add("Reshape", {v, b.ints({0, 2, -1})});
  Inference facts(b.g);
  CHECK(b.text(facts, halves) == "float[B,2,3]");
  b.g.unlink(ir::OperandId(b.g.node(top).first_operand));
  b.g.set_operand(ir::OperandId(b.g.node(top).first_operand), y);
  CHECK(b.text(facts, halves) == "float[B,2,3]");  // not invalidated yet
  facts.invalidate(top);
  CHECK(b.text(facts, halves) == "float[B,2,4]");
  CHECK(b.text(facts, chain[2]) == "float[B,8]");
}

TEST_CASE("constants and elements follow an edit") {
  Builder b;
  const ValueId x = b.input({"4", "6"}), y = b.input({"B", "8"});
  const NodeId shape = b.node("Shape", {x});
  const ValueId twice =
      b.add("Mul", {b.g.output(shape), b.add("Neg", {b.ints({-2})})});
  Inference facts(b.g);
  CHECK(b.constant(facts, twice) == "int64[2]: 8 12");
  CHECK(b.elements(facts, twice) == "{8, 12}");
  b.g.unlink(ir::OperandId(b.g.node(shape).first_operand));
  b.g.set_operand(ir::OperandId(b.g.node(shape).first_operand), y);
  facts.invalidate(shape);
  CHECK(b.constant(facts, twice) == "none");
  CHECK_FALSE(facts.is_constant(twice));
  CHECK(b.elements(facts, twice) == "{2*B, 16}");
}

TEST_CASE("an edit is followed to the end of a long chain of sizes") {
  Builder b;
  const ValueId x = b.input({"4", "6"}), y = b.input({"5", "8", "9"});
  const NodeId shape = b.node("Shape", {x});
  ValueId v = b.g.output(shape);
  for (int i = 0; i < 1000; ++i) v = b.add("Neg", {v});
  Inference facts(b.g);
  CHECK(b.constant(facts, v) == "int64[2]: 4 6");
  CHECK(b.elements(facts, v) == "{4, 6}");
  b.g.unlink(ir::OperandId(b.g.node(shape).first_operand));
  b.g.set_operand(ir::OperandId(b.g.node(shape).first_operand), y);
  facts.invalidate(shape);
  CHECK(b.constant(facts, v) == "int64[3]: 5 8 9");
  CHECK(b.elements(facts, v) == "{5, 8, 9}");
}

// Inserts a node of unknown type between `user` and its input.
ValueId hide(Builder& b, Inference& facts, NodeId user) {
  const ir::OperandId slot(b.g.node(user).first_operand);
  const NodeId made = b.node("com.example::F", {b.g.operand(slot).value});
  b.g.mutable_node(made).rank = b.g.node(user).rank;
  const ValueId v = b.g.output(made);
  b.g.unlink(slot);
  b.g.set_operand(slot, v);
  facts.invalidate(made);
  facts.invalidate(user);
  return v;
}

// Computing everything that depends on each edit would take hours.
TEST_CASE("edits from the first node on recompute little") {
  constexpr int kLength = 30'000;
  Builder b;
  ValueId v = b.input({"B", "6"});
  std::vector<NodeId> chain;
  for (int i = 0; i < kLength; ++i) {
    chain.push_back(b.node("Relu", {v}));
    v = b.g.output(chain.back());
  }
  Inference facts(b.g);
  CHECK(b.text(facts, v) == "float[B,6]");
  for (const NodeId n : chain) {
    hide(b, facts, n);
    CHECK(b.text(facts, b.g.output(n)) == "none");
  }
  CHECK(b.text(facts, v) == "none");
}

TEST_CASE("marked nodes keep their place when nodes are renumbered") {
  Builder b;
  const ValueId x = b.input({"B", "6"});
  const NodeId first = b.node("Relu", {x});
  const ValueId v = b.add("Neg", {b.add("Exp", {b.g.output(first)})});
  // Ranks with gaps, as in files.
  for (std::size_t i = 0; i < b.g.node_count(); ++i) {
    b.g.mutable_node(NodeId(i)).rank = (i + 1) << 20;
  }
  Inference facts(b.g);
  CHECK(b.text(facts, v) == "float[B,6]");
  hide(b, facts, first);
  REQUIRE(ir::number_nodes(b.g).ok());
  CHECK(b.text(facts, v) == "none");
}

TEST_CASE("an edit in progress may violate the order") {
  Builder b;
  const ValueId x = b.input({"B", "6"});
  const NodeId reader = b.node("Relu", {x});
  const ValueId y = b.g.output(reader);
  const NodeId late = b.node("Exp", {x});
  const ValueId between = b.add("Neg", {b.g.output(late)});
  Inference facts(b.g);
  CHECK(b.text(facts, between) == "float[B,6]");
  CHECK(b.text(facts, y) == "float[B,6]");
  // A node of higher rank now feeds a lower one, and is edited itself.
  const ir::OperandId slot(b.g.node(reader).first_operand);
  b.g.unlink(slot);
  b.g.set_operand(slot, between);
  facts.invalidate(reader);
  CHECK(b.text(facts, y) == "float[B,6]");
  hide(b, facts, late);
  CHECK(b.text(facts, y) == "none");
}

TEST_CASE("values of undone nodes leave no trace") {
  Builder b;
  const ValueId x = b.input({"B", "6"});
  Inference facts(b.g);
  const NodeId first = b.node("Relu", {x});
  const ValueId v = b.g.output(first);
  CHECK(b.text(facts, v) == "float[B,6]");
  facts.invalidate(first);
  b.g.pop_node();
  b.g.pop_value();
  const ValueId again = b.add("Shape", {x});
  REQUIRE(again == v);
  CHECK(b.text(facts, again) == "int64[2]");
}

double seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since)
      .count();
}

TEST_CASE("a long chain needs no recursion and no second walk") {
  Builder b;
  const ValueId x = b.input({"B", "S", "64"});
  constexpr int kLength = 200'000;
  b.g.reserve(kLength, kLength + 1, kLength);
  const NodeId top = b.node("Relu", {x});
  ValueId v = b.g.output(top), middle = v;
  for (int i = 0; i < kLength; ++i) {
    v = b.add("Relu", {v});
    if (i == kLength / 2) middle = v;
  }
  Inference facts(b.g);
  const auto start = std::chrono::steady_clock::now();
  CHECK(b.text(facts, v) == "float[B,S,64]");
  CHECK_FALSE(facts.is_constant(v));
  const double cold = seconds(start);
  const auto again = std::chrono::steady_clock::now();
  // An edit that changes nothing stops at once, at any node.
  for (int i = 0; i < 1000; ++i) {
    facts.invalidate(i % 2 == 0 ? top : b.g.producer(middle));
    CHECK(facts.type(v) != nullptr);
  }
  CHECK(seconds(again) <
        20 * cold + 0.5);  // with a full walk each: 1000 * cold
}

TEST_CASE("cycles and missing bodies do not hang") {
  Builder b;
  const ValueId x = b.input({"B", "6"});
  const NodeId first = b.node("Add", {x, x});
  const NodeId second = b.node("Add", {b.g.output(first), x});
  const ir::OperandId slot(b.g.node(first).first_operand + 1);
  b.g.unlink(slot);
  b.g.set_operand(slot, b.g.output(second));
  const NodeId branch = b.node("If", {x}, {}, 2);
  const NodeId loop = b.node("Loop", {}, {}, 2);
  Inference facts(b.g);
  (void)facts.type(b.g.output(second));
  CHECK_FALSE(facts.is_constant(b.g.output(second)));
  CHECK_FALSE(facts.dims_of(b.g.output(first)).has_value());
  for (int i = 0; i < 10; ++i) {
    facts.invalidate(first);
    facts.invalidate(second);
    (void)facts.type(b.g.output(first));
  }
  CHECK(b.text(facts, b.g.output(branch)) == "none");
  CHECK(b.text(facts, b.g.output(loop, 1)) == "none");
}

TEST_CASE("an If has the common type of both branches") {
  Builder b;
  const ValueId c = b.input({}, DataType::kBool), x = b.input({"B", "6"});
  const NodeId branch = b.node("If", {c}, {}, 1);
  std::vector<ir::Attribute> attributes;
  std::vector<NodeId> inner;
  for (const char* name : {"then_branch", "else_branch"}) {
    const ir::BlockId block =
        b.g.add_block(branch, ir::Graph::main_block(), name);
    const ValueId out = b.g.add_value(b.model.names.intern(name), block,
                                      ir::ValueKind::kNodeOutput);
    inner.push_back(b.g.add_node(b.model.ops.intern("", "Relu"), block, "",
                                 std::vector{x}, std::vector{out}, {}));
    b.g.add_block_output(block, out);
    ir::Attribute a;
    a.name = name;
    a.kind = ir::AttributeKind::kGraph;
    a.blocks = b.model.arena.copy(std::span<const ir::BlockId>(&block, 1));
    attributes.push_back(a);
  }
  b.g.mutable_node(branch).attributes =
      b.model.arena.copy(std::span<const ir::Attribute>(attributes));
  const ValueId below = b.add("Neg", {b.g.output(branch)});
  Inference facts(b.g);
  CHECK(b.text(facts, below) == "float[B,6]");
  const ValueId y = b.input({"B", "9"});
  const ir::OperandId slot(b.g.node(inner[1]).first_operand);
  b.g.unlink(slot);
  b.g.set_operand(slot, y);
  facts.invalidate(inner[1]);
  const ir::Type* t = facts.type(below);
  REQUIRE(t != nullptr);
  CHECK(t->dims[0] == b.model.dims.symbol("B"));
  CHECK(b.model.dims.is_fresh(t->dims[1]));
}

// -1 for an unknown axis.
std::vector<std::int64_t> sizes(ir::Facts& facts, ValueId v) {
  const ir::Type* t = facts.type(v);
  REQUIRE(t != nullptr);
  REQUIRE(t->has_shape);
  std::vector<std::int64_t> out;
  for (const ir::Dim d : t->dims) out.push_back(d.known() ? d.size() : -1);
  return out;
}

TEST_CASE("a Loop and a Scan carry some values and stack the others") {
  using Sizes = std::vector<std::int64_t>;
  Builder b;
  const ValueId state = b.input({"2", "3"}), rows = b.input({"9", "6"}),
                row = b.input({"6"});
  const auto with_body = [&](const char* op, std::vector<ValueId> inputs,
                             std::vector<ValueId> results,
                             std::vector<ir::Attribute> attributes = {}) {
    const NodeId node = b.node(op, std::move(inputs), {}, 2);
    const ir::BlockId block =
        b.g.add_block(node, ir::Graph::main_block(), "body");
    for (ValueId v : results) b.g.add_block_output(block, v);
    ir::Attribute body;
    body.name = "body";
    body.kind = ir::AttributeKind::kGraph;
    body.blocks = b.model.arena.copy(std::span<const ir::BlockId>(&block, 1));
    attributes.push_back(body);
    b.g.mutable_node(node).attributes =
        b.model.arena.copy(std::span<const ir::Attribute>(attributes));
    return node;
  };
  const ValueId times = b.scalar(5), c = b.input({}, DataType::kBool);
  const NodeId loop = with_body("Loop", {times, c, state}, {c, state, row});
  const NodeId scan = with_body("Scan", {state, rows}, {state, row},
                                {b.i("num_scan_inputs", 1)});
  const NodeId last =
      with_body("Scan", {state, rows}, {state, row},
                {b.i("num_scan_inputs", 1), b.is("scan_output_axes", {-1})});
  Inference facts(b.g);
  for (NodeId node : {loop, scan, last}) {
    CHECK(sizes(facts, b.g.output(node, 0)) == Sizes{2, 3});
  }
  CHECK(sizes(facts, b.g.output(loop, 1)) == Sizes{-1, 6});
  CHECK(sizes(facts, b.g.output(scan, 1)) == Sizes{-1, 6});
  CHECK(sizes(facts, b.g.output(last, 1)) == Sizes{6, -1});
}

TEST_CASE("a function call has the types of its body for the call's types") {
  Builder b;
  auto function = std::make_unique<ir::Function>(b.model);
  function->domain = "own";
  function->name = "Twice";
  function->opset_imports = {{"", 18}};
  ir::Graph& body = function->body;
  const auto value = [&](const char* name, ir::ValueKind kind) {
    return body.add_value(b.model.names.intern(name), ir::Graph::main_block(),
                          kind);
  };
  const ValueId in = value("in", ir::ValueKind::kInput);
  const ValueId shape = value("shape", ir::ValueKind::kInput);
  const ValueId out = value("out", ir::ValueKind::kNodeOutput);
  const ValueId cast = value("cast", ir::ValueKind::kNodeOutput);
  body.add_block_input(ir::Graph::main_block(), in);
  body.add_block_input(ir::Graph::main_block(), shape);
  ir::Attribute to = b.i("to", 0);
  to.ref = "dtype";
  body.add_node(b.model.ops.intern("", "Reshape"), ir::Graph::main_block(), "",
                std::vector{in, shape}, std::vector{out}, {});
  body.add_node(b.model.ops.intern("", "Cast"), ir::Graph::main_block(), "",
                std::vector{out}, std::vector{cast},
                b.model.arena.copy(std::span<const ir::Attribute>(&to, 1)));
  body.add_block_output(ir::Graph::main_block(), cast);
  b.model.functions.push_back(std::move(function));
  const ValueId x = b.input({"B", "S", "64"});
  const ValueId call =
      b.add("own::Twice", {x, b.ints({0, -1, 4, 16})}, {b.i("dtype", 10)});
  Inference facts(b.g);
  CHECK(b.text(facts, call) == "float16[B,S,4,16]");
  Inference alone(body);  // without a call, attributes are not known
  CHECK(b.text(alone, cast) == "none");
}

TEST_CASE("a Constant whose value the call gives is not folded alone") {
  Builder b;
  ir::Attribute given = b.i("value_int", 0);
  given.ref = "n";
  const ValueId value = b.add("Constant", {}, {given});
  Inference facts(b.g);
  CHECK(facts.constant(value) == nullptr);
}

TEST_CASE("a function that calls itself ends") {
  Builder b;
  auto function = std::make_unique<ir::Function>(b.model);
  function->domain = "own";
  function->name = "Loop";
  ir::Graph& body = function->body;
  const ValueId in =
      body.add_value(b.model.names.intern("in"), ir::Graph::main_block(),
                     ir::ValueKind::kInput);
  body.add_block_input(ir::Graph::main_block(), in);
  std::vector<ValueId> outs;
  for (const char* name : {"o1", "o2", "o3"}) {
    outs.push_back(body.add_value(b.model.names.intern(name),
                                  ir::Graph::main_block(),
                                  ir::ValueKind::kNodeOutput));
    body.add_node(b.model.ops.intern("own", "Loop"), ir::Graph::main_block(),
                  "", std::vector{in}, std::vector{outs.back()}, {});
    body.add_block_output(ir::Graph::main_block(), outs.back());
  }
  b.model.functions.push_back(std::move(function));
  const ValueId call = b.add("own::Loop", {b.input({"B"})});
  Inference facts(b.g);
  CHECK(b.text(facts, call) == "none");
}

}  // namespace
}  // namespace ruleengine::analysis
