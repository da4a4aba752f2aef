// Chains between collectives: what is on them, and what breaks them.
#include "core/analysis/residual_chains.h"

#include <doctest/doctest.h>

#include "core/analysis/graph_builder_test.h"

namespace ruleengine::analysis {
namespace {

using ir::ValueId;

struct Fixture : Builder {
  Inference facts{g};
  std::vector<std::int64_t> ranks = {0, 1};

  ValueId sum(ValueId x) {
    return add("tensor_cast::all_reduce", {x},
               {i("rank", 1), is("rank_group", ranks)});
  }
  ValueId partial() { return input({"1", "4", "8"}); }
  ValueId norm(ValueId x) { return add("tensor_cast::rms_norm", {x}); }
  void output(ValueId v) { g.add_block_output(ir::Graph::main_block(), v); }

  // "" for each chain that is whole, else the reason.
  std::vector<std::string> found(ChainOptions options = {}) {
    std::vector<std::string> out;
    for (const auto& chain : residual_chains(g, facts, options)) {
      out.push_back(chain.broken);
    }
    return out;
  }
  using Texts = std::vector<std::string>;
};

TEST_CASE_FIXTURE(Fixture, "two layers are one chain") {
  const ValueId r = sum(partial());
  const ValueId x = norm(r);
  const ValueId r2 = add("Add", {sum(add("Sin", {x})), r});
  output(norm(r2));
  const auto chains = residual_chains(g, facts);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].broken == "");
  CHECK(chains[0].place == 1);
  CHECK(chains[0].nodes.size() == 5);
  CHECK(chains[0].shares.size() == 5);
  CHECK(chains[0].shares[0].axis == 1);
}

TEST_CASE_FIXTURE(Fixture, "what breaks a chain") {
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
    CHECK(found() ==
          Texts{"it is whole on every rank (chain.entry=true takes slices of "
                "inputs and constants)"});
    CHECK(found({.entry = true}) == Texts{""});
  }
  SUBCASE("a sum over other ranks") {
    ranks = {0, 1, 2, 3};
    output(norm(add("Add", {r, sum(partial())})));
    CHECK(found() ==
          Texts{"its ranks are {0,1,2,3}, those of the chain {0,1}",
                "it is summed over other ranks as well"});
  }
  SUBCASE("no norm") {
    output(add("Add", {r, r}));
    CHECK(found() == Texts{"there is no norm in it"});
  }
  SUBCASE("tokens that do not come out even") {
    output(norm(sum(input({"1", "3", "8"}))));
    output(norm(r));
    CHECK(found() == Texts{"", "3 tokens cannot be shared out evenly "
                               "among 2 ranks (chain.uneven=true pads them)"});
    CHECK(found({.uneven = true}) == Texts{"", ""});
  }
  SUBCASE("tokens that have no number") {
    output(norm(sum(input({"1", "T", "8"}))));
    output(norm(r));
    CHECK(found() == Texts{"", "the number of tokens is symbolic, only a "
                               "fixed one is shared out"});
  }
}

TEST_CASE_FIXTURE(Fixture, "behind a norm a chain may end anywhere") {
  const ValueId y = norm(sum(partial()));
  // Another factor for each token: the product works on whole tensors.
  output(add("Mul", {y, input({"1", "4", "1"})}));
  const auto chains = residual_chains(g, facts);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].broken == "");
  CHECK(chains[0].nodes.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "a residual may be an output of the model") {
  const ValueId r = add("Add", {sum(partial()), sum(partial())});
  output(r);
  output(norm(r));
  CHECK(found() == Texts{""});
}

}  // namespace
}  // namespace ruleengine::analysis
