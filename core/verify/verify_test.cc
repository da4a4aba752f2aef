#include "core/verify/verify.h"

#include <doctest/doctest.h>

namespace ruleengine::verify {
namespace {

// x -> Relu -> Neg -> y, in the standard domain.
struct Chain {
  Chain() {
    model.opset_imports.push_back({"", 21});
    x = add("x");
    a = add("a");
    y = add("y");
    g.add_block_input(ir::Graph::main_block(), x);
    relu = node("Relu", x, a);
    neg = node("Neg", a, y);
    g.add_block_output(ir::Graph::main_block(), y);
  }

  ir::ValueId add(const char* name) {
    return g.add_value(model.names.intern(name), ir::Graph::main_block(),
                       ir::ValueKind::kUndefined);
  }
  ir::NodeId node(const char* type, ir::ValueId in, ir::ValueId out) {
    return g.add_node(model.ops.intern("", type), ir::Graph::main_block(),
                      model.arena.copy(std::string_view(type)), {&in, 1},
                      {&out, 1}, {});
  }

  ir::Model model;
  ir::Graph& g = model.graph;
  ir::ValueId x, a, y;
  ir::NodeId relu, neg;
};

std::string problem(const ir::Model& model) {
  const Status status = check_model(model);
  return status ? "" : status.error().what;
}

TEST_CASE("a sound model passes") {
  Chain c;
  CHECK(problem(c.model) == "");
}

TEST_CASE("each broken invariant has its own message") {
  Chain c;
  SUBCASE("a removed producer") {
    c.g.remove_node(c.relu);
    CHECK(problem(c.model).find("that nothing defines: value 'a'") !=
          std::string::npos);
  }
  SUBCASE("a wrong count of uses") {
    c.g.mutable_value(c.a).use_count = 2;
    CHECK(problem(c.model).find("a use list is broken") != std::string::npos);
  }
  SUBCASE("two values of one name") {
    c.g.mutable_value(c.a).name = c.g.value(c.x).name;
    CHECK(problem(c.model).find("two values have one name") !=
          std::string::npos);
  }
  SUBCASE("a cycle") {
    c.g.set_operand(ir::OperandId(c.g.node(c.relu).first_operand), c.a);
    CHECK(problem(c.model).find("cycle") != std::string::npos);
  }
  SUBCASE("a domain that is not imported") {
    c.model.opset_imports.clear();
    CHECK(problem(c.model).find("is not imported") != std::string::npos);
  }
  SUBCASE("a producer that is another node") {
    c.g.mutable_value(c.y).producer = c.relu;
    CHECK(problem(c.model).find("does not know its producer") !=
          std::string::npos);
  }
  SUBCASE("an initializer without data") {
    c.g.mutable_block(ir::Graph::main_block()).initializers.push_back(c.x);
    CHECK(problem(c.model).find("has no data") != std::string::npos);
  }
}

}  // namespace
}  // namespace ruleengine::verify
