#include "core/verify/verify.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "core/text/parse.h"

namespace ruleengine::verify {
namespace {

// The graph x -> Relu -> Neg -> y, in the standard domain.
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
  SUBCASE("a rank that falls") {
    c.g.mutable_node(c.relu).rank = 1;
    CHECK(problem(c.model).find("has a lower rank than a node that it reads") !=
          std::string::npos);
    c.g.mutable_node(c.neg).rank = 1;
    CHECK(problem(c.model) == "");
  }
  SUBCASE("a domain that is not imported") {
    c.model.opset_imports = {};
    CHECK(problem(c.model).find("is not imported") != std::string::npos);
  }
  SUBCASE("a producer that is another node") {
    c.g.mutable_value(c.y).producer = c.relu;
    CHECK(problem(c.model).find("has a wrong producer") != std::string::npos);
  }
  SUBCASE("an initializer without data") {
    c.g.mutable_block(ir::Graph::main_block()).initializers.push_back(c.x);
    CHECK(problem(c.model).find("has no data") != std::string::npos);
  }
  SUBCASE("an initializer that is listed twice") {
    const ir::Literal tensor;
    c.g.add_initializer(c.add("w"), &tensor);
    CHECK(problem(c.model) == "");
    auto& list = c.g.mutable_block(ir::Graph::main_block()).initializers;
    list.push_back(list[0]);
    CHECK(problem(c.model).find("listed twice") != std::string::npos);
  }
}

TEST_CASE("absent, unread and removed values break nothing") {
  Chain c;
  const auto main = ir::Graph::main_block();
  SUBCASE("inputs and outputs that are left out") {
    const ir::ValueId in[] = {ir::ValueId(), c.x};
    const ir::ValueId out[] = {ir::ValueId(), c.add("z")};
    c.g.add_node(c.model.ops.intern("", "Op"), main, "", in, out, {});
    CHECK(problem(c.model) == "");
  }
  SUBCASE("a value that nobody reads may have any name") {
    c.node("Abs", c.x, c.add("a"));
    CHECK(problem(c.model) == "");
  }
  SUBCASE("a node that was taken out, of a domain that is not imported") {
    const ir::ValueId z = c.add("z");
    const ir::NodeId gone = c.g.add_node(c.model.ops.intern("gone", "Op"), main,
                                         "", {&c.a, 1}, {&z, 1}, {});
    CHECK(problem(c.model).find("is not imported") != std::string::npos);
    c.g.remove_node(gone);
    CHECK(problem(c.model) == "");
    // Only ranks of live nodes are compared.
    c.g.mutable_node(c.relu).rank = c.g.mutable_node(c.neg).rank = 1;
    CHECK(problem(c.model) == "");
  }
  SUBCASE("an output of no node") {
    const ir::ValueId z = c.add("z");
    c.g.mutable_value(z).kind = ir::ValueKind::kNodeOutput;
    CHECK(problem(c.model) == "");
    c.g.set_block_output(main, 0, z);
    CHECK(problem(c.model).find("nothing defines") != std::string::npos);
  }
  SUBCASE("the first value is counted too") {
    c.g.mutable_value(c.x).block_output_count = 1;
    CHECK(problem(c.model).find("wrong count of its uses as an output") !=
          std::string::npos);
  }
}

// The error after `breaks` changed a graph with a body and a function.
template <typename Breaks>
std::string broken(Breaks breaks) {
  auto parsed = text::parse_model(R"((bool c, float x) => (y) {
      a = Relu(x)
      y = If(c) <then_branch = t () => (r) { r = d.f(a) },
                 else_branch = e () => (s) { s = Neg(a) }>
    }
    <domain: "d"> f (v) => (w) { w = my.Op(v) })");
  REQUIRE(parsed.ok());
  ir::Model& model = **parsed;
  REQUIRE(problem(model) == "");
  breaks(model, model.graph);
  const std::string what = problem(model);
  const std::string_view prefix = "internal error: ";
  return what.starts_with(prefix) ? what.substr(prefix.size()) : what;
}

using ir::NodeId;

TEST_CASE(
    "bodies see outer values, and no value of a body is visible outside") {
  // The nodes are in the order of the text: Relu, If, f, Neg.
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.set_operand(ir::OperandId(g.node(NodeId(3u)).first_operand),
                        g.output(NodeId(2u)));
        }) == "an input is not visible from the node's block: value 'r'");
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.set_block_output(ir::BlockId(2u), 0, g.output(NodeId(2u)));
        }) == "a block output is not visible from the block");
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.mutable_value(g.output(NodeId(3u))).block = ir::Graph::main_block();
        }).starts_with("an output is in another block"));
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.set_block_output(ir::BlockId(1u), 0, ir::ValueId());
        }) == "a block output is a value that nothing defines");
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.set_operand(ir::OperandId(g.node(NodeId(3u)).first_operand),
                        g.output(NodeId(1u)));
        }) == "the graph has a cycle");
}

