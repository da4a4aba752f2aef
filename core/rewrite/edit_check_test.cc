#include "core/rewrite/edit.h"

#include <doctest/doctest.h>

#include "tests/support/rewrite_session.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;
using testing::make;
using testing::Session;
using testing::World;

TEST_CASE("a result of another shape or type is rejected without a trace") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  const std::string before = testing::dump(w.graph());
  auto rejection = s.put("a", [&](Edit& e) {
    return make(e, "Transpose", {x}, {w.ints("perm", {1, 0})});
  });
  REQUIRE(rejection);
  CHECK(rejection->reason == "wrong shape of the result");
  CHECK(rejection->value == "'a' expected float[2,3], found float[3,2]");
  CHECK(testing::dump(w.graph()) == before);
  rejection = s.put("a", [&](Edit& e) {
    return make(e, "Cast", {x}, {World::integer("to", 10)});
  });
  REQUIRE(rejection);
  CHECK(rejection->reason == "wrong type of the result");
  CHECK(testing::dump(w.graph()) == before);
  CHECK(!w.model.changed);
  CHECK(w.model.ir_version == 8);
}

TEST_CASE("a size that a caller chooses equals no number") {
  World w;
  const ValueId x = w.input("x");
  const auto dims = w.model.arena.array<ir::Dim>(2);
  dims[0] = w.model.dims.symbol("N");
  dims[1] = ir::Dim(16);
  w.graph().mutable_value(x).declared = w.model.arena.make<ir::Type>(
      ir::Type{.elem = ir::DataType::kFloat, .has_shape = true, .dims = dims});
  w.output(w.node("Relu", {x}, "a"));
  Session s(w);
  const auto rejection = s.put("a", [&](Edit& e) {
    return make(e, "Transpose", {x}, {w.ints("perm", {1, 0})});
  });
  REQUIRE(rejection);
  CHECK(rejection->reason == "the result may have the wrong shape");
  CHECK(rejection->value == "'a' expected float[N,16], found float[16,N]");
}

TEST_CASE("a result of another kind of type is rejected") {
  World w;
  const std::byte sequence[] = {std::byte{0x22}, std::byte{0}};
  const std::byte optional[] = {std::byte{0x4a}, std::byte{0}};
  const auto other = [&](std::string_view name, std::span<const std::byte> of) {
    const ValueId v = w.input(name);
    w.graph().mutable_value(v).declared = w.model.arena.make<ir::Type>(
        ir::Type{.kind = ir::TypeKind::kOther, .other = of});
    return v;
  };
  const ValueId list = other("list", sequence),
                maybe = other("maybe", optional);
  const ValueId x = w.input("x");
  w.output(w.node("Relu", {x}, "a"));
  w.output(w.node("Identity", {list}, "b"));
  Session s(w);
  const auto put = [&](std::string_view old, ValueId by) {
    const auto rejection =
        s.put(old, [&](Edit& e) { return make(e, "Identity", {by}); });
    return rejection ? rejection->reason : "";
  };
  CHECK(put("a", list) == "wrong type of the result");
  CHECK(put("b", x) == "wrong type of the result");
  CHECK(put("b", maybe) == "wrong type of the result");
  CHECK(put("b", list) == "");
}

