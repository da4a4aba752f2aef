// How values are distributed over the ranks, also after edits.
#include <doctest/doctest.h>

#include <random>

#include "core/ranks/layout.h"
#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {
namespace {

using ir::NodeId;
using ir::ValueId;

// "replicated", "partial", "sharded 1" or "none"; with the ranks if they are
// not 0 and 1; "assumed" in front.
std::string lies(ir::Facts& facts, ValueId v) {
  const ranks::Layout* layout = facts.layout(v);
  if (layout == nullptr) return "none";
  std::string out = layout->assumed ? "assumed " : "";
  switch (layout->placement) {
    case ranks::Placement::kReplicated:
      out += "replicated";
      break;
    case ranks::Placement::kPartial:
      out += "partial";
      break;
    case ranks::Placement::kSharded:
      out += "sharded " + std::to_string(layout->axis);
  }
  if (layout->everywhere()) return out + " everywhere";
  if (std::ranges::equal(layout->group, std::vector{0, 1})) return out;
  for (std::int64_t rank : layout->group) out += " " + std::to_string(rank);
  return out;
}

struct SolverLayoutsFixture : Builder {
  Inference facts{g};

  ValueId collective(std::string_view op, ValueId x, std::int64_t dim = 1,
                     std::vector<std::int64_t> group = {0, 1}) {
    return add(
        "tensor_cast::" + std::string(op), {x},
        {i("rank", 0), is("rank_group", std::move(group)), i("dim", dim)});
  }
  std::string lies(ValueId v) { return analysis::lies(facts, v); }
  std::string proven(ValueId v) {
    const std::string all = lies(v);
    return all.starts_with("assumed") ? "none" : all;
  }
};

TEST_CASE_FIXTURE(SolverLayoutsFixture,
                  "a function whose body communicates says nothing") {
  for (const char* inner : {"tensor_cast::reduce_scatter", "Relu"}) {
    auto function = std::make_unique<ir::Function>(model);
    function->domain = "own";
    function->name = std::string_view(inner) == "Relu" ? "Quiet" : "Sends";
    function->opset_imports = {{"", 18}, {"tensor_cast", 1}};
    ir::Graph& body = function->body;
    const ValueId in =
        body.add_value(model.names.intern("in"), ir::Graph::main_block(),
                       ir::ValueKind::kInput);
    const ValueId out =
        body.add_value(model.names.intern("out"), ir::Graph::main_block(),
                       ir::ValueKind::kNodeOutput);
    body.add_block_input(ir::Graph::main_block(), in);
    const bool sends = function->name == "Sends";
    body.add_node(model.ops.intern(sends ? "tensor_cast" : "",
                                   sends ? "reduce_scatter" : "Relu"),
                  ir::Graph::main_block(), "", std::vector{in},
                  std::vector{out}, {});
    body.add_block_output(ir::Graph::main_block(), out);
    model.functions.push_back(std::move(function));
  }
  const ValueId same = collective("all_reduce", input({"2", "4", "8"}));
  CHECK(lies(add("own::Quiet", {same})) == "assumed replicated");
  CHECK(lies(add("own::Sends", {same})) == "none");
}

TEST_CASE_FIXTURE(SolverLayoutsFixture, "shares stay shares, token by token") {
  const ValueId x = input({"1", "4", "8"}), w = floats({1}, {2});
  const ValueId part = collective("reduce_scatter", x);
  CHECK(proven(part) == "sharded 1");
  CHECK(proven(collective("reduce_scatter", x, -2)) == "sharded 1");
  CHECK(proven(collective("reduce_scatter", x, 3)) == "none");
  const ValueId norm = add("tensor_cast::rms_norm", {part, w});
  CHECK(proven(norm) == "sharded 1");
  const ValueId flat = add("Reshape", {norm, ints({2, 8})});
  CHECK(proven(flat) == "sharded 0");
  CHECK(proven(add("Add", {norm, flat})) == "sharded 1");
  CHECK(proven(add("Add", {norm, input({"1", "2", "8"})})) == "none");
  const ValueId one = collective("all_reduce", input({"1", "1", "8"}));
  CHECK(proven(add("Mul", {one, norm})) == "sharded 1");
  const ValueId two = collective("all_reduce", input({"1", "2", "8"}));
  CHECK(proven(add("Mul", {two, norm})) == "none");
  const ValueId four =
      collective("all_reduce", input({"1", "1", "8"}), 0, {0, 1, 2, 3});
  CHECK(proven(add("Mul", {four, norm})) == "none");
}

TEST_CASE_FIXTURE(SolverLayoutsFixture,
                  "the same on all ranks, until a rank has its own") {
  const ValueId x = input({"1", "4", "8"});
  const ValueId whole = collective("all_gather", x);
  CHECK(proven(whole) == "replicated");
  CHECK(proven(collective("all_reduce", x, 0, {2, 3})) == "replicated 2 3");
  CHECK(proven(add("Relu", {whole})) == "replicated");
  CHECK(proven(add("Reshape", {whole, ints({8, 8})})) == "replicated");
  CHECK(proven(add("ReduceMean", {whole, ints({1})})) == "replicated");
  CHECK(proven(add("Add", {whole, whole})) == "replicated");
  CHECK(proven(add("Add", {whole, input({"1", "8", "8"})})) == "none");
  // For example the offset of its part of a vocabulary.
  CHECK(proven(add("Sub", {whole, floats({}, {24})})) == "none");
  CHECK(proven(add("MatMul", {whole, whole})) == "none");
}

TEST_CASE_FIXTURE(SolverLayoutsFixture,
                  "who reads a value proves nothing of how it lies") {
  const ValueId x = input({"4", "8"});
  const ValueId term = add("Identity", {x});
  collective("all_reduce", term);
  CHECK(proven(term) == "none");
  CHECK(proven(add("Relu", {term})) == "none");
  const ValueId whole = collective("all_gather", x);
  collective("all_reduce", whole);
  CHECK(proven(whole) == "replicated");
}

TEST_CASE_FIXTURE(SolverLayoutsFixture,
                  "what is assumed, collectives may contradict") {
  const ValueId x = input({"4", "8"}), w = floats({1}, {2});
  CHECK(lies(x) == "assumed replicated everywhere");
  CHECK(lies(w) == "assumed replicated everywhere");
  const ValueId y = add("MatMul", {x, input({"8", "8"})});
  CHECK(lies(y) == "assumed replicated everywhere");
  const ValueId whole = collective("all_gather", input({"4", "8"}), 0);
  CHECK(lies(add("Mul", {whole, w})) == "assumed replicated");
  const ValueId scaled = add("Mul", {y, w});
  CHECK(lies(scaled) == "assumed replicated everywhere");
  facts.invalidate(g.producer(collective("all_reduce", y)));
  CHECK(lies(y) == "assumed partial");
  CHECK(lies(scaled) == "assumed partial");
  CHECK(lies(add("Relu", {scaled})) == "none");
  facts.invalidate(g.producer(collective("all_gather", x, 0)));
  CHECK(lies(x) == "assumed sharded 0");
  CHECK(lies(add("Neg", {x})) == "assumed sharded 0");
  CHECK(lies(y) == "assumed partial");
  facts.invalidate(g.producer(collective("all_gather", x, 1)));
  CHECK(lies(x) == "none");
  // An unknown collective.
  const ValueId z = input({"4", "8"});
  collective("all_reduce", z, 0, {});
  CHECK(lies(z) == "none");
}

TEST_CASE_FIXTURE(SolverLayoutsFixture,
                  "a value that no collective sends any more") {
  const ValueId x = input({"4", "8"}), other = input({"4", "8"});
  const ir::NodeId sum = g.producer(collective("all_reduce", x));
  const ValueId y = add("Relu", {x}), z = add("Relu", {other});
  CHECK(lies(y) == "none");
  CHECK(lies(z) == "assumed replicated everywhere");
  const ir::OperandId slot(g.node(sum).first_operand);
  g.unlink(slot);
  g.set_operand(slot, other);
  facts.invalidate(sum);
  CHECK(lies(y) == "assumed replicated everywhere");
  CHECK(lies(z) == "none");
  facts.invalidate(sum);
  g.remove_node(sum);
  CHECK(lies(z) == "assumed replicated everywhere");
}

TEST_CASE_FIXTURE(SolverLayoutsFixture,
                  "a group of one rank, or of none, says nothing") {
  const ValueId x = input({"1", "4", "8"});
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    CHECK(proven(collective(op, x, 1, {0})) == "none");
    CHECK(proven(collective(op, x, 1, {})) == "none");
  }
}

