// Small worlds: for every pattern, at every root of every graph, the Machine
// (with all patterns in one Program) and the oracle must give exactly the same
// first match.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "core/match/compile/demands.h"
#include "core/match/naive/naive.h"
#include "core/match/overlap.h"
#include "tests/support/match_patterns.h"
#include "tests/support/match_world.h"
#include "tests/support/pattern_text.h"
#include "tests/support/program_text.h"
#include "tests/support/tier.h"

namespace ruleengine::match {
namespace {

using testing::NodeChoice;
using testing::Patterns;
using testing::World;

class Comparison {
 public:
  explicit Comparison(const Patterns& patterns)
      : pointers_(patterns.pointers()), program_(compile(pointers_)) {
    for (const Pattern* p : pointers_) prepared_.push_back(prepare(*p));
    Demands all;
    std::vector<std::vector<std::uint32_t>> demands;
    for (const Pattern* p : pointers_) demands.push_back(all.of(*p));
    // Some pairs for which covers() is true.
    const std::size_t stride = 1 + pointers_.size() / 500;
    for (std::uint32_t a = 0; a < pointers_.size(); ++a) {
      for (std::uint32_t b = a % stride; b < pointers_.size(); b += stride) {
        if (a != b && covers(*pointers_[a], *pointers_[b])) {
          covering.emplace_back(a, b);
          CHECK(std::ranges::includes(demands[b], demands[a]));
        }
      }
    }
  }

  void check(World& world) {
    ir::Graph& graph = world.model.graph;
    DeclaredFacts facts(graph);
    Machine machine(program_, graph, facts);
    ops::NewestNodes view(graph, facts);
    std::vector<Match> found;
    for (std::size_t n = 0; n < graph.node_count(); ++n) {
      const ir::NodeId root(n);
      found.clear();
      machine.run(root, {}, found);
      std::vector<bool> fits(pointers_.size());
      for (const Match& m : found) fits[m.rule] = true;
      for (const auto& [general, special] : covering) {
        if (!fits[special] || fits[general]) continue;
        MESSAGE(world.text, "\n", text_of(*pointers_[general]),
                "does not cover\n", text_of(*pointers_[special]));
        CHECK(false);
      }
      std::size_t next = 0;
      for (std::uint32_t r = 0; r < pointers_.size(); ++r) {
        std::optional<Match> expected =
            Naive(prepared_[r], view, nullptr).run(root);
        if (expected) expected->rule = r;
        const bool given = next < found.size() && found[next].rule == r;
        if (given != expected.has_value() ||
            (given && !(found[next] == *expected))) {
          report(world, r, root, expected, given ? &found[next] : nullptr);
        }
        if (given) ++next;
        ++compared;
        matched += expected.has_value();
      }
      CHECK(!machine.exhausted());
    }
  }

  std::size_t compared = 0, matched = 0, different = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> covering;

 private:
  void report(World& world, std::uint32_t rule, ir::NodeId root,
              const std::optional<Match>& expected, const Match* given) {
    if (++different > 5) return;
    const Pattern* one = pointers_[rule];
    MESSAGE("graph ", world.text, " root ", root.index(), "\n", text_of(*one),
            text_of(compile({&one, 1})));
    DeclaredFacts facts(world.model.graph);
    const Program alone = compile({&one, 1});
    std::vector<Match> found;
    Machine(alone, world.model.graph, facts).run(root, {}, found);
    MESSAGE("alone it gives ", found.size());
    const auto show = [](const Match& m) {
      std::string out;
      for (ir::NodeId id : m.nodes) {
        out += " " + (id ? std::to_string(id.index()) : "-");
      }
      for (const Bound& b : m.bound) {
        out += b.value ? " v" + std::to_string(b.value.index()) : " .";
        if (b.kind == Bound::Kind::kList) {
          out += "[" + std::to_string(b.list.size()) + "]";
        }
      }
      return out;
    };
    MESSAGE("expected", expected ? show(*expected) : " none", "; given",
            given ? show(*given) : " none");
  }

