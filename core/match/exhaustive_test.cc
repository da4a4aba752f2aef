// Small worlds: the Machine, with all patterns in one Program, and the oracle
// must give exactly the same first match for every pattern at every root of
// every graph.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "core/match/naive.h"
#include "core/match/overlap.h"
#include "core/match/testing.h"

namespace ruleengine::match {
namespace {

using pattern::Pattern;
using pattern::TermId;
using testing::DeclaredFacts;
using testing::Draft;

// --- Graphs -----------------------------------------------------------------

struct NodeChoice {
  const char* op;
  std::vector<int> inputs;
  std::optional<int> k = std::nullopt;  // an attribute of F
};

// x, y, two equal constants and another: values 0 to 4.
class World {
 public:
  World() {
    static constexpr float kOne[] = {1.0f}, kTwo[] = {2.0f};
    for (const char* name : {"x", "y"}) {
      values_.push_back(model.graph.add_value(model.names.intern(name),
                                              ir::Graph::main_block(),
                                              ir::ValueKind::kInput));
    }
    for (const float* data : {kOne, kOne, kTwo}) constant(data, {});
  }

  void constant(const float* data, std::vector<std::int64_t> dims) {
    std::size_t count = 1;
    for (std::int64_t d : dims) count *= static_cast<std::size_t>(d);
    auto* tensor = model.arena.make<ir::Tensor>();
    tensor->dtype = ir::DataType::kFloat;
    tensor->bytes = std::as_bytes(std::span(data, count));
    tensor->dims = model.arena.copy(std::span<const std::int64_t>(dims));
    values_.push_back(model.graph.add_value(
        model.names.intern("c" + std::to_string(values_.size())),
        ir::Graph::main_block(), ir::ValueKind::kInitializer));
    model.graph.add_initializer(values_.back(), tensor);
  }

  void shape(std::size_t value, std::vector<ir::Dim> dims) {
    auto* type = model.arena.make<ir::Type>();
    type->elem = ir::DataType::kFloat;
    type->has_shape = true;
    type->dims = model.arena.copy(std::span<const ir::Dim>(dims));
    model.graph.mutable_value(values_[value]).declared = type;
    text += "shape " + std::to_string(value) + "[";
    for (ir::Dim d : dims) text += " " + model.dims.text(d);
    text += " ] ";
  }

  // An op of no known domain, with two outputs and an attribute.
  void add_f(const NodeChoice& choice) {
    std::vector<ir::ValueId> inputs, outputs;
    for (int i : choice.inputs) {
      inputs.push_back(i < 0 ? ir::ValueId() : values_[i]);
    }
    for (int o = 0; o < 2; ++o) {
      outputs.push_back(model.graph.add_value(
          model.names.intern("v" + std::to_string(values_.size())),
          ir::Graph::main_block(), ir::ValueKind::kUndefined));
      values_.push_back(outputs.back());
    }
    std::span<ir::Attribute> attributes;
    if (choice.k) {
      attributes = model.arena.array<ir::Attribute>(1);
      attributes[0].name = "k";
      attributes[0].kind = ir::AttributeKind::kInt;
      attributes[0].i = *choice.k;
    }
    model.graph.add_node(model.ops.intern("t", "F"), ir::Graph::main_block(),
                         "", inputs, outputs, attributes);
    text += "F(";
    for (int i : choice.inputs) text += " " + std::to_string(i);
    text += " ) ";
    if (choice.k) text += "k=" + std::to_string(*choice.k) + " ";
  }

  void add(const NodeChoice& choice) {
    std::vector<ir::ValueId> inputs;
    for (int i : choice.inputs) {
      inputs.push_back(i < 0 ? ir::ValueId() : values_[i]);
    }
    const ir::ValueId out = model.graph.add_value(
        model.names.intern("v" + std::to_string(values_.size())),
        ir::Graph::main_block(), ir::ValueKind::kUndefined);
    model.graph.add_node(model.ops.intern("", choice.op),
                         ir::Graph::main_block(), "", inputs, {&out, 1}, {});
    values_.push_back(out);
    text += std::string(choice.op) + "(";
    for (int i : choice.inputs) text += " " + std::to_string(i);
    text += " ) ";
  }

