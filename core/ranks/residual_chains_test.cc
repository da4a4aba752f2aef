// Chains between collectives: their nodes, and reasons that break them.
#include "core/ranks/residual_chains.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {

using namespace ranks;
namespace {

using ir::ValueId;

struct ResidualChainsFixture : Builder {
  Inference facts{g};
  std::vector<std::int64_t> ranks = {0, 1};
  std::optional<std::int64_t> rank = 1;

  ValueId sum(ValueId x) {
    std::vector<ir::Attribute> attributes = {is("rank_group", ranks)};
    if (rank) attributes.push_back(i("rank", *rank));
    return add("tensor_cast::all_reduce", {x}, attributes);
  }
  ValueId partial() { return input({"1", "4", "8"}); }
  ValueId norm(ValueId x) { return add("tensor_cast::rms_norm", {x}); }
  void output(ValueId v) { g.add_block_output(ir::Graph::main_block(), v); }

  // For each chain the reason that breaks it, or "".
  std::vector<std::string> found(ChainOptions options = {}) {
    std::vector<std::string> out;
    for (const auto& chain : residual_chains(g, facts, options)) {
      out.push_back(chain.broken);
    }
    return out;
  }
  using Texts = std::vector<std::string>;
};

TEST_CASE_FIXTURE(ResidualChainsFixture, "two layers are one chain") {
  const ValueId r = sum(partial());
  const ValueId x = norm(r);
  const ValueId r2 = add("Add", {sum(add("Hardmax", {x})), r});
  output(norm(r2));
  const auto chains = residual_chains(g, facts);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].broken == "");
  CHECK(chains[0].nodes.size() == 5);
  CHECK(chains[0].shares.size() == 5);
  CHECK(chains[0].shares[0].axis == 1);
}

TEST_CASE_FIXTURE(ResidualChainsFixture, "what breaks a chain") {
  const ValueId r = sum(partial());
  SUBCASE("another reader") {
    output(norm(r));
    output(add("Softmax", {r}));
    REQUIRE(found().size() == 1);
    CHECK(found()[0].ends_with(" reads the residual too"));
  }
  SUBCASE("a function of the residual that no norm follows") {
    output(norm(r));
    output(add("Tanh", {r}));
    REQUIRE(found().size() == 1);
    CHECK(found()[0].ends_with(" reads the residual too"));
  }
  SUBCASE("a term that is whole") {
    output(norm(add("Add", {r, input({"1", "4", "8"})})));
    CHECK(found() == Texts{"it is whole on every rank"});
    CHECK(residual_chains(g, facts)[0].sliceable);
    CHECK(found({.slices = true}) == Texts{""});
  }
  SUBCASE("a sum over other ranks") {
    ranks = {0, 1, 2, 3};
    output(norm(add("Add", {r, sum(partial())})));
    REQUIRE(found().size() == 2);
    CHECK(found()[0] == "its ranks are {0,1,2,3}, those of the chain {0,1}");
    CHECK(found()[1].ends_with(" reads the residual too"));
  }
  SUBCASE("a sum of another rank") {
    rank = 0;
    output(norm(add("Add", {r, sum(partial())})));
    CHECK(found() == Texts{"its rank is 0, that of the chain 1"});
  }
  SUBCASE("a sum that does not say its rank") {
    rank.reset();
    output(norm(add("Add", {r, sum(partial())})));
    CHECK(found() == Texts{"its rank is not stated, that of the chain 1"});
  }
  SUBCASE("no norm") {
    output(add("Add", {r, r}));
    CHECK(found() == Texts{"there is no norm in it"});
  }
}

TEST_CASE_FIXTURE(ResidualChainsFixture, "no number of tokens breaks a chain") {
  for (const char* tokens : {"3", "T"}) {
    output(norm(sum(input({"1", tokens, "8"}))));
  }
  CHECK(found() == Texts{"", ""});
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a model without a rank takes no slices") {
  rank.reset();
  output(norm(add("Add", {sum(partial()), input({"1", "4", "8"})})));
  output(norm(sum(partial())));
  CHECK(found({.slices = true}) ==
        Texts{"no slice of it can be taken: the model does not say which rank "
              "it is",
              ""});
}