// A graph of collectives and token-wise ops, edited at random.
class World : public Builder {
 public:
  explicit World(unsigned seed) : random_(seed) {
    for (int n = 0; n < 3; ++n) made_.push_back(input({"2", "4", "8"}));
    for (int n = 0; n < 24; ++n) made_.push_back(step());
  }

  // Replaces an operand of a random node by an earlier value.
  NodeId edit() {
    for (;;) {
      const NodeId node(below(g.node_count()));
      const std::size_t count = g.inputs(node).size();
      const ir::OperandId slot(static_cast<std::uint32_t>(
          g.node(node).first_operand + below(count)));
      const ValueId now = g.operand(slot).value;
      const ValueId next = made_[below(made_.size())];
      // Not parameters and weights, and no cycles.
      if (!is_made(now) || next == now || next >= g.output(node)) continue;
      g.unlink(slot);
      g.set_operand(slot, next);
      return node;
    }
  }

  const std::vector<ValueId>& values() const { return made_; }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  ValueId any() { return made_[below(made_.size())]; }
  bool is_made(ValueId v) const { return std::ranges::count(made_, v) > 0; }

  ValueId collective(std::string_view op) {
    const std::vector<std::int64_t> groups[] = {{0, 1}, {0, 1}, {2, 3}, {0}};
    return add(op, {any()},
               {i("rank", 0), is("rank_group", groups[below(4)]),
                i("dim", static_cast<std::int64_t>(below(3)))});
  }