  void output(std::size_t value) {
    model.graph.add_block_output(ir::Graph::main_block(), values_[value]);
    text += "out " + std::to_string(value) + " ";
  }

  std::size_t value_count() const { return values_.size(); }

  ir::Model model;
  std::string text;

 private:
  std::vector<ir::ValueId> values_;
};

// --- Patterns ---------------------------------------------------------------

// Each recipe builds one term; made anew in every Draft.
using Recipe = std::function<TermId(Draft&)>;

std::vector<Recipe> leaves() {
  return {[](Draft& d) { return d.v("a"); }, [](Draft& d) { return d.v("b"); },
          [](Draft& d) { return d.any(); }, [](Draft& d) { return d.num(1); }};
}

std::vector<Recipe> nodes_over(const std::vector<Recipe>& first,
                               const std::vector<Recipe>& second) {
  std::vector<Recipe> out;
  for (const Recipe& a : first) {
    out.push_back([a](Draft& d) { return d.op("Neg", {a(d)}); });
    for (const Recipe& b : second) {
      for (const char* op : {"Sub", "Add"}) {
        out.push_back([a, b, op](Draft& d) {
          const TermId one = a(d);
          return d.op(op, {one, b(d)});
        });
      }
    }
  }
  return out;
}

std::vector<Recipe> compounds(const std::vector<Recipe>& nodes) {
  std::vector<Recipe> out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Recipe& p = nodes[i];
    const Recipe& q = nodes[(i * 7 + 3) % nodes.size()];
    out.push_back([p](Draft& d) { return d.maybe(p(d), d.v("a")); });
    out.push_back([p, q](Draft& d) {
      const TermId one = p(d);
      return d.either_of({one, q(d), d.v("b")});
    });
    out.push_back([p](Draft& d) { return d.context(p(d), 1); });
    out.push_back([p](Draft& d) { return d.never(p(d), 1); });
  }
  const std::vector<std::function<TermId(Draft&, TermId)>> steps = {
      [](Draft& d, TermId h) { return d.op("Neg", {h}, {}, "step"); },
      [](Draft& d, TermId h) {
        return d.op("Add", {h, d.v("s")});
      },
      [](Draft& d, TermId h) {
        return d.op("Sub", {d.any(), h});
      },
      [](Draft& d, TermId h) {
        return d.op("Add", {h, h});
      },
      [](Draft& d, TermId h) {
        return d.either_of(
            {d.op("Neg", {h}, {}, "n"), d.op("Add", {h, d.num(1)}, {}, "o")});
      },
      [](Draft& d, TermId h) {
        return d.op("Sub", {h, d.maybe(d.op("Neg", {d.v("s")}), d.v("s"))});
      }};
  for (const auto& step : steps) {
    for (const char* base : {"a", "b"}) {
      out.push_back([step, base](Draft& d) {
        const TermId made = step(d, d.hole());
        return d.many(made, d.v(base), 1);
      });
    }
    out.push_back([step](Draft& d) {
      const TermId made = step(d, d.hole());
      return d.many(made, d.op("Sub", {d.v("a"), d.v("b")}), 1);
    });
  }
  return out;
}

class Patterns {
 public:
  void add(std::vector<Recipe> results, std::vector<Recipe> conditions = {}) {
    Draft d;
    for (const Recipe& r : results) d.result(r(d));
    for (const Recipe& c : conditions) d.condition(c(d));
    if (d.error) return;
    Result<Pattern> made = d.finish();
    if (!made.ok()) {
      ++refused[made.error().what];
      return;
    }
    if (!texts_.insert(made->text()).second) return;
    patterns.push_back(std::make_unique<Pattern>(std::move(*made)));
  }

