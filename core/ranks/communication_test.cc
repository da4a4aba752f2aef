#include "core/ranks/communication.h"

#include <doctest/doctest.h>

#include <memory>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {

using namespace ranks;
namespace {

using ir::NodeId;
using ir::ValueId;

struct CommunicationFixture : Builder {
  NodeId collective(std::string_view op, ValueId x,
                    std::vector<ir::Attribute> attributes) {
    attributes.push_back(i("rank", 0));
    return node("tensor_cast::" + std::string(op), {x}, attributes);
  }
  NodeId reduce(ValueId x, std::vector<std::int64_t> ranks = {0, 1, 2, 3}) {
    return collective("all_reduce", x, {is("rank_group", std::move(ranks))});
  }
  // A block of a node of this type, whose nodes come next.
  ir::BlockId body(std::string_view type) {
    return g.add_block(node(type, {}), ir::Graph::main_block(), "body");
  }
  void move(NodeId node, ir::BlockId block) {
    g.mutable_node(node).block = block;
  }
  Traffic sent() {
    Inference facts(g);
    return traffic(g, facts);
  }
};

TEST_CASE_FIXTURE(CommunicationFixture, "collectives are ops of the dialect") {
  const ValueId x = input({"2"});
  for (const char* op : {"all_reduce", "reduce_scatter", "all_gather"}) {
    CHECK(is_collective(g.op(collective(op, x, {}))));
    CHECK_FALSE(is_collective(g.op(node(op, {x}))));
  }
  CHECK_FALSE(is_collective(g.op(node("tensor_cast::rms_norm", {x}))));
  const std::span<const std::int64_t> group = rank_group(g, reduce(x, {3, 5}));
  CHECK(std::vector(group.begin(), group.end()) ==
        std::vector<std::int64_t>{3, 5});
  CHECK(rank_group(g, node("Relu", {x})).empty());
  CHECK(unknown_attribute(g, collective("all_gather", x,
                                        {i("dim", 0), is("rank_group", {})})) ==
        "");
  CHECK(unknown_attribute(g, collective("all_reduce", x, {i("op", 2)})) ==
        "op");
}

TEST_CASE_FIXTURE(CommunicationFixture, "what one rank of a ring sends") {
  const ValueId x = input({"8", "3"});  // 96 bytes
  const ValueId halves = input({"5"}, ir::DataType::kFloat16);
  const auto ranks = [&] { return is("rank_group", {0, 1, 2, 3}); };
  reduce(x);
  reduce(halves);
  collective("reduce_scatter", x, {i("dim", 0), ranks()});
  collective("all_gather", x, {i("dim", 0), ranks()});
  g.mutable_node(reduce(x)).removed = true;
  const Traffic found = sent();
  REQUIRE(found.size() == 3);
  CHECK(found.at("all_reduce").nodes == 2);
  CHECK(found.at("all_reduce").unknown == 0);
  CHECK(found.at("all_reduce").bytes == 2 * 0.75 * (96 + 10));
  CHECK(found.at("reduce_scatter").bytes == 0.75 * 96);
  CHECK(found.at("all_gather").bytes == 3 * 96);
}

TEST_CASE_FIXTURE(CommunicationFixture, "how much is sent may be unknown") {
  reduce(input({"B", "3"}));
  Sent all = sent()["all_reduce"];
  CHECK(all.nodes == 1);
  CHECK(all.unknown == 1);
  CHECK(all.bytes == 0);
  const ValueId x = input({"4"});
  reduce(x, {});  // the ranks are unknown
  reduce(value(ir::ValueKind::kInput));
  reduce(input({"4"}, ir::DataType::kString));
  const ValueId unranked = input({});
  g.mutable_value(unranked).declared =
      model.arena.make<ir::Type>(ir::Type{.elem = ir::DataType::kFloat});
  reduce(unranked);
  const ValueId list = input({});
  g.mutable_value(list).declared =
      model.arena.make<ir::Type>(ir::Type{.kind = ir::TypeKind::kOther});
  reduce(list);
  all = sent()["all_reduce"];
  CHECK(all.nodes == 6);
  CHECK(all.unknown == 6);
  CHECK(all.bytes == 0);
  reduce(x);
  all = sent()["all_reduce"];
  CHECK(all.unknown == 6);
  CHECK(all.bytes == 2 * 0.75 * 16);
}

TEST_CASE_FIXTURE(CommunicationFixture,
                  "the number of iterations of a loop is unknown") {
  const ValueId x = input({"4"});
  const ir::BlockId branch = body("If");
  move(reduce(x), branch);
  CHECK(sent()["all_reduce"].unknown == 0);
  CHECK(sent()["all_reduce"].bytes == 24);
  for (const char* type : {"Loop", "Scan"}) {
    const ir::BlockId outer = body(type);
    // A branch inside of the loop is in the loop too.
    const NodeId inner = node("If", {});
    move(inner, outer);
    move(reduce(x), g.add_block(inner, outer, "branch"));
  }
  CHECK(sent()["all_reduce"].nodes == 3);
  CHECK(sent()["all_reduce"].unknown == 2);
  CHECK(sent()["all_reduce"].bytes == 24);
}

// Each function calls the next one twice: 2^60 calls.
TEST_CASE_FIXTURE(CommunicationFixture,
                  "calls of functions count theirs, up to a limit") {
  const ValueId x = input({"4"});
  model.import_opset("my", 1);
  const auto define = [&](std::string name, ir::OpId op, int times) {
    auto f = std::make_unique<ir::Function>(model);
    f->domain = "my";
    f->name = model.arena.copy(std::string_view(name));
    for (int n = 0; n < times; ++n) {
      const ValueId out = f->body.add_value(
          model.names.intern("o" + std::to_string(n)), ir::Graph::main_block(),
          ir::ValueKind::kNodeOutput);
      f->body.add_node(op, ir::Graph::main_block(), "", {}, std::vector{out},
                       {});
    }
    model.functions.push_back(std::move(f));
    return model.ops.intern("my", model.functions.back()->name);
  };
  ir::OpId op = define("f0", model.ops.intern("tensor_cast", "all_reduce"), 1);
  op = define("f1", op, 3);
  node("my::f1", {x});
  CHECK(sent()["all_reduce"].nodes == 3);
  CHECK(sent()["all_reduce"].unknown == 3);
  CHECK(sent()["all_reduce"].bytes == 0);
  reduce(x);
  CHECK(sent()["all_reduce"].nodes == 4);
  CHECK(sent()["all_reduce"].unknown == 3);
  for (int n = 2; n < 60; ++n) op = define("f" + std::to_string(n), op, 2);
  node("my::f59", {x});
  CHECK(sent()["all_reduce"].nodes == 1'000'000'000'000);
}

}  // namespace
}  // namespace ruleengine::analysis