  ValueId step() {
    switch (below(10)) {
      case 0:
        return collective("tensor_cast::all_reduce");
      case 1:
        return collective("tensor_cast::reduce_scatter");
      case 2:
        return collective("tensor_cast::all_gather");
      case 3:
        return add("Add", {any(), any()});
      case 4:
        return add("Mul", {any(), floats({1}, {2})});
      case 5:
        return add("tensor_cast::rms_norm", {any()});
      case 6:
        return add("Transpose", {any()}, {is("perm", {1, 0, 2})});
      case 7:
        return add("Softmax", {any()});
      case 8:
        return add("ReduceMean", {any(), ints({2})});
      default:
        return add("Reshape", {any(), ints({0, 0, -1})});
    }
  }

  std::minstd_rand random_;
  std::vector<ValueId> made_;
};

TEST_CASE("layouts after edits are those of a new solver") {
  std::size_t known = 0, changed = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    World world(seed);
    Inference facts(world.g);
    std::vector<std::string> before;
    for (int round = 0; round < 30; ++round) {
      Inference fresh(world.g);
      std::vector<std::string> now;
      for (ValueId v : world.values()) {
        now.push_back(lies(fresh, v));
        const std::string found = lies(facts, v);
        CHECK_MESSAGE(found == now.back(), "seed ", seed, ", round ", round);
        known += static_cast<std::size_t>(found != "none");
      }
      changed += static_cast<std::size_t>(now != before);
      before = std::move(now);
      facts.invalidate(world.edit());
    }
  }
  CHECK(known > 5000);
  CHECK(changed > 150);
}

}  // namespace
}  // namespace ruleengine::analysis