TEST_CASE_FIXTURE(ResidualChainsFixture, "an entry joins no chains") {
  const ValueId table = input({"1", "4", "8"});
  const auto layer = [&](ValueId x) { return add("Add", {x, table}); };
  const ValueId one = layer(sum(partial()));
  const ValueId broken = layer(sum(partial()));
  ranks = {0, 1, 2, 3};
  const ValueId four = layer(sum(partial()));
  for (ValueId v : {one, broken, four}) output(norm(v));
  output(add("Softmax", {broken}));
  output(add("Softmax", {table}));  // reads all of it
  const auto chains = residual_chains(g, facts, {.slices = true});
  REQUIRE(chains.size() == 3);
  for (const auto& chain : chains) {
    REQUIRE(chain.entries.size() == 1);
    CHECK(chain.entries[0].value == table);
    CHECK(chain.nodes.size() == 3);
  }
  CHECK(chains[0].broken == "");
  CHECK(chains[1].broken.ends_with(" reads the residual too"));
  CHECK(chains[2].broken == "");
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a value that nothing on the chain reads is no entry") {
  const ValueId y = norm(sum(partial()));
  output(add("Mul", {add("Mul", {y, input({"1", "4", "8"})}),
                     add("Softmax", {input({"1", "4", "8"})})}));
  const auto chains = residual_chains(g, facts, {.slices = true});
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].broken == "");
  CHECK(chains[0].entries.size() == 1);
  CHECK(chains[0].nodes.size() == 3);
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a view with unknown sizes is not on a chain") {
  const ValueId y = norm(sum(input({"1", "4", "8"})));
  const auto view = [&](std::vector<std::string> dims) {
    const ValueId v = add("Reshape", {y, input({"4"}, ir::DataType::kInt64)});
    g.mutable_value(v).declared = type(ir::DataType::kFloat, std::move(dims));
    output(v);
    return g.producer(v);
  };
  const ir::NodeId one = view({"1", "4", "A", "2"});
  const ir::NodeId two = view({"1", "4", "A", "C"});
  const auto chains = residual_chains(g, facts);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].broken == "");
  CHECK(std::ranges::find(chains[0].nodes, one) != chains[0].nodes.end());
  CHECK(std::ranges::find(chains[0].nodes, two) == chains[0].nodes.end());
}

TEST_CASE_FIXTURE(ResidualChainsFixture, "CastLike reads no more than a type") {
  const ValueId r = sum(partial());
  SUBCASE("of a share") {
    const ValueId r2 = sum(partial());
    output(norm(add("Add", {add("CastLike", {r, r2}), r2})));
    CHECK(found() == Texts{""});
  }
  SUBCASE("of a whole value") {
    output(norm(add("CastLike", {r, partial()})));
    CHECK(found() == Texts{""});
  }
  SUBCASE("of a value that there is no share of") {
    const ValueId whole = partial();
    output(add("Add", {norm(r), whole}));
    output(norm(add("CastLike", {r, whole})));
    CHECK(found() == Texts{""});
  }
  SUBCASE("another reader of the residual") {
    output(norm(r));
    output(add("CastLike", {partial(), r}));
    CHECK(found()[0].ends_with(" reads the residual too"));
  }
}

// Counts the queries.
struct Counting : ir::Facts {
  explicit Counting(ir::Facts& f) : facts(f) {}
  const ir::Type* type(ValueId v) override { return ++asked, facts.type(v); }
  bool is_constant(ValueId v) override { return facts.is_constant(v); }
  const ir::Literal* constant(ValueId v) override { return facts.constant(v); }
  std::optional<std::span<const ir::Dim>> dims_of(ValueId v) override {
    return facts.dims_of(v);
  }
  const ranks::Layout* layout(ValueId v) override { return facts.layout(v); }
  void invalidate(ir::NodeId n) override { facts.invalidate(n); }
  std::vector<std::string> take_warnings() override { return {}; }

