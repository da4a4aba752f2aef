#include "core/rewrite/edit.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/support/rewrite_session.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using testing::make;
using testing::Session;
using testing::World;

std::string metadata(const World& w, NodeId node) {
  std::string out;
  for (const ir::Metadata& m : w.model.graph.node(node).metadata) {
    out += std::string(m.key) + "=" + std::string(m.value) + ";";
  }
  return out;
}

TEST_CASE("a new node takes the name of the value it replaces") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  CHECK(!s.put("a", [&](Edit& e) { return make(e, "Tanh", {x}); }));
  CHECK(w.text() == "a = Tanh(x); y = Neg(a)");
  CHECK(w.graph().node(w.maker("a")).name == "Tanh");
  CHECK(metadata(w, w.maker("a")) ==
        "ruleengine.rule=test/rule;ruleengine.from=n_a;");
  CHECK(w.model.ir_version == 10);
  CHECK(w.model.changed);
  CHECK(w.graph().block(ir::Graph::main_block()).changed);
}

TEST_CASE("an output keeps its name and declared type") {
  World w;
  const ValueId x = w.input("x");
  const ir::Type* declared = w.type({2, 3});
  w.output(w.node("Relu", {x}, "y"), declared);
  Session s(w);
  CHECK(!s.put(
      "y", [&](Edit& e) { return make(e, "Neg", {make(e, "Tanh", {x})}); }));
  CHECK(w.text() == "Tanh_output = Tanh(x); y = Neg(Tanh_output)");
  CHECK(w.graph().value(w.find("y")).declared == declared);
}

TEST_CASE("names are unique against nodes and values") {
  World w;
  const ValueId x = w.input("Tanh");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "Tanh_1"));
  Session s(w);
  CHECK(!s.put(
      "a", [&](Edit& e) { return make(e, "Abs", {make(e, "Tanh", {x})}); }));
  CHECK(w.graph().node(NodeId(2u)).name == "Tanh_2");
  CHECK(w.text() ==
        "Tanh_2_output = Tanh(Tanh); a = Abs(Tanh_2_output); "
        "Tanh_1 = Neg(a)");
}

TEST_CASE("an existing value takes an output's name when it is free") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Identity", {a}, "y"));
  const std::byte proto[1] = {};
  w.graph().mutable_node(w.maker("a")).proto = proto;
  Session s(w);
  CHECK(!s.put("y", [&](Edit&) { return a; }));
  CHECK(w.text() == "y = Relu(x)");
  // The file's encoding of the Relu contains the old name.
  CHECK(w.graph().node(w.maker("y")).proto.empty());
}

TEST_CASE("an input that replaces an output needs an Identity") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Dropout", {x}, "y"));
  Session s(w);
  CHECK(!s.put("y", [&](Edit&) { return x; }));
  CHECK(w.text() == "y = Identity(x)");
  SUBCASE("which then stays") {
    CHECK(!s.put("y", [&](Edit&) { return x; }));
    CHECK(!s.changed);
    CHECK(w.text() == "y = Identity(x)");
  }
}

TEST_CASE("one value that replaces two outputs") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Relu", {x}, "a"));
  w.output(w.node("Relu", {x}, "b"));
  Session s(w);
  CHECK(!s.put("b", [&](Edit&) { return w.find("a"); }));
  CHECK(w.text() == "a = Relu(x); b = Identity(a)");
}

TEST_CASE("an existing node is reused") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  const ValueId b = w.node("Clip", {x}, "b");
  w.output(w.node("Add", {a, b}, "y"));
  Session s(w);
  CHECK(!s.put("b", [&](Edit& e) { return make(e, "Relu", {x}); }));
  CHECK(w.text() == "a = Relu(x); y = Add(a, a)");
  SUBCASE("and nothing is an edit that changes nothing") {
    const std::string before = testing::dump(w.graph());
    CHECK(!s.put("y", [&](Edit& e) { return make(e, "Add", {a, a}); }));
    CHECK(!s.changed);
    CHECK(testing::dump(w.graph()) == before);
  }
}

TEST_CASE("a reused node may read another constant with equal bits") {
  World w;
  const ValueId x = w.input("x");
  const ValueId one = w.constant("one", {1.0f}, {});
  const ValueId uno = w.constant("uno", {1.0f}, {});
  const ValueId a = w.node("Add", {x, one}, "a");
  const ValueId b = w.node("Mul", {x, uno}, "b");
  w.output(w.node("Sub", {a, b}, "y"));
  Session s(w);
  CHECK(!s.put("b", [&](Edit& e) { return make(e, "Add", {x, uno}); }));
  CHECK(w.text() == "a = Add(x, one); y = Sub(a, a)");
}