  std::vector<const Pattern*> pointers_;
  Program program_;
  std::vector<Prepared> prepared_;
};

// All nodes that can be added to `values` values.
std::vector<NodeChoice> next_nodes(int values, const std::vector<int>& base) {
  std::vector<int> from = base;
  for (int v = 5; v < values; ++v) from.push_back(v);
  std::vector<NodeChoice> out;
  for (int a : from) {
    out.push_back({"Neg", {a}});
    for (int b : from) {
      out.push_back({"Add", {a, b}});
      out.push_back({"Sub", {a, b}});
    }
  }
  return out;
}

// Every `stride`-th one of all graphs of `size` nodes over `base`, with every
// set of outputs that includes the last node.
void all_graphs(int size, const std::vector<int>& base, std::size_t stride,
                const std::function<void(World&)>& visit) {
  std::size_t number = 0;
  std::vector<NodeChoice> chosen;
  const std::function<void()> extend = [&] {
    if (static_cast<int>(chosen.size()) == size) {
      for (int outputs = 0; outputs < 1 << (size - 1); ++outputs) {
        if (number++ % stride != 0) continue;
        World world;
        for (const NodeChoice& c : chosen) world.add(c);
        for (int o = 0; o < size - 1; ++o) {
          if ((outputs >> o & 1) != 0) world.output(5 + o);
        }
        world.output(world.value_count() - 1);
        visit(world);
      }
      return;
    }
    for (const NodeChoice& c :
         next_nodes(5 + static_cast<int>(chosen.size()), base)) {
      chosen.push_back(c);
      extend();
      chosen.pop_back();
    }
  };
  extend();
}

TEST_CASE("machine and oracle agree on all small graphs and patterns") {
  Patterns patterns;
  add_small(patterns);
  Comparison comparison(patterns);
  const auto visit = [&](World& world) { comparison.check(world); };
  const std::size_t each = runs_all() ? 1 : 101;
  all_graphs(1, {0, 1, 2, 3, 4}, 1, visit);
  all_graphs(2, {0, 2, 3}, each, visit);
  all_graphs(3, {0, 2}, 67 * each, visit);
  all_graphs(4, {0, 2}, 20011 * each, visit);
  MESSAGE(patterns.patterns.size(), " patterns, ", comparison.compared,
          " compared, ", comparison.matched, " matched, ",
          comparison.covering.size(), " covering");
  CHECK(comparison.covering.size() > 100);
  for (const auto& [why, times] : patterns.refused) {
    MESSAGE("refused ", times, ": ", why);
  }
  CHECK(comparison.different == 0);
  CHECK(comparison.matched > comparison.compared / 100);
}

void random_world(World& world, std::mt19937& random) {
  static constexpr float kPair[] = {1.0f, 2.0f};
  world.constant(kPair, {1, 2});
  world.constant(kPair, {2, 1});
  const std::size_t first = world.value_count();
  const int size = 3 + static_cast<int>(random() % 7);
  for (int n = 0; n < size; ++n) {
    const auto count = static_cast<unsigned>(world.value_count());
    // Mostly recent values, so that there are chains and shared values.
    const auto value = [&] {
      return static_cast<int>(random() % 3 ? count - 1 - random() % 3
                                           : random() % count);
    };
    const int a = value(), b = value();
    switch (random() % 5) {
      case 0:
        world.add({"Neg", {a}});
        break;
      case 1:
        world.add({"Sub", {a, b}});
        break;
      case 2: {
        NodeChoice f{"F", {}};
        for (unsigned i = random() % 4; i > 0; --i) {
          f.inputs.push_back(random() % 5 ? value() : -1);
        }
        if (random() % 2) f.k = 1 + static_cast<int>(random() % 2);
        world.add(f);
        break;
      }
      default:
        world.add({"Add", {a, b}});
    }
  }
  const std::size_t last = world.value_count() - 1;
  const std::vector<ir::Dim> sizes = {ir::Dim(1), ir::Dim(2),
                                      world.model.dims.symbol("N")};
  for (std::size_t v = 0; v <= last; ++v) {
    if (v >= 2 && v < first) continue;
    std::vector<ir::Dim> dims;
    for (unsigned rank = random() % 3; rank > 0; --rank) {
      dims.push_back(sizes[random() % 3]);
    }
    if (random() % 5) world.shape(v, dims);
  }
  world.output(last);
  if (random() % 3 == 0) world.output(first + random() % (last + 1 - first));
}

TEST_CASE("machine and oracle agree on random worlds") {
  const char* seed_text = std::getenv("RULEENGINE_SEED");
  const unsigned seed = seed_text ? std::stoul(seed_text) : 20241;
  Patterns patterns;
  add_random(patterns, seed, runs_all() ? 6000 : 600);
  Comparison comparison(patterns);
  std::mt19937 random(seed + 1);
  for (int g = 0; g < 60; ++g) {
    World world;
    random_world(world, random);
    comparison.check(world);
  }
  if (std::getenv("RULEENGINE_SEED") != nullptr) {
    for (const auto& [why, times] : patterns.refused) {
      MESSAGE("refused ", times, ": ", why);
    }
  }
  MESSAGE(patterns.patterns.size(), " patterns, ", comparison.compared,
          " compared, ", comparison.matched, " matched");
  CHECK(comparison.different == 0);
}

}  // namespace
}  // namespace ruleengine::match