TEST_CASE("a collective stays in the block where all ranks run it") {
  World w;
  w.model.import_opset("tensor_cast", 1);
  const ValueId x = w.input("x");
  const ValueId y = w.node("Relu", {x}, "y");
  w.output(y);
  const NodeId owner = w.graph().producer(y);
  const ir::Attribute group = w.ints("rank_group", {0, 1});
  w.block = w.graph().add_block(owner, ir::Graph::main_block(), "body");
  const ValueId sum = w.node("tensor_cast::all_reduce", {x}, "sum",
                             {World::integer("rank", 0), group});
  w.graph().add_block_output(w.block, sum);
  Session s(w);
  // Replaces `old` by an op whose rule matched the collective of the body.
  const auto put = [&](std::string_view op, ir::BlockId block, ValueId old) {
    Edit e = s.edit(w.maker("sum"));
    e.set_block(block);
    const auto built =
        e.build({.domain = op == "Relu" ? "" : "tensor_cast",
                 .type = op,
                 .inputs = {x},
                 .attributes = {World::integer("rank", 0), group}});
    REQUIRE((built.ok() || op == "Relu"));
    e.replace(old, op == "Relu" ? make(e, op, {x})
                                : std::get<std::vector<ValueId>>(*built)[0]);
    return e.commit();
  };
  const auto rejection = put("all_reduce", ir::Graph::main_block(), y);
  REQUIRE(rejection);
  CHECK(rejection->reason == "a collective would move to another block");
  CHECK(rejection->value.find("sum") != std::string::npos);
  CHECK(!put("Relu", ir::Graph::main_block(), y));
  CHECK(!put("all_reduce", w.block, sum));
}

TEST_CASE("a cycle is rejected") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  const ValueId b = w.node("Neg", {a}, "b");
  w.output(w.node("Abs", {b}, "y"));
  Session s(w);
  const std::string before = testing::dump(w.graph());
  const NodeId root = w.maker("a");
  Edit e = s.edit(root);
  e.replace(a, make(e, "Tanh", {b}));
  const auto rejection = e.commit();
  REQUIRE(rejection);
  CHECK(rejection->reason == "the result would depend on itself");
  CHECK(testing::dump(w.graph()) == before);
}

TEST_CASE("an edge against the order is not a cycle") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  const ValueId b = w.node("Neg", {a}, "b");
  const ValueId c = w.node("Abs", {x}, "c");
  w.output(w.node("Add", {b, c}, "y"));
  Session s(w);
  CHECK(!s.put("a", [&](Edit& e) { return make(e, "Tanh", {c}); }));
  CHECK(w.text() == "c = Abs(x); a = Tanh(c); b = Neg(a); y = Add(b, c)");
  // The order was repaired: the paths back through c are found.
  {
    Edit e = s.edit();
    e.replace_input(w.maker("c"), 0, b);
    CHECK(e.commit());
  }
  const NodeId root = w.maker("c");
  Edit e = s.edit(root);
  e.replace(c, make(e, "Tanh", {w.find("b")}));
  CHECK(e.commit());
}

TEST_CASE("errors in built nodes are those of the rule") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Relu", {x}, "y"));
  Session s(w);
  Edit e = s.edit(w.maker("y"));
  auto built = e.build({.type = "Rellu", .inputs = {x}});
  REQUIRE(!built.ok());
  CHECK(built.error().kind == ErrorKind::kRule);
  CHECK(built.error().hint.find("Relu") != std::string::npos);
  built = e.build({.type = "Relu", .inputs = {x, x}});
  CHECK(built.error().what == "Relu is given too many inputs");
  built = e.build({.type = "Add", .inputs = {x}});
  CHECK(built.error().what == "Add lacks its input 2 'B'");
  built = e.build({.type = "Add", .inputs = {ValueId(), x}});
  CHECK(built.error().what == "Add lacks its input 1 'A'");
  built = e.build({.type = "Sum", .inputs = {ValueId(), x}});
  REQUIRE(!built.ok());
  CHECK(built.error().what == "Sum lacks its input 1 'data_0'");
  built = e.build({.type = "Softmax",
                   .inputs = {x},
                   .attributes = {World::integer("axes", 1)}});
  CHECK(built.error().what == "Softmax has no attribute 'axes'");
  CHECK(built.error().hint == "did you mean 'axis'?");
  built = e.build({.type = "Concat", .inputs = {x}});
  CHECK(built.error().what == "Concat lacks its attribute 'axis'");
  built = e.build(
      {.type = "Softmax", .inputs = {x}, .attributes = {w.ints("axis", {1})}});
  CHECK(built.error().expected == "an integer");
  CHECK(e.build({.domain = "my.own", .type = "Any", .inputs = {x}}).ok());
}

