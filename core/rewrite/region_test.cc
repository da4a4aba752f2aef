#include "core/rewrite/region.h"

#include <doctest/doctest.h>

#include "core/rewrite/cut.h"
#include "tests/support/rewrite_session.h"

namespace ruleengine::rewrite {
namespace {

using ir::ValueId;
using testing::make;
using testing::Session;
using testing::World;

// A chain x -> e0 -> ... of Exp, and Neg of its end.
struct Chain {
  explicit Chain(int length) {
    const ir::Type* type = w.type({2, 80});
    ValueId v = w.input("x", {2, 80});
    for (int i = 0; i < length; ++i) {
      v = w.node("Exp", {v}, "e" + std::to_string(i));
    }
    end = v;
    w.output(w.node("Neg", {v}, "y"), type);
  }

  // The cut of an edit that replaces y by Abs(end).
  Cut cut_with(const CutOptions& options) {
    Session s(w);
    Cut out;
    s.judge = [&](const Region& region) {
      out = cut(region, options);
      return "enough was seen";
    };
    const auto rejection =
        s.put("y", [&](Edit& e) { return make(e, "Abs", {end}); });
    REQUIRE(rejection);
    CHECK(rejection->reason == "enough was seen");
    return out;
  }

  World w;
  ValueId end;
};

TEST_CASE("an edit that is judged wrong is undone") {
  Chain chain(1);
  const std::string before = chain.w.text();
  chain.cut_with({});
  CHECK(chain.w.text() == before);
}

TEST_CASE(
    "a cut has the nodes of the edit, and as many more as are asked for") {
  Chain chain(5);
  const Cut near = chain.cut_with({});
  CHECK(near.before.size() == 1);
  CHECK(near.after.size() == 1);
  CHECK(near.inputs == std::vector<ValueId>{chain.end});
  CHECK(!near.is_whole);
  CHECK(!near.is_same);
  const Cut further = chain.cut_with({.steps = 3});
  CHECK(further.before.size() == 4);
  CHECK(further.after.size() == 4);
  CHECK(!further.is_whole);
  const Cut all = chain.cut_with({.steps = CutOptions::kAll});
  CHECK(all.before.size() == 6);
  CHECK(all.is_whole);
  CHECK(all.inputs == std::vector<ValueId>{chain.w.find("x")});
}

TEST_CASE("equal keys: the same ops on the same types, wherever they stand") {
  Chain one(1), other(4);
  CHECK(one.cut_with({}).key == other.cut_with({}).key);
  CHECK(one.cut_with({.steps = 1}).key == other.cut_with({.steps = 1}).key);
  CHECK(one.cut_with({.steps = 2}).key != other.cut_with({.steps = 2}).key);
}

TEST_CASE("a value that is computed twice is the same on both sides") {
  World w;
  const ir::Type* type = w.type({2, 80});
  const ValueId x = w.input("x", {2, 80});
  const ValueId a = w.node("Exp", {x}, "a"), b = w.node("Exp", {x}, "b");
  w.output(w.node("Neg", {a}, "y"), type);
  w.output(w.node("Abs", {b}, "z"), type);
  Session s(w);
  bool is_same = false, is_same_near = true;
  s.judge = [&](const Region& region) -> std::optional<std::string> {
    REQUIRE(region.results.size() == 1);
    CHECK(region.results[0].before == b);
    CHECK(region.results[0].after == a);
    is_same_near = cut(region, {}).is_same;
    is_same = cut(region, {.steps = 1}).is_same;
    return std::nullopt;
  };
  CHECK(!s.put("b", [&](Edit&) { return a; }));
  CHECK(!is_same_near);
  CHECK(is_same);
}

TEST_CASE("a side is a model of its own") {
  Chain chain(2);
  Session s(chain.w);
  s.judge = [&](const Region& region) -> std::optional<std::string> {
    const Cut all = cut(region, {.steps = CutOptions::kAll});
    for (const auto side : {Region::Side::kBefore, Region::Side::kAfter}) {
      const auto made = model_of(region, all, side);
      REQUIRE(made);
      const ir::Graph& graph = (*made)->graph;
      const ir::Block& main = graph.block(ir::Graph::main_block());
      CHECK(main.inputs.size() == 1);
      REQUIRE(main.outputs.size() == 1);
      CHECK(graph.name(main.outputs[0]) == "y");
      CHECK(graph.live_node_count() == 4);  // and an Identity for the output
      const bool is_new = side == Region::Side::kAfter;
      CHECK(graph.op(ir::NodeId(2u)).type == (is_new ? "Abs" : "Neg"));
      CHECK(verify::check_graph(graph).ok());
    }
    return std::nullopt;
  };
  CHECK(!s.put("y", [&](Edit& e) { return make(e, "Abs", {chain.end}); }));
}

TEST_CASE("what nodes read and bodies give, before and after") {
  World w;
  const ValueId x = w.input("x");
  const ValueId a = w.node("Relu", {x}, "a"), y = w.node("Neg", {a}, "y");
  w.output(y);
  w.output(w.node("Abs", {a}, "z"));
  const ir::NodeId relu = w.maker("a"), neg = w.maker("y"), abs = w.maker("z");
  Session s(w);
  s.judge = [&](const Region& region) -> std::optional<std::string> {
    using Side = Region::Side;
    REQUIRE(region.results.size() == 1);
    const ValueId now = region.results[0].after;
    CHECK(region.results[0].before == a);
    for (const ir::NodeId reader : {neg, abs}) {
      CHECK(region.input(reader, 0, Side::kBefore) == a);
      CHECK(region.input(reader, 0, Side::kAfter) == now);
    }
    CHECK(region.has(relu, Side::kBefore));
    CHECK(!region.has(relu, Side::kAfter));
    CHECK(!region.has(w.graph().producer(now), Side::kBefore));
    return std::nullopt;
  };
  CHECK(!s.put("a", [&](Edit& e) { return make(e, "Exp", {x}); }));
  s.judge = [&](const Region& region) -> std::optional<std::string> {
    using Side = Region::Side;
    const ir::BlockId main = ir::Graph::main_block();
    CHECK(region.outputs(main, Side::kBefore)[0] == y);
    CHECK(region.outputs(main, Side::kAfter)[0] == region.results[0].after);
    return std::nullopt;
  };
  CHECK(!s.put("y", [&](Edit& e) { return make(e, "Sin", {w.find("a")}); }));
}

// Layers with other weights are cut alike, also where these are put together.
TEST_CASE("large weights are inputs of a cut, and so are parts of new ones") {
  World w;
  const ir::Type* type = w.type({5, 20});
  const ValueId x = w.input("x", {5, 20});
  ValueId y = x;
  std::vector<std::string> keys;
  for (int layer = 0; layer < 2; ++layer) {
    const std::string at = std::to_string(layer);
    const std::vector<float> numbers(400, 1.5F + static_cast<float>(layer));
    const ValueId weight = w.constant("w" + at, numbers, {20, 20});
    const ValueId turned = w.node("Transpose", {weight}, "t" + at);
    y = w.node("MatMul", {y, turned}, "y" + at);
  }
  w.output(w.node("Neg", {y}, "out"), type);
  Session s(w);
  s.judge = [&](const Region& region) -> std::optional<std::string> {
    const Cut general = cut(region, {});
    CHECK(general.is_general);
    CHECK(general.inputs.size() == 2);
    CHECK(general.weight_bytes == 0);
    keys.push_back(general.key);
    const Cut exact = cut(region, {.generalizes = false});
    CHECK(!exact.is_general);
    CHECK(exact.inputs.size() == 1);
    CHECK(exact.weight_bytes == 2 * 20 * 20 * 4);
    const auto made = model_of(region, general, Region::Side::kAfter);
    REQUIRE(made);
    std::string ops;
    const ir::Graph& graph = (*made)->graph;
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      ops += graph.op(ir::NodeId(i)).type;
      ops += " ";
    }
    CHECK(ops == "Transpose Reshape MatMul Identity ");
    return std::nullopt;
  };
  for (const std::string layer : {"0", "1"}) {
    const ValueId input = layer == "0" ? x : w.find("y0");
    CHECK(!s.put("y" + layer, [&](Edit& e) {
      return make(e, "MatMul", {input, e.transposed(w.find("w" + layer))});
    }));
  }
  REQUIRE(keys.size() == 2);
  CHECK(keys[0] == keys[1]);
}

}  // namespace
}  // namespace ruleengine::rewrite
