// The lattice of layouts, and how nodes pass them on.
#include "core/ranks/layout.h"

#include <doctest/doctest.h>

#include <optional>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {

using namespace ranks;
namespace {

using ir::NodeId;
using ir::ValueId;

const std::int64_t kTwo[] = {0, 1}, kFour[] = {0, 1, 2, 3};
const Layout kWhole{.group = kTwo}, kElsewhere{.group = kFour};
const Layout kTerm{.placement = Placement::kPartial, .group = kTwo};
const Layout kRows{.placement = Placement::kSharded, .axis = 0, .group = kTwo};
const Layout kColumns{
    .placement = Placement::kSharded, .axis = 1, .group = kTwo};

Layout assumed(Layout layout) {
  layout.assumed = true;
  return layout;
}

struct LayoutFixture : Builder {
  Inference facts{g};

  // The layout of a node's result; nullptr is an operand of unknown layout.
  std::optional<Layout> of(ValueId result,
                           std::vector<const Layout*> operands) {
    const NodeId node = g.producer(result);
    std::vector<OperandFacts> inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const ValueId v = g.input(node, i);
      inputs.push_back({operands[i], facts.type(v), facts.is_constant(v)});
    }
    std::vector<const ir::Type*> outputs;
    for (ValueId v : g.outputs(node)) outputs.push_back(facts.type(v));
    return result_layout(g, node, inputs, outputs, 0);
  }
  ValueId x() { return input({"4", "8"}); }
  std::optional<Layout> unary(std::string_view op, const Layout* layout,
                              std::vector<ir::Attribute> attributes = {}) {
    return of(add(op, {x()}, std::move(attributes)), {layout});
  }
  std::optional<Layout> binary(std::string_view op, const Layout* a,
                               const Layout* b) {
    return of(add(op, {x(), x()}), {a, b});
  }
  ValueId collective(std::string_view op,
                     std::vector<ir::Attribute> more = {}) {
    more.push_back(i("dim", 1));
    more.push_back(is("rank_group", {0, 1}));
    return add("tensor_cast::" + std::string(op), {x()}, more);
  }
};

TEST_CASE("layouts meet where both hold") {
  CHECK(meet(kWhole, kWhole) == kWhole);
  CHECK(meet(kWhole, assumed(kWhole)) == assumed(kWhole));
  CHECK(meet(kAssumed, kWhole) == assumed(kWhole));
  CHECK(meet(kWhole, kAssumed) == assumed(kWhole));
  CHECK(meet(kAssumed, kAssumed) == kAssumed);
  CHECK(meet(kTerm, kTerm) == kTerm);
  CHECK_FALSE(meet(kWhole, kElsewhere));
  CHECK_FALSE(meet(kWhole, kTerm));
  CHECK_FALSE(meet(kWhole, kRows));
  CHECK_FALSE(meet(kRows, kColumns));
  CHECK_FALSE(meet(kAssumed, kTerm));
  CHECK_FALSE(meet(kRows, kAssumed));
}

TEST_CASE("what is the same on all ranks of a group") {
  CHECK(is_replicated(&kWhole, kTwo));
  CHECK_FALSE(is_replicated(&kWhole, kFour));
  CHECK(is_replicated(&kAssumed, kTwo));
  CHECK(is_replicated(&kAssumed, kFour));
  CHECK_FALSE(is_replicated(&kTerm, kTwo));
  CHECK_FALSE(is_replicated(&kRows, kTwo));
  CHECK_FALSE(is_replicated(nullptr, kTwo));
}

TEST_CASE_FIXTURE(LayoutFixture, "collectives set layouts, for any input") {
  for (const Layout* from : {&kWhole, &kTerm, &kRows, &kElsewhere,
                             static_cast<const Layout*>(nullptr)}) {
    CHECK(of(collective("all_reduce"), {from}) == kWhole);
    CHECK(of(collective("all_gather"), {from}) == kWhole);
    CHECK(of(collective("reduce_scatter"), {from}) == kColumns);
  }
  CHECK_FALSE(of(collective("all_reduce", {i("op", 2)}), {&kTerm}));
}

TEST_CASE_FIXTURE(LayoutFixture,
                  "inputs of collectives have the layout that they require") {
  const auto sent = [&](ValueId v) {
    const NodeId node = g.producer(v);
    return sent_layout(g, node, facts.type(g.input(node, 0)));
  };
  CHECK(sent(collective("all_reduce")) == assumed(kTerm));
  CHECK(sent(collective("reduce_scatter")) == assumed(kTerm));
  CHECK(sent(collective("all_gather")) == assumed(kColumns));
  CHECK_FALSE(sent(collective("all_gather", {i("op", 2)})));
}

