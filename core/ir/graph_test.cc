#include "core/ir/graph.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::ir {
namespace {

struct World {
  Model model;
  Graph& g = model.graph;

  ValueId value(std::string_view name) {
    return g.add_value(model.names.intern(name), Graph::main_block(),
                       ValueKind::kUndefined);
  }
  NodeId node(std::string_view type, std::vector<ValueId> inputs,
              std::vector<ValueId> outputs) {
    return g.add_node(model.ops.intern("", type), Graph::main_block(), {},
                      inputs, outputs, {});
  }
  // "type:slot" of each use, in order.
  std::string uses(ValueId v) const {
    std::string out;
    for (OperandId u = g.first_use(v); u; u = g.next_use(u)) {
      out += g.op(g.operand(u).user).text() + ":" +
             std::to_string(g.operand_index(u)) + " ";
    }
    return out;
  }
  // The visible state of the uses, to compare before and after.
  std::string everything() const {
    std::string out;
    for (std::size_t i = 0; i < g.value_count(); ++i) {
      const Value& v = g.value(ValueId(i));
      out += std::to_string(i) + (v.removed ? "!" : "") + "=" +
             std::to_string(v.use_count) + "," +
             std::to_string(v.block_output_count) + "," +
             std::to_string(v.last_use.index()) + ":" + uses(ValueId(i)) + "\n";
    }
    return out + std::to_string(g.live_node_count());
  }
};

TEST_CASE("uses are linked both ways, in the order they were made") {
  World w;
  const ValueId x = w.value("x"), y = w.value("y"), z = w.value("z");
  const NodeId a = w.node("A", {x, ValueId(), x}, {y});
  const NodeId b = w.node("B", {y, x}, {z});
  CHECK(w.uses(x) == "A:0 A:2 B:1 ");
  CHECK(w.g.value(x).use_count == 3);
  CHECK(w.g.producer(y) == a);
  CHECK(w.g.value(y).kind == ValueKind::kNodeOutput);
  CHECK(w.g.inputs(a).size() == 3);
  CHECK_FALSE(w.g.input(a, 1).valid());
  CHECK_FALSE(w.g.input(a, 7).valid());
  CHECK(w.g.output(b) == z);
  CHECK_FALSE(w.g.output(b, 1).valid());
  w.g.add_block_output(Graph::main_block(), y);
  CHECK(w.g.reader_count(y) == 2);
  w.g.set_block_output(Graph::main_block(), 0, z);
  CHECK(w.g.reader_count(y) == 1);
  CHECK(w.g.reader_count(z) == 1);
}

TEST_CASE("an operand that gets another value joins the end of its uses") {
  World w;
  const ValueId x = w.value("x"), y = w.value("y");
  const NodeId a = w.node("A", {x}, {});
  w.node("B", {x}, {});
  w.node("C", {y}, {});
  w.g.set_operand(OperandId(w.g.node(a).first_operand), y);
  CHECK(w.uses(x) == "B:0 ");
  CHECK(w.uses(y) == "C:0 A:0 ");
}

TEST_CASE("removing and restoring in reverse order leaves no trace") {
  World w;
  std::vector<ValueId> values = {w.value("x")};
  std::vector<NodeId> nodes;
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    std::vector<ValueId> inputs;
    for (int k = 0; k < 3; ++k) {
      inputs.push_back(values[random() % values.size()]);
    }
    values.push_back(w.value("v" + std::to_string(i)));
    nodes.push_back(w.node("N" + std::to_string(i), inputs, {values.back()}));
  }
  const std::string before = w.everything();
  std::ranges::shuffle(nodes, random);
  for (std::size_t i = 0; i < 30; ++i) w.g.remove_node(nodes[i]);
  CHECK(w.g.live_node_count() == 30);
  CHECK(w.g.value(w.g.output(nodes[0])).removed);
  CHECK(w.everything() != before);
  for (std::size_t i = 30; i-- > 0;) w.g.restore_node(nodes[i]);
  CHECK(w.everything() == before);
}

TEST_CASE("the last node and value can be removed") {
  World w;
  const ValueId x = w.value("x"), y = w.value("y");
  w.node("A", {x}, {y});
  const std::string before = w.everything();
  const ValueId z = w.value("z");
  w.node("B", {x, y, x}, {z});
  w.g.pop_node();
  w.g.pop_value();
  CHECK(w.everything() == before);
  CHECK(w.g.block(Graph::main_block()).nodes.size() == 1);
}

TEST_CASE("an output slot can be given another value") {
  World w;
  const ValueId x = w.value("x"), y = w.value("y"), z = w.value("z");
  const NodeId a = w.node("A", {x}, {y});
  w.g.set_output(a, 0, z);
  CHECK(w.g.producer(z) == a);
  CHECK_FALSE(w.g.producer(y).valid());
  CHECK(w.g.value(y).kind == ValueKind::kUndefined);
}

TEST_CASE("direct constants") {
  World w;
  Literal t, u;
  const ValueId init = w.value("init"), input = w.value("input"),
                made = w.value("made"), other = w.value("other");
  w.g.add_initializer(init, &t);
  w.g.add_block_input(Graph::main_block(), input);
  w.g.add_initializer(input, &t);  // a default that a caller may override
  const Literal* data = &u;
  const std::vector<Attribute> list = {
      {.name = "value", .kind = AttributeKind::kTensor, .tensors = {&data, 1}}};
  w.g.add_node(w.model.ops.intern("", "Constant"), Graph::main_block(), {}, {},
               {&made, 1}, list);
  w.node("Neg", {init}, {other});
  CHECK(w.g.direct_constant(init) == &t);
  CHECK(w.g.direct_constant(input) == nullptr);
  CHECK(w.g.direct_constant(made) == &u);
  CHECK(w.g.direct_constant(other) == nullptr);
  CHECK(w.g.direct_constant(ValueId()) == nullptr);
}

TEST_CASE("nodes are described by name or by output") {
  World w;
  const NodeId plain = w.node("Add", {}, {w.value("y")});
  const NodeId empty = w.node("Sink", {}, {ValueId()});
  const NodeId named = w.g.add_node(w.model.ops.intern("d", "Op", "o"),
                                    Graph::main_block(), "n_1", {}, {}, {});
  CHECK(w.g.describe(plain) == "Add node of output 'y'");
  CHECK(w.g.describe(empty) == "Sink node without outputs");
  CHECK(w.g.describe(named) == "d::Op:o node 'n_1'");
}

}  // namespace
}  // namespace ruleengine::ir