TEST_CASE("a reused node may read a constant in another form") {
  World w;
  const ValueId x = w.input("x");
  const ValueId shape =
      w.node("Constant", {}, "shape", {w.ints("value_ints", {2, 3})});
  const ValueId again =
      w.node("Constant", {}, "again", {w.ints("value_ints", {2, 3})});
  const ValueId a = w.node("Reshape", {x, shape}, "a");
  w.output(w.node("Sub", {a, w.node("Relu", {x}, "b")}, "y"));
  Session s(w);
  CHECK(!s.put("b", [&](Edit& e) { return make(e, "Reshape", {x, again}); }));
  CHECK(w.text().ends_with("y = Sub(a, a)"));
}

TEST_CASE("nodes that may differ from call to call are not reused") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  const ValueId yes = w.input("yes", {}, ir::DataType::kBool);
  const ValueId half = w.constant("half", {0.5f}, {});
  w.output(w.node("Dropout", {x, half, yes}, "trained"));
  w.output(w.node("com.example::Draw", {x}, "drawn"));
  w.output(w.node("RandomNormalLike", {x}, "normal"));
  w.output(w.node("tensor_cast::_internal_mark_region_begin", {x}, "mark"));
  w.output(w.node("Neg", {a}, "y"));
  w.model.import_opset("com.example", 1);
  w.model.import_opset("tensor_cast", 1);
  Session s(w);
  NodeSpec spec{.type = "Relu", .inputs = {x}};
  SUBCASE("Dropout that may train") {
    spec = {.type = "Dropout", .inputs = {x, half, yes}};
  }
  SUBCASE("an unknown op") {
    spec = {.domain = "com.example", .type = "Draw", .inputs = {x}};
  }
  SUBCASE("a random op") { spec.type = "RandomNormalLike"; }
  SUBCASE("a mark") {
    spec.domain = "tensor_cast";
    spec.type = "_internal_mark_region_begin";
  }
  const std::size_t before = w.graph().live_node_count();
  CHECK(!s.put("a", [&](Edit& e) {
    const auto built = e.build(spec);
    REQUIRE(built.ok());
    return std::get<0>(*built)[0];
  }));
  // A Relu outside of all of them exists already.
  const bool is_new = spec.type != "Relu";
  CHECK(s.changed == is_new);
  CHECK(w.graph().live_node_count() == before);
}

TEST_CASE(
    "dead nodes and unread initializers are removed, older dead code stays") {
  World w;
  const ValueId x = w.input("x");
  const ValueId k = w.constant("k", {1}, {1});
  w.constant("unused", {1}, {1});
  w.node("Abs", {x}, "dead");
  const ValueId a = w.node("Relu", {x}, "a");
  const ValueId b = w.node("Add", {a, k}, "b");
  w.output(w.node("Neg", {b}, "y"));
  Session s(w);
  CHECK(!s.put("b", [&](Edit& e) { return make(e, "Tanh", {x}); }));
  CHECK(w.text() == "dead = Abs(x); b = Tanh(x); y = Neg(b)");
  CHECK(!w.find("k"));
  CHECK(w.find("unused"));
}

TEST_CASE("constants fold, large ones lazily") {
  World w;
  const ValueId x = w.input("x", {2, 2});
  const ValueId p = w.constant("p", {1, 2, 3, 4}, {2, 2});
  const ValueId q = w.constant("q", {5, 6, 7, 8}, {2, 2});
  const ValueId a = w.node("MatMul", {x, p}, "a");
  const ValueId b = w.node("MatMul", {x, q}, "b");
  w.output(w.node("Concat", {a, b}, "y", {World::integer("axis", 1)}));
  Session s(w);
  CHECK(!s.put("y", [&](Edit& e) {
    return make(e, "MatMul",
                {x, make(e, "Concat", {p, q}, {World::integer("axis", 1)})});
  }));
  CHECK(w.text() == "y = MatMul(x, p_concat)");
  const ir::Literal* t = w.graph().direct_constant(w.find("p_concat"));
  REQUIRE(t != nullptr);
  const auto data = ir::to_doubles(*t, nullptr, 100);
  CHECK(data == std::vector<double>{1, 2, 5, 6, 3, 4, 7, 8});
  CHECK(!w.find("p"));
}

