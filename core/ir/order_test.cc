#include "core/ir/order.h"

#include <doctest/doctest.h>

#include <string>

#include "core/ir/model.h"

namespace ruleengine::ir {
namespace {

// Nodes with one output each, named like the node.
struct OrderWorld {
  Model model;
  Graph& g = model.graph;

  ValueId value(std::string_view name, BlockId block = Graph::main_block()) {
    return g.add_value(model.names.intern(name), block, ValueKind::kUndefined);
  }
  NodeId node(std::string_view name, std::vector<ValueId> inputs, ValueId out,
              BlockId block = Graph::main_block(),
              std::vector<Attribute> attributes = {}) {
    return g.add_node(model.ops.intern("", "Op"), block, model.arena.copy(name),
                      inputs, {&out, 1},
                      model.arena.copy(std::span<const Attribute>(attributes)));
  }
  Attribute body(BlockId block) {
    return {.name = "body",
            .kind = AttributeKind::kGraph,
            .blocks = model.arena.copy(std::span<const BlockId>(&block, 1))};
  }
  std::string order() {
    const auto nodes = topological_order(g);
    if (!nodes) return nodes.error().found;
    std::string out;
    for (NodeId n : *nodes) out += std::string(g.node(n).name) + " ";
    return out;
  }
};

TEST_CASE("nodes keep a valid order") {
  OrderWorld w;
  const ValueId x = w.value("x"), a = w.value("a"), b = w.value("b"),
                c = w.value("c"), d = w.value("d");
  w.node("d", {b, c}, d);
  w.node("a", {x}, a);
  w.node("c", {a, ValueId()}, c);
  const NodeId gone = w.node("gone", {x}, w.value("e"));
  w.node("b", {a, a}, b);
  w.g.remove_node(gone);
  CHECK(w.order() == "a b c d ");
}

TEST_CASE("the error of a cycle names its nodes only") {
  OrderWorld w;
  const ValueId x = w.value("x"), a = w.value("a"), b = w.value("b"),
                c = w.value("c");
  w.node("a", {x}, a);
  w.node("b", {a, c}, b);
  w.node("c", {b}, c);
  CHECK(w.order() == "a cycle of 2 nodes: Op node 'b' <- Op node 'c'");
  OrderWorld own;
  const ValueId y = own.value("y");
  own.node("y", {y}, y);
  CHECK(own.order() == "a cycle of 1 node: Op node 'y'");
}

TEST_CASE("values that a body reads from outside come before its node") {
  OrderWorld w;
  const ValueId x = w.value("x"), a = w.value("a"), b = w.value("b"),
                loop = w.value("loop");
  const BlockId body = w.g.add_block(NodeId(0u), Graph::main_block(), "body");
  w.node("loop", {x}, loop, Graph::main_block(), {w.body(body)});
  const ValueId p = w.value("p", body), q = w.value("q", body);
  w.node("q", {p}, q, body);
  w.node("p", {a}, p, body);
  w.node("a", {x}, a);
  w.node("b", {x}, b);
  w.g.add_block_output(body, q);
  w.g.add_block_output(body, b);  // passed through unchanged
  CHECK(w.order() == "a p q b loop ");
  // The output of a node must not go into its own body.
  w.g.set_operand(OperandId(w.g.node(NodeId(2u)).first_operand), loop);
  CHECK(w.order().starts_with("a cycle of 3 nodes: Op node 'loop'"));
}

TEST_CASE("a long chain takes no deep stack") {
  OrderWorld w;
  ValueId below = w.value("x");
  std::vector<ValueId> values = {below};
  constexpr int kLength = 200000;
  for (int i = 0; i < kLength; ++i) values.push_back(w.value("v"));
  for (int i = kLength; i > 0; --i) {  // against its order
    const auto at = static_cast<std::size_t>(i);
    w.node("", {values[at - 1]}, values[at]);
  }
  const auto order = topological_order(w.g);
  REQUIRE(order.ok());
  CHECK(order->front() == NodeId(std::size_t{kLength - 1}));
}

}  // namespace
}  // namespace ruleengine::ir