  std::vector<const Pattern*> pointers() const {
    std::vector<const Pattern*> out;
    for (const auto& p : patterns) out.push_back(p.get());
    return out;
  }

  std::vector<std::unique_ptr<Pattern>> patterns;
  std::map<std::string, int> refused;

 private:
  std::set<std::string> texts_;
};

void add_small(Patterns& out) {
  const auto flat = nodes_over(leaves(), leaves());
  for (const Recipe& p : flat) out.add({p});
  const auto few = leaves();
  const std::vector<Recipe> some(flat.begin(), flat.begin() + 9);
  const auto rich = compounds(flat);
  std::vector<Recipe> inner = flat;
  inner.insert(inner.end(), rich.begin(), rich.end());
  for (const Recipe& p : nodes_over(inner, {few[0], few[2], few[3]})) {
    out.add({p});
  }
  for (const Recipe& p : nodes_over({few[1], few[3]}, inner)) out.add({p});
  for (std::size_t i = 0; i < rich.size(); ++i) {
    const Recipe& p = rich[i];
    const Recipe& q = rich[(i * 5 + 1) % rich.size()];
    const Recipe& n = flat[(i * 11 + 2) % flat.size()];
    out.add({p});
    out.add({[p, q](Draft& d) {
      const TermId one = p(d);
      return d.op("Add", {one, q(d)});
    }});
    out.add({[p](Draft& d) {
      const TermId both = p(d);
      return d.op("Sub", {d.op("Neg", {both}), both});
    }});
    out.add({n, p});
    out.add({p, n});
    out.add({n, [p](Draft& d) { return d.op("Neg", {p(d)}); }});
  }
  for (std::size_t i = 0; i < flat.size(); ++i) {
    for (std::size_t j = i % 3; j < flat.size(); j += 3) {
      const Recipe& p = flat[i];
      const Recipe& q = flat[j];
      out.add({p, q});
      out.add({p}, {[q](Draft& d) { return d.never(q(d), 1); }});
      out.add({p}, {[q](Draft& d) { return d.context(q(d), 1); }});
      out.add({[p](Draft& d) { return d.op("Neg", {p(d)}); }, q});
    }
  }
  // Three results of which the third has nothing to do with the second.
  for (std::size_t i = 0; i < flat.size(); ++i) {
    for (std::size_t j = i % 5; j < flat.size(); j += 5) {
      const Recipe& p = flat[i];
      const Recipe& q = flat[j];
      const Recipe& r = flat[(i + 3 * j) % flat.size()];
      out.add({p, q, r});
      out.add({p, q, [](Draft& d) {
                 return d.op("Sub", {d.v("a"), d.v("d")});
               }});
      out.add({p, q, [](Draft& d) {
                 return d.op("Add", {d.v("a"), d.op("Neg", {d.v("e")})});
               }});
    }
  }
  // Conditions that hold in one alternative alone.
  for (const Recipe& p : flat) {
    for (const bool never : {false, true}) {
      out.add({[p, never](Draft& d) {
        const TermId c = p(d);
        const TermId condition = never ? d.never(c, 1) : d.context(c, 1);
        const TermId first = d.op("Neg", {d.v("a")});
        return d.op(
            "Add", {d.either({{first, {}, {condition}}, {d.v("a"), {}, {}}}, 1),
                    d.v("b")});
      }});
    }
  }
}

// Any term of the language, `depth` deep.
class RandomTerms {
 public:
  RandomTerms(Draft& d, unsigned seed) : d_(d), random_(seed) {}

  TermId term(int depth, bool in_step = false) {
    const TermId made = fresh(depth, in_step);
    if (pick(8) == 0) fact(made, nullptr);
    return made;
  }
  int pick(unsigned n) { return static_cast<int>(random_() % n); }