TEST_CASE("equal constants are one value, and transposes too") {
  World w;
  const ValueId x = w.input("x", {2, 2});
  const ValueId p = w.constant("p", {1, 2, 3, 4}, {2, 2});
  w.output(w.node("MatMul", {x, p}, "y"));
  Session s(w);
  Edit e = s.edit(w.maker("y"));
  const ValueId one = e.constant(w.tensor({1}, {}), "one");
  CHECK(e.constant(w.tensor({1}, {}), "uno") == one);
  CHECK(e.constant(w.tensor({1}, {1}), "uno") != one);
  const ValueId t = e.transposed(p);
  CHECK(t != p);
  CHECK(e.transposed(p) == t);
  CHECK(e.transposed(t) == p);
}

TEST_CASE("an unknown op inherits the type and imports its domain") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  CHECK(!s.put("a", [&](Edit& e) {
    auto built = e.build({.domain = "my.own", .type = "Op", .inputs = {x}});
    return std::get<0>(*built)[0];
  }));
  CHECK(w.model.opset("my.own") == 1);
  const ir::Type* type = s.facts.type(w.find("a"));
  REQUIRE(type != nullptr);
  CHECK(type->rank() == 2);
}

TEST_CASE("defaults are left out, ints stand for floats") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  CHECK(!s.put("a", [&](Edit& e) {
    const ValueId soft = make(e, "Softmax", {x}, {World::integer("axis", -1)});
    return make(e, "Elu", {soft}, {World::integer("alpha", 2)});
  }));
  const NodeId elu = w.maker("a");
  CHECK(w.graph().attribute(elu, "alpha")->f == 2.0f);
  const NodeId soft = w.graph().producer(w.graph().input(elu, 0));
  CHECK(w.graph().node(soft).attributes.empty());
}

TEST_CASE("a default that is a string is left out") {
  World w;
  const ValueId x = w.input("x", {1, 8, 2, 2});
  w.output(w.node("Relu", {x}, "y"));
  Session s(w);
  Edit e = s.edit(w.maker("y"));
  const auto attributes = [&](std::string_view mode) {
    const ValueId v =
        make(e, "DepthToSpace", {x},
             {World::integer("blocksize", 2),
              {.name = "mode", .kind = ir::AttributeKind::kString, .s = mode}});
    return w.graph().node(w.graph().producer(v)).attributes.size();
  };
  CHECK(attributes("DCR") == 1);
  CHECK(attributes("CRD") == 2);
}

TEST_CASE("new nodes keep reading the values that they were built from") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  CHECK(!s.put("a", [&](Edit& e) { return make(e, "Tanh", {a}); }));
  CHECK(w.text() ==
        "a = Relu(x); Tanh_output = Tanh(a); "
        "y = Neg(Tanh_output)");
}

// y = If(c) { t = Relu(x) } else { e = Neg(x) }
ValueId add_if(World& w, ValueId c, ValueId x) {
  const std::vector<ir::Attribute> attributes = {
      {.name = "then_branch", .kind = ir::AttributeKind::kGraph},
      {.name = "else_branch", .kind = ir::AttributeKind::kGraph}};
  const ValueId y = w.node("If", {c}, "y", attributes);
  const NodeId owner = w.graph().producer(y);
  std::vector<ir::Attribute> filled = attributes;
  for (ir::Attribute& a : filled) {
    const auto blocks = w.model.arena.array<ir::BlockId>(1);
    blocks[0] = w.graph().add_block(owner, ir::Graph::main_block(), "");
    a.blocks = blocks;
    w.block = blocks[0];
    const bool is_then = a.name == "then_branch";
    const ValueId inner =
        w.node(is_then ? "Relu" : "Neg", {x}, is_then ? "t" : "e");
    w.graph().add_block_output(blocks[0], inner);
    w.block = ir::Graph::main_block();
  }
  w.graph().mutable_node(owner).attributes =
      w.model.arena.copy(std::span<const ir::Attribute>(filled));
  return y;
}