  ir::Facts& facts;
  std::size_t asked = 0;
};

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a node of many operands is visited once") {
  constexpr std::size_t kMany = 500;  // visiting it for each operand: 250,000
  std::vector<ValueId> parts;
  const ValueId y = norm(sum(partial()));
  SUBCASE("that one chain leads to") {
    for (std::size_t n = 0; n < kMany; ++n) parts.push_back(add("Neg", {y}));
    output(add("Concat", parts, {i("axis", 1)}));
  }
  SUBCASE("that many chains lead to") {
    for (std::size_t n = 0; n < kMany; ++n) {
      parts.push_back(norm(sum(partial())));
    }
    output(add("Concat", parts, {i("axis", 1)}));
  }
  SUBCASE("that sums over many groups") {
    for (std::size_t n = 0; n < kMany; ++n) {
      ranks = {0, static_cast<std::int64_t>(n) + 1};
      parts.push_back(norm(sum(partial())));
    }
    output(add("Sum", parts));
  }
  Counting counting(facts);
  const auto chains = residual_chains(g, counting);
  CHECK(!chains.empty());
  CHECK(counting.asked < 40 * kMany);
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a chain may end anywhere after a norm") {
  const ValueId y = norm(sum(partial()));
  // Another factor for each token: the product works on whole tensors.
  output(add("Mul", {y, input({"1", "4", "1"})}));
  const auto chains = residual_chains(g, facts);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].broken == "");
  CHECK(chains[0].nodes.size() == 2);
}

TEST_CASE_FIXTURE(ResidualChainsFixture, "a norm that also returns its sum") {
  const ir::NodeId both = node("tensor_cast::add_rms_norm2",
                               {sum(partial()), sum(partial())}, {}, 2);
  const ValueId y = g.output(both, 0), r = g.output(both, 1);
  SUBCASE("may be read by anything") {
    output(add("Softmax", {y}));
    output(norm(r));
    CHECK(found() == Texts{""});
  }
  SUBCASE("but not its sum") {
    output(norm(y));
    output(add("Softmax", {r}));
    REQUIRE(found().size() == 1);
    CHECK(found()[0].ends_with(" reads the residual too"));
  }
}

TEST_CASE_FIXTURE(ResidualChainsFixture, "the smaller type is gathered") {
  const auto nodes = [&](std::int64_t to) {
    output(add("Cast", {norm(sum(partial()))}, {i("to", to)}));
    return residual_chains(g, facts).back().nodes.size();
  };
  CHECK(nodes(11) == 2);  // to double, after the gather
  CHECK(nodes(10) == 3);  // to float16, on the share
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "whole values after a norm break no chain") {
  const ValueId y = norm(sum(partial()));
  std::vector<ValueId> whole;
  for (int n = 0; n < 2; ++n) {
    whole.push_back(add("Neg", {add("Softmax", {partial()})}));
  }
  output(add("Sum", {whole[0], whole[1], y}));
  CHECK(found() == Texts{""});
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a value that differs between ranks is no entry") {
  const auto collective = [&](const char* op, ValueId x) {
    return add(std::string("tensor_cast::") + op, {x},
               {i("dim", 0), i("rank", 1), is("rank_group", ranks)});
  };
  // A share along another axis, as left by a chain of rows.
  const ValueId part = collective("reduce_scatter", input({"8", "1", "8"}));
  output(norm(add("Add", {sum(partial()), add("Neg", {part})})));
  ranks = {0, 1, 2, 3};
  const ValueId four = sum(input({"8", "1", "8"}));
  ranks = {0, 1};
  output(norm(add("Add", {sum(partial()), four})));
  const ValueId table = partial();
  output(collective("all_gather", table));
  output(norm(add("Add", {sum(partial()), table})));
  const auto chains = residual_chains(g, facts, {.slices = true});
  std::vector<std::string> broken;
  for (const auto& chain : chains) broken.push_back(chain.broken);
  REQUIRE(broken.size() == 4);
  CHECK(broken[0].ends_with(" reads the residual too"));
  CHECK(broken[2].ends_with(" reads the residual too"));
  CHECK(broken[3] == "it is whole on every rank, as far as one can tell");
  CHECK_FALSE(chains[3].sliceable);
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a collective with an unknown attribute") {
  output(norm(add("tensor_cast::all_reduce", {partial()},
                  {i("rank", 1), is("rank_group", ranks), i("op", 2)})));
  CHECK(found() == Texts{"its attribute 'op' is unknown"});
}

TEST_CASE_FIXTURE(ResidualChainsFixture,
                  "a residual may be an output of the model") {
  const ValueId r = add("Add", {sum(partial()), sum(partial())});
  output(r);
  output(norm(r));
  CHECK(found() == Texts{""});
}

}  // namespace
}  // namespace ruleengine::analysis