 private:
  TermId leaf() {
    static const char* const kNames[] = {"a", "b", "c"};
    switch (pick(8)) {
      case 0:
        return d_.any();
      case 1:
        return d_.num(1 + pick(2));
      case 2:
        return d_.transpose(d_.v("w"), 1);
      case 3:
        return d_.v("w");
      default:
        return d_.v(kNames[pick(3)]);
    }
  }

  void fact(TermId subject, std::vector<pattern::FactId>* into) {
    static const char* const kShapes[] = {"A B", "A",   "... A", "2 A",
                                          "_ B", "A A", "B"};
    const char* shape = kShapes[pick(7)];
    const auto kind =
        pick(3) == 0 ? pattern::Fact::Kind::kFits : pattern::Fact::Kind::kShape;
    const pattern::FactId made = d_.shape(subject, shape, kind);
    if (into)
      into->push_back(made);
    else
      d_.global_fact(made);
  }

  TermId f(int depth, bool in_step) {
    pattern::NodePattern p;
    p.domain = "t";
    p.type = "F";
    const int count = pick(4);
    for (int i = 0; i < count; ++i) {
      p.inputs.push_back(pick(5) == 0 ? maybe_absent()
                                      : term(depth - 1, in_step));
    }
    if (pick(3) == 0) {
      p.inputs.push_back(
          d_.rest(pick(2) ? d_.variable("r", 1) : pattern::VariableId(), 1));
    } else {
      p.open_inputs = pick(3) == 0;
    }
    if (count > 1 && pick(3) == 0) {
      for (int n = 1 + pick(3); n > 0; --n) {
        std::vector<std::uint32_t> order{0, 1, 2};
        std::shuffle(order.begin(), order.end(), random_);
        order.resize(static_cast<std::size_t>(pick(4) ? count : 1 + pick(2)));
        p.permutations.push_back(order);
      }
    }
    using Kind = pattern::AttributePattern::Kind;
    switch (pick(4)) {
      case 0:
        p.open_attributes = true;
        break;
      case 1:
        p.attributes = {{.name = "k", .kind = Kind::kInt, .i = 1}};
        break;
      case 2:
        p.attributes = {{.name = "k",
                         .kind = Kind::kVariable,
                         .variable = d_.variable(pick(2) ? "A" : "K", 1)}};
        break;
      default:
        p.attributes = {{.name = "k"}};
    }
    p.output_count = 1 + static_cast<std::uint32_t>(pick(2));
    p.open_outputs = pick(2) == 0;
    const bool tagged = pick(4) == 0;
    const auto n = d_.made(p, tagged ? "tag" : "");
    if (d_.error) return d_.any();
    return d_.output(n, static_cast<std::uint32_t>(
                            pick(static_cast<unsigned>(p.output_count))));
  }

  TermId maybe_absent() {
    return pick(2) ? d_.absent() : d_.maybe(leaf(), d_.absent());
  }

  TermId choice(int depth, bool in_step) {
    std::vector<pattern::Alternative> all;
    for (int n = 2 + pick(2); n > 0; --n) {
      pattern::Alternative one;
      one.term = term(depth - 1, in_step);
      if (pick(4) == 0) fact(pick(2) ? one.term : d_.v("a"), &one.facts);
      if (pick(8) == 0) {
        const TermId p = term(depth - 1, in_step);
        one.conditions.push_back(pick(2) ? d_.never(p, 1) : d_.context(p, 1));
      }
      all.push_back(std::move(one));
    }
    return d_.either(std::move(all), 1);
  }

  TermId chain(int depth, bool in_step) {
    const TermId h = d_.hole();
    const int kind = pick(4);
    const TermId rest = term(depth - 1, true);
    TermId step;
    if (kind == 0)
      step = d_.op("Add", {h, rest});
    else if (kind == 1)
      step = d_.op("Sub", {d_.op("Neg", {h}), rest});
    else if (kind == 2)
      step = d_.op("Sub", {rest, h});
    else
      step = d_.maybe(d_.op("Neg", {h}, {}, "n"), d_.op("Add", {h, h}));
    const TermId base = term(depth - 1, in_step);
    return d_.many(step, base, 1);
  }