TEST_CASE("bodies of nodes") {
  World w;
  const ValueId x = w.input("x");
  const ValueId c = w.input("c", {}, ir::DataType::kBool);
  const ValueId a = w.node("Abs", {x}, "a");
  const ValueId y = add_if(w, c, a);
  w.output(w.node("Sqrt", {y}, "z"));
  Session s(w);
  SUBCASE("are edited in place, and their owners are written again") {
    const NodeId owner = w.maker("y");
    const std::byte proto[1] = {};
    w.graph().mutable_node(owner).proto = proto;
    CHECK(!s.put("t", [&](Edit& e) { return make(e, "Tanh", {a}); }));
    CHECK(w.graph().op(w.maker("t")).type == "Tanh");
    CHECK(w.graph().value(w.find("t")).block == ir::BlockId(1u));
    CHECK(w.graph().node(owner).proto.empty());
    CHECK(w.graph().block(ir::BlockId(1u)).changed);
    CHECK(w.graph().block(ir::BlockId(0u)).changed);
    CHECK(!w.graph().block(ir::BlockId(2u)).changed);
  }
  SUBCASE("read a replaced value from outside") {
    CHECK(!s.put("a", [&](Edit& e) { return make(e, "Tanh", {x}); }));
    CHECK(w.graph().input(w.maker("t"), 0) == w.find("a"));
    CHECK(w.graph().op(w.maker("a")).type == "Tanh");
  }
  SUBCASE("hand out a value from outside through an Identity") {
    CHECK(!s.put("t", [&](Edit&) { return a; }));
    CHECK(w.graph().op(w.maker("t")).type == "Identity");
    CHECK(w.graph().value(w.find("t")).block == ir::BlockId(1u));
  }
  SUBCASE("are removed with their node, and with nodes that only they read") {
    const std::string before = testing::dump(w.graph());
    {
      Edit e = s.edit(w.maker("z"));
      e.replace(w.find("z"), make(e, "Tanh", {x}));
      e.remove_dead({});
      CHECK(w.graph().live_node_count() == 1);
    }
    CHECK(testing::dump(w.graph()) == before);
    CHECK(!s.put("z", [&](Edit& e) { return make(e, "Tanh", {x}); }));
    CHECK(w.text() == "z = Tanh(x)");
  }
  SUBCASE("hide their values from outside") {
    const ValueId t = w.find("t");
    const auto r = s.put("z", [&](Edit& e) {
      auto built = e.build({.type = "Tanh", .inputs = {t}});
      CHECK(std::get<1>(*built).reason ==
            "an input of the new Tanh is not visible in the block of the new "
            "node");
      return t;
    });
    REQUIRE(r);
    CHECK(r->reason ==
          "the new value is not visible to all readers of the old one");
  }
  SUBCASE("make their node depend on itself") {
    const NodeId root = w.maker("t");
    Edit e = s.edit(root);
    e.replace(w.find("t"), make(e, "Tanh", {y}));
    REQUIRE(e.commit());
  }
}

TEST_CASE("older opsets") {
  World w(11);
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  const auto tensor_of = [&](std::int64_t i) {
    const auto bytes = w.model.arena.array<std::byte>(8);
    std::memcpy(bytes.data(), &i, 8);
    return w.model.arena.make<ir::Literal>(
        ir::Literal{.dtype = ir::DataType::kInt64,
                    .dims = w.ints("", {1}).ints,
                    .bytes = bytes});
  };
  CHECK(!s.put("a", [&](Edit& e) {
    const ValueId axes = e.constant(tensor_of(1), "axes");
    const ValueId wide = make(e, "Unsqueeze", {x, axes});
    return make(e, "Squeeze", {wide, axes});
  }));
  // Axes are attributes there, and the constant is removed.
  const NodeId squeeze = w.maker("a");
  CHECK(w.graph().node(squeeze).operand_count == 1);
  REQUIRE(w.graph().attribute(squeeze, "axes") != nullptr);
  CHECK(w.graph().block(ir::Graph::main_block()).initializers.empty());
  const auto built = s.edit().build({.type = "Mish", .inputs = {x}});
  REQUIRE(built.ok());
  CHECK(std::get<1>(*built).reason == "Mish is not in the model's opset");
  CHECK(std::get<1>(*built).value ==
        "opset 11; it was added in 18; a model of opset 18 can express it");
  const auto cast = s.edit().build(
      {.type = "Cast",
       .inputs = {x},
       .attributes = {w.integer("to", 1), w.integer("saturate", 0)}});
  REQUIRE(cast.ok());
  CHECK(std::get<1>(*cast).reason == "opset 11 cannot express this Cast");
  CHECK(std::get<1>(*cast).value ==
        "attribute 'saturate'; a model of opset 19 can express it");
}