TEST_CASE("calls and functions") {
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          m.functions[0]->inputs.clear();
        }) == "a call has more inputs or outputs than its function");
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          m.functions[0]->opset_imports = {};
        }) == "the domain 'my' is not imported");
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          m.functions[0]->body.remove_node(NodeId(0u));
        }) == "a block output is a value that nothing defines");
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          m.functions[0]->outputs.clear();
        }) == "a call has more inputs or outputs than its function");
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          ir::Graph& body = m.functions[0]->body;
          body.mutable_operand(ir::OperandId(0u)).user = NodeId();
        }) == "an input slot belongs to another node");
  // A removed function is not checked.
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          m.functions[0]->removed = true;
          m.functions[0]->body.remove_node(NodeId(0u));
        }) == "");
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          m.functions[0]->removed = true;
          m.functions[0]->inputs.clear();
        }) == "");
  // Without the function, the call is an ordinary op of its domain.
  CHECK(broken([](ir::Model& m, ir::Graph&) {
          m.functions[0]->removed = true;
        }) == "");
}

TEST_CASE("uses are linked both ways") {
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.mutable_value(g.output(NodeId(0u))).first_use = ir::OperandId();
        }) == "a use list is broken");
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.mutable_operand(ir::OperandId(g.node(NodeId(3u)).first_operand))
              .user = NodeId(0u);
        }) == "an input slot belongs to another node");
  // 'a' is read by f and Neg, the nodes 2 and 3.
  const auto slot = [](ir::Graph& g, unsigned node) {
    return ir::OperandId(g.node(NodeId(node)).first_operand);
  };
  CHECK(broken([&](ir::Model&, ir::Graph& g) {
          g.mutable_operand(slot(g, 3)).previous = slot(g, 3);
        }) == "a use list is broken");
  CHECK(broken([&](ir::Model&, ir::Graph& g) {
          g.mutable_operand(slot(g, 3)).previous = ir::OperandId();
        }) == "a use list is broken");
  CHECK(broken([&](ir::Model&, ir::Graph& g) {
          g.mutable_value(g.output(NodeId(0u))).last_use = slot(g, 2);
        }) == "a use list is broken");
  CHECK(broken([&](ir::Model&, ir::Graph& g) {
          g.mutable_operand(slot(g, 3)).value = g.input(NodeId(0u), 0);
        }) == "a use list is broken");
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          --g.mutable_value(g.output(NodeId(0u))).use_count;
        }) == "a use list is broken");
  for (std::uint32_t count : {0, 2}) {
    CHECK(broken([&](ir::Model&, ir::Graph& g) {
            g.mutable_value(g.output(NodeId(1u))).block_output_count = count;
          }) == "a value has a wrong count of its uses as an output");
  }
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.mutable_value(g.output(NodeId(0u))).output_index = 1;
        }).starts_with("an output has a wrong producer"));
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.mutable_value(g.output(NodeId(0u))).kind = ir::ValueKind::kInput;
        }).starts_with("an output has a wrong producer"));
}

TEST_CASE("a body is removed with its owner") {
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.set_block_output(ir::Graph::main_block(), 0, g.output(NodeId(0u)));
          for (unsigned node : {1, 2, 3}) g.remove_node(NodeId(node));
        }) == "");
}

TEST_CASE("values that are read exist") {
  for (const bool removed : {true, false}) {
    CHECK(broken([&](ir::Model&, ir::Graph& g) {
            ir::Value& x = g.mutable_value(g.input(NodeId(0u), 0));
            if (removed) {
              x.removed = true;
            } else {
              x.kind = ir::ValueKind::kUndefined;
            }
          }) == "an input is a value that nothing defines: value 'x'");
  }
}

TEST_CASE("nodes of a body rank before its owner") {
  const auto raise = [](ir::Graph& g, unsigned node) {
    g.mutable_node(NodeId(node)).rank = g.node(NodeId(1u)).rank + 1;
  };
  CHECK(broken([&](ir::Model&, ir::Graph& g) { raise(g, 3); }) ==
        "a node of a body has a higher rank than the body's owner");
  CHECK(broken([&](ir::Model&, ir::Graph& g) {
          raise(g, 3);
          raise(g, 1);
        }) == "");
}

TEST_CASE("a name is unique in a block") {
  const auto rename = [](ir::Graph& g, unsigned node, std::string_view name) {
    g.mutable_value(g.output(NodeId(node))).name = g.model().names.intern(name);
  };
  // Outputs of the two branches, then one of a branch and one of the graph.
  CHECK(broken([&](ir::Model&, ir::Graph& g) { rename(g, 3, "r"); }) == "");
  CHECK(broken([&](ir::Model&, ir::Graph& g) { rename(g, 3, "a"); }) == "");
  CHECK(broken([&](ir::Model&, ir::Graph& g) { rename(g, 1, "a"); }) ==
        "two values have one name");
  CHECK(broken([](ir::Model&, ir::Graph& g) {
          g.mutable_value(g.output(NodeId(0u))).name = {};
          g.mutable_value(g.output(NodeId(1u))).name = {};
        }) == "");
}

}  // namespace
}  // namespace ruleengine::verify