  TermId fresh(int depth, bool in_step) {
    if (depth == 0 || pick(6) == 0) return leaf();
    const char* binary = pick(2) ? "Add" : "Sub";
    switch (pick(13)) {
      case 0:
        return d_.op("Neg", {term(depth - 1, in_step)});
      case 1:
      case 2:
        return choice(depth, in_step);
      case 3:
        return chain(depth, in_step);
      case 4:
        return d_.context(term(depth - 1, in_step), 1);
      case 5: {
        const TermId p = term(depth - 1, in_step);
        return d_.op(binary, {p, d_.never(term(depth - 1, in_step), 1)});
      }
      case 6: {
        const TermId shared = term(depth - 1, in_step);
        return d_.op("Sub", {d_.op("Neg", {shared}), shared});
      }
      case 7:
      case 8:
        return f(depth, in_step);
      default: {
        const TermId p = term(depth - 1, in_step);
        return d_.op(binary, {p, term(depth - 1, in_step)});
      }
    }
  }

  Draft& d_;
  std::mt19937 random_;
};

void add_random(Patterns& out, unsigned seed, int count) {
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    const unsigned results = random() % 3 == 0 ? 1 + random() % 3 : 1;
    std::vector<Recipe> all, conditions;
    for (unsigned r = 0; r < results; ++r) {
      const unsigned own = random();
      all.push_back([own](Draft& d) { return RandomTerms(d, own).term(3); });
    }
    if (random() % 4 == 0) {
      const unsigned own = random();
      conditions.push_back([own](Draft& d) {
        RandomTerms terms(d, own);
        const TermId p = terms.term(2);
        return terms.pick(2) ? d.never(p, 1) : d.context(p, 1);
      });
    }
    out.add(std::move(all), std::move(conditions));
  }
}

// --- Comparing --------------------------------------------------------------

class Comparison {
 public:
  explicit Comparison(const Patterns& patterns)
      : pointers_(patterns.pointers()), program_(compile(pointers_)) {
    for (const Pattern* p : pointers_) prepared_.push_back(prepare(*p));
    // Some pairs of which one pattern is said to cover the other.
    const std::size_t stride = 1 + pointers_.size() / 500;
    for (std::uint32_t a = 0; a < pointers_.size(); ++a) {
      for (std::uint32_t b = a % stride; b < pointers_.size(); b += stride) {
        if (a != b && covers(*pointers_[a], *pointers_[b])) {
          covering.emplace_back(a, b);
        }
      }
    }
  }

  void check(World& world) {
    ir::Graph& graph = world.model.graph;
    DeclaredFacts facts(graph);
    Machine machine(program_, graph, facts);
    NodeView view(graph, facts);
    std::vector<Match> found;
    for (std::size_t n = 0; n < graph.node_count(); ++n) {
      const ir::NodeId root(n);
      found.clear();
      machine.run(root, {}, found);
      std::vector<bool> fits(pointers_.size());
      for (const Match& m : found) fits[m.rule] = true;
      for (const auto& [general, special] : covering) {
        if (!fits[special] || fits[general]) continue;
        MESSAGE(world.text, "\n", pointers_[general]->text(),
                "does not cover\n", pointers_[special]->text());
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
    MESSAGE("graph ", world.text, " root ", root.index(), "\n", one->text(),
            compile({&one, 1}).dump());
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

// All nodes that could come next when there are `values` values.
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

// Every graph of `size` nodes over `base`, and every set of outputs with the
// last node in it; each `stride`-th.
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
  all_graphs(1, {0, 1, 2, 3, 4}, 1, visit);
  all_graphs(2, {0, 2, 3}, 1, visit);
  all_graphs(3, {0, 2}, 67, visit);
  all_graphs(4, {0, 2}, 20011, visit);
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
    // Mostly what was made last, so that chains and sharing come about.
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
        world.add_f(f);
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
  add_random(patterns, seed, 6000);
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
