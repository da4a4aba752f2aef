#include "core/ir/model.h"

#include <doctest/doctest.h>

#include <memory>

namespace ruleengine::ir {
namespace {

TEST_CASE("imports: the standard domain has two names") {
  Model m;
  CHECK(m.opset("") == 0);
  m.import_opset("ai.onnx", 21);
  m.import_opset("", 9);  // exists already
  m.import_opset("d", 1);
  CHECK(m.opset("") == 21);
  CHECK(m.opset("ai.onnx") == 21);
  CHECK(m.opset("d") == 1);
  CHECK(m.opset_imports.size() == 2);
}

TEST_CASE("live functions are found by domain, name and overload") {
  Model m;
  auto f = std::make_unique<Function>(m);
  f->domain = "d";
  f->name = "f";
  f->overload = "o";
  Function* made = m.functions.emplace_back(std::move(f)).get();
  CHECK(m.find_function({"d", "f", "o"}) == made);
  CHECK(m.find_function({"d", "f", ""}) == nullptr);
  CHECK(m.find_function({"", "f", "o"}) == nullptr);
  made->removed = true;
  CHECK(m.find_function({"d", "f", "o"}) == nullptr);
}

TEST_CASE("unique names avoid values, nodes and blocks of every body") {
  Model m;
  m.names.intern("Linear");
  m.graph.add_node(m.ops.intern("", "Add"), Graph::main_block(), "Linear_2", {},
                   {}, {});
  auto f = std::make_unique<Function>(m);
  f->body.add_block(NodeId(0u), Graph::main_block(), "Linear_3");
  m.functions.push_back(std::move(f));
  CHECK(m.unique_name("Linear") == "Linear_1");
  CHECK(m.unique_name("Linear") == "Linear_4");
  CHECK(m.unique_name("new") == "new");
  CHECK(m.unique_name("new") == "new_1");
  CHECK(m.unique_name("Linear_1") == "Linear_1_1");
  CHECK(m.names.find("Linear_4").valid());
}

TEST_CASE("a copy is edited alone, and has the same ids") {
  Model m;
  const Dim n = m.dims.symbol("N");
  const Dim half = m.dims.floor_div(m.dims.add(n, m.dims.fresh()), Dim(2));
  const Dim twice = m.dims.mul(n, Dim(2));
  const Name name = m.names.intern("x");
  const ValueId x =
      m.graph.add_value(name, Graph::main_block(), ValueKind::kUndefined);
  const OpId add = m.ops.intern("", "Add");
  const NodeId node =
      m.graph.add_node(add, Graph::main_block(), "n", {}, {&x, 1}, {});
  m.functions.push_back(std::make_unique<Function>(m));
  m.functions[0]->name = "f";

  const auto copy = m.copy();
  CHECK(copy->graph.op(node).standard("Add"));
  CHECK(&copy->graph.model() == copy.get());
  CHECK(&copy->functions[0]->body.model() == copy.get());
  CHECK(copy->functions[0]->body.function() == copy->functions[0].get());
  CHECK(copy->names.find("x") == name);
  CHECK(copy->dims.symbol("N") == n);
  CHECK(copy->dims.mul(n, Dim(2)) == twice);
  CHECK(copy->dims.text(half) == m.dims.text(half));
  CHECK(copy->dims.leaves(half) == m.dims.leaves(half));

  copy->graph.remove_node(node);
  copy->functions[0]->removed = true;
  copy->names.intern("y");
  copy->dims.fresh();
  CHECK_FALSE(m.graph.node(node).removed);
  CHECK(m.find_function({"", "f", ""}) != nullptr);
  CHECK_FALSE(m.names.find("y").valid());
}

TEST_CASE("ops are interned, and ai.onnx is the empty domain") {
  OpTable ops;
  const OpId add = ops.intern("ai.onnx", "Add");
  CHECK(ops.intern("", "Add") == add);
  CHECK(ops.find("", "Add") == add);
  CHECK(ops.find("", "Add", "o") != add);
  CHECK_FALSE(ops.find("", "Sub").valid());
  CHECK(ops[add].standard("Add"));
  const OpId gelu = ops.intern("com.microsoft", "Gelu");
  CHECK(ops[gelu].is("com.microsoft", "Gelu"));
  CHECK_FALSE(ops[gelu].standard("Gelu"));
  CHECK(ops[gelu].text() == "com.microsoft::Gelu");
  CHECK(ops.size() == 2);
}

}  // namespace
}  // namespace ruleengine::ir