TEST_CASE_FIXTURE(LayoutFixture, "sums and scalings of terms are terms") {
  for (const char* op : {"Add", "Sub", "Sum"}) {
    CHECK(binary(op, &kTerm, &kTerm) == kTerm);
    CHECK_FALSE(binary(op, &kTerm, &kWhole));
    CHECK_FALSE(binary(op, &kTerm, &kAssumed));
  }
  CHECK(binary("Mul", &kTerm, &kWhole) == kTerm);
  CHECK(binary("Mul", &kAssumed, &kTerm) == assumed(kTerm));
  CHECK(binary("Div", &kTerm, &kWhole) == kTerm);
  CHECK_FALSE(binary("Div", &kWhole, &kTerm));
  CHECK_FALSE(binary("Mul", &kTerm, &kTerm));
  CHECK_FALSE(binary("Mul", &kTerm, &kElsewhere));
  CHECK_FALSE(binary("Mul", &kTerm, nullptr));
  CHECK_FALSE(binary("Add", &kTerm, &kRows));
  const Layout elsewhere{.placement = Placement::kPartial, .group = kFour};
  CHECK_FALSE(binary("Add", &kTerm, &elsewhere));
  CHECK(of(add("Concat", {x(), x()}, {i("axis", 0)}), {&kTerm, &kTerm}) ==
        kTerm);
  CHECK(unary("Neg", &kTerm) == kTerm);
  CHECK(unary("Transpose", &kTerm) == kTerm);
  CHECK(of(add("Reshape", {x(), ints({32})}), {&kTerm, nullptr}) == kTerm);
  CHECK(unary("Cast", &kTerm, {i("to", 10)}) == kTerm);
}

TEST_CASE_FIXTURE(LayoutFixture, "other functions of terms have no layout") {
  CHECK_FALSE(unary("Relu", &kTerm));
  CHECK_FALSE(unary("Softmax", &kTerm));
  CHECK_FALSE(unary("tensor_cast::rms_norm", &kTerm));
  CHECK_FALSE(unary("Cast", &kTerm, {i("to", 7)}));  // rounds
}

TEST_CASE_FIXTURE(LayoutFixture, "the sum of a share is a term") {
  const ValueId most = add("ReduceMax", {x(), ints({0})});
  CHECK(of(most, {&kColumns, nullptr}) == kColumns);
  CHECK_FALSE(of(most, {&kRows, nullptr}));
  const ValueId total = add("ReduceSum", {x(), ints({0})});
  CHECK(of(total, {&kRows, nullptr}) == kTerm);
  CHECK(of(total, {&kColumns, nullptr}) == kColumns);
}

TEST_CASE_FIXTURE(LayoutFixture,
                  "ops on replicated values of one group are replicated") {
  CHECK(unary("Relu", &kWhole) == kWhole);
  CHECK(binary("Add", &kWhole, &kAssumed) == assumed(kWhole));
  CHECK_FALSE(binary("Add", &kWhole, &kElsewhere));
  CHECK_FALSE(binary("Add", &kWhole, nullptr));
  // Nothing proves that it is not a random op.
  CHECK(unary("Hardmax", &kWhole) == assumed(kWhole));
  CHECK_FALSE(unary("Hardmax", &kRows));
}

TEST_CASE_FIXTURE(LayoutFixture,
                  "shares of one group stay shares, token by token") {
  CHECK(unary("Relu", &kRows) == kRows);
  CHECK(unary("Transpose", &kRows) == kColumns);
  CHECK(binary("Add", &kRows, &kRows) == kRows);
  CHECK_FALSE(binary("Add", &kRows, nullptr));
  CHECK_FALSE(binary("Add", &kRows, &kColumns));
  CHECK_FALSE(binary("Add", &kRows, &kWhole));
  Layout other = kRows;
  other.group = kFour;
  CHECK_FALSE(binary("Add", &kRows, &other));
  const ValueId scaled = add("Mul", {x(), input({"8"})});
  CHECK(of(scaled, {&kRows, &kWhole}) == kRows);
  CHECK(of(scaled, {&kRows, &kAssumed}) == assumed(kRows));
  CHECK_FALSE(of(scaled, {&kRows, &kElsewhere}));
  // Each rank may have its own constant.
  const ValueId shifted = add("Add", {x(), floats({1}, {2})});
  CHECK(of(shifted, {&kRows, &kAssumed}) == kRows);
}

}  // namespace
}  // namespace ruleengine::analysis
