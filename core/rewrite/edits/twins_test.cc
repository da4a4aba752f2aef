// Twins: nodes that are found to compute the same.
#include <doctest/doctest.h>

#include <span>
#include <vector>

#include "tests/support/rewrite_session.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::Session;
using testing::World;

// "b=a d=c": each twin with the first node.
std::string twins(World& w) {
  Session s(w);
  const Edit edit = s.edit();
  const auto found = edit.twins();
  REQUIRE(found.ok());
  std::string text;
  for (const Twin& each : *found) {
    text += text.empty() ? "" : " ";
    text += std::string(w.graph().name(w.graph().output(each.second))) + "=" +
            std::string(w.graph().name(w.graph().output(each.first)));
  }
  return text;
}

TEST_CASE("twins, and their readers") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a");
  const ValueId b = w.node("Relu", {x}, "b");
  const ValueId c = w.node("Neg", {a}, "c");
  const ValueId d = w.node("Neg", {b}, "d");
  w.output(w.node("Add", {c, d}, "y"));
  CHECK(twins(w) == "b=a d=c");
}

TEST_CASE("three of a kind are twins of the first") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Sum",
                  {w.node("Relu", {x}, "a"), w.node("Relu", {x}, "b"),
                   w.node("Relu", {x}, "c")},
                  "y"));
  CHECK(twins(w) == "b=a c=a");
}

TEST_CASE("small constants with equal bits are equal") {
  World w;
  const ValueId x = w.input("x");
  const auto added = [&](std::string_view name, float number) {
    const std::string constant = std::string(name) + "_c";
    return w.node("Add", {x, w.constant(constant, {number}, {1})}, name);
  };
  w.output(w.node("Sum", {added("a", 2), added("b", 2), added("c", 3)}, "y"));
  CHECK(twins(w) == "b=a");
}

TEST_CASE("another order, another attribute, another op") {
  World w;
  const ValueId x = w.input("x"), z = w.input("z");
  w.output(w.node("Sum",
                  {w.node("Sub", {x, z}, "a"), w.node("Sub", {z, x}, "b"),
                   w.node("Softmax", {x}, "c", {World::integer("axis", 0)}),
                   w.node("Softmax", {x}, "d", {World::integer("axis", -1)}),
                   w.node("Softmax", {x}, "e"), w.node("Exp", {x}, "f")},
                  "y"));
  CHECK(twins(w) == "e=d");  // -1 is the default
}

TEST_CASE("random ops, unknown ops and markers have no twins") {
  World w;
  const ValueId x = w.input("x");
  for (const std::string_view op :
       {"RandomNormalLike", "example::Op",
        "tensor_cast::_internal_mark_region_begin"}) {
    const std::string name(op);
    w.output(w.node(op, {x}, w.model.arena.copy(std::string_view(name + "1"))));
    w.output(w.node(op, {x}, w.model.arena.copy(std::string_view(name + "2"))));
  }
  CHECK(twins(w).empty());
}

TEST_CASE("a Dropout that does not train is not random") {
  World w;
  const ValueId x = w.input("x");
  const ValueId half = w.constant("half", {0.5f}, {});
  const auto flag = [&](std::string_view name, ir::Literal tensor) {
    tensor.dtype = ir::DataType::kBool;
    const ValueId v = w.value(name, ir::ValueKind::kUndefined);
    w.graph().add_initializer(v, w.model.arena.make<ir::Literal>(tensor));
    return v;
  };
  static constexpr std::byte kBytes[] = {std::byte{0}, std::byte{1}};
  static constexpr std::int64_t kNone[] = {0};
  const std::span bytes(kBytes);
  const ValueId no = flag("no", {.bytes = bytes.first(1)}),
                yes = flag("yes", {.bytes = bytes.last(1)}),
                nothing = flag("nothing", {.dims = kNone});
  std::vector<ValueId> all;
  const auto two = [&](std::vector<ValueId> inputs, std::string_view a,
                       std::string_view b) {
    for (const std::string_view name : {a, b}) {
      all.push_back(w.node("Dropout", inputs, name));
    }
  };
  two({x, half, yes}, "a", "b");
  two({x, half}, "c", "d");
  two({x, half, no}, "e", "f");
  two({x, half, nothing}, "g", "h");  // no runtime accepts that
  w.output(w.node("Sum", all, "y"));
  CHECK(twins(w) == "d=c f=e");
}

TEST_CASE("two outputs of the model need one node each") {
  World w;
  const ValueId x = w.input("x");
  w.output(w.node("Relu", {x}, "y"));
  w.output(w.node("Relu", {x}, "z"));
  w.output(w.node("Neg", {x}, "a"));
  w.output(w.node("Exp", {w.node("Neg", {x}, "b")}, "c"));
  CHECK(twins(w) == "b=a");
}

TEST_CASE("an output that only the second has") {
  World w;
  const ValueId x = w.input("x");
  const auto first = w.nodes("MaxPool", {x}, {"a"});
  const auto second = w.nodes("MaxPool", {x}, {"b", "i"});
  w.output(w.node("Add", {first[0], second[0]}, "y"));
  w.output(second[1]);
  CHECK(twins(w).empty());
}

}  // namespace
}  // namespace ruleengine::rewrite