TEST_CASE(
    "of a variable number of inputs those past the minimum may be absent") {
  World w;
  const ValueId x = w.input("x");
  const ValueId count = w.input("count", {}, ir::DataType::kInt64);
  const ValueId go_on = w.input("go_on", {}, ir::DataType::kBool);
  const ir::Attribute body{.name = "body", .kind = ir::AttributeKind::kGraph};
  const auto loop = ops::checked(w.model, {.type = "Loop",
                                      .inputs = {count, go_on, ValueId(), x},
                                      .attributes = {body}});
  REQUIRE(loop.ok());
  CHECK(loop->inputs.size() == 4);
}

TEST_CASE("names have no control characters, calls match their functions") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Relu", {x}, "y"));
  auto f = std::make_unique<ir::Function>(w.model);
  f->domain = "my";
  f->name = "F";
  f->inputs = {"in"};
  f->outputs = {"out"};
  w.model.functions.push_back(std::move(f));
  Session s(w);
  Edit e = s.edit(w.maker("y"));
  const std::string_view odd("my\0own", 6);
  const auto what = [&](const NodeSpec& spec) {
    const auto built = e.build(spec);
    REQUIRE(!built.ok());
    CHECK(built.error().kind == ErrorKind::kRule);
    return built.error().what;
  };
  CHECK(what({.domain = odd, .type = "Any", .inputs = {x}}) ==
        "a domain contains a control character");
  CHECK(what({.domain = "my", .type = odd, .inputs = {x}}) ==
        "the type of a new node contains a control character");
  CHECK(what({.domain = "my", .type = "Any\x7f", .inputs = {x}}) ==
        "the type of a new node contains a control character");
  const std::string_view umlaut =
      "\xc4\x80ny";  // U+0100, not a control character
  CHECK(e.build({.domain = "my", .type = umlaut, .inputs = {x}}).ok());
  CHECK(what({.domain = "my",
              .type = "Any",
              .inputs = {x},
              .attributes = {World::integer(odd, 1)}}) ==
        "the name of an attribute contains a control character");
  CHECK(what({.domain = "my", .type = "", .inputs = {x}}) ==
        "the type of a new node is empty");
  CHECK(what({.domain = "my", .type = "F", .inputs = {x, x}}) ==
        "my::F is given too many inputs");
}

TEST_CASE("nodes that no runtime accepts are rejected") {
  World w;
  const ValueId x = w.input("x");
  const ValueId other = w.input("other", {4, 5});
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  const std::string before = testing::dump(w.graph());
  const auto rejection = s.put("a", [&](Edit& e) {
    return make(e, "Softmax", {make(e, "Add", {x, other})},
                {World::integer("axis", 1)});
  });
  REQUIRE(rejection);
  CHECK(rejection->reason ==
        "a new Add is not valid: the shapes do not broadcast");
  CHECK(rejection->value == "'x' float[2,3], 'other' float[4,5]");
  CHECK(testing::dump(w.graph()) == before);
}

TEST_CASE("a rejection describes an absent input") {
  World w;
  const ValueId x = w.input("x");
  const ValueId most = w.input("most", {1}, ir::DataType::kInt64);
  const ValueId a = w.node("Relu", {x}, "a");
  w.output(w.node("Neg", {a}, "y"));
  Session s(w);
  const auto rejection = s.put("a", [&](Edit& e) {
    return make(e, "Clip", {x, ValueId(), most});
  });
  REQUIRE(rejection);
  CHECK(rejection->reason ==
        "a new Clip is not valid: input 3 is int64 beside one that is float");
  CHECK(rejection->value == "'x' float[2,3], an absent value, 'most' int64[1]");
}

}  // namespace
}  // namespace ruleengine::rewrite