TEST_CASE("a hidden constant is listed and named when an edit reads it") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  const ValueId hidden = w.graph().add_value(Name(), ir::Graph::main_block(),
                                             ir::ValueKind::kInitializer);
  w.graph().mutable_value(hidden).tensor = w.tensor({2}, {1});
  {
    Edit e = s.edit(w.maker("a"));
    e.replace(a, make(e, "Add", {x, hidden}));
  }
  CHECK(!w.graph().value(hidden).removed);
  CHECK(!s.put("a", [&](Edit& e) { return make(e, "Add", {x, hidden}); }));
  CHECK(w.text() == "a = Add(x, constant); y = Neg(a)");
  CHECK(w.graph().block(ir::Graph::main_block()).initializers.size() == 1);
  // It may return after it was removed.
  CHECK(!s.put("a", [&](Edit& e) { return make(e, "Tanh", {x}); }));
  CHECK(w.graph().block(ir::Graph::main_block()).initializers.empty());
  CHECK(!s.put("a", [&](Edit& e) { return make(e, "Mul", {x, hidden}); }));
  CHECK(w.text() == "a = Mul(x, constant); y = Neg(a)");
  CHECK(w.graph().block(ir::Graph::main_block()).initializers.size() == 1);
}

TEST_CASE("a constant that was removed and returned is listed once") {
  World w;
  const ValueId x = w.input("x");
  const ValueId c = w.constant("c", {1, 2, 3}, {3});
  w.output(w.node("Add", {x, c}, "y"));
  Session s(w);
  const auto put = [&](const auto& build) {
    const NodeId root = w.maker("y");
    Edit e = s.edit(root);
    e.replace(w.find("y"), build(e));
    e.remove_dead({&root, 1});
    CHECK(!e.commit());
  };
  // Without compaction in between, as in a run.
  for (int i = 0; i < 3; ++i) {
    put([&](Edit& e) { return make(e, "Tanh", {x}); });
    put([&](Edit& e) { return make(e, "Mul", {x, c}); });
  }
  CHECK(w.text() == "y = Mul(x, c)");
  compact_initializers(w.graph());
  CHECK(w.graph().block(ir::Graph::main_block()).initializers ==
        std::vector<ValueId>{c});
  CHECK(verify::check_graph(w.graph()).ok());
}

TEST_CASE("any edit is undone exactly") {
  std::mt19937 random(7);
  const auto pick = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    World w;
    std::vector<ValueId> values = {w.input("x"), w.input("z"),
                                   w.constant("k", {1, 2, 3}, {3})};
    for (int i = 0; i < 12; ++i) {
      const ValueId a = values[pick(values.size())];
      const ValueId b = values[pick(values.size())];
      const std::string name = "v" + std::to_string(i);
      values.push_back(w.node("Add", {a, b}, name));
    }
    w.output(values.back());
    w.output(values[values.size() - 2]);
    Session s(w);
    const std::string before = testing::dump(w.graph());
    {
      Edit e = s.edit();
      e.set_rank(pick(12));
      for (int i = 0; i < 8; ++i) {
        const ValueId a = values[pick(values.size())];
        const ValueId b = values[pick(values.size())];
        const NodeId node(pick(12));
        const bool gone = w.graph().node(node).removed;
        switch (pick(5)) {
          case 0:
            values.push_back(make(e, "Mul", {a, b}));
            break;
          case 1:
            e.replace(a, b);
            break;
          case 2:
            if (!gone) e.replace_input(node, 0, a);
            break;
          case 3:
            values.push_back(e.constant(w.tensor({float(i)}, {1}), "c"));
            break;
          case 4:
            e.remove_dead({&node, 1});
            break;
        }
        std::erase_if(values,
                      [&](ValueId v) { return w.graph().value(v).removed; });
      }
      if (pick(2) == 0 && !e.commit() && e.changed()) {
        compact_initializers(w.graph());
        const auto status = verify::check_graph(w.graph());
        CHECK_MESSAGE(status.ok(), status.error().text());
        continue;
      }
    }
    CHECK(testing::dump(w.graph()) == before);
  }
}

}  // namespace
}  // namespace ruleengine::rewrite
