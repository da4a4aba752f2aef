// Small patterns for the tests that compare Machine and oracle: systematic and
// random ones.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/match_draft.h"
#include "tests/support/pattern_text.h"

namespace ruleengine::match::testing {

// Each recipe builds one term, in any Draft.
using Recipe = std::function<TermId(Draft&)>;

inline std::vector<Recipe> leaves() {
  return {[](Draft& d) { return d.v("a"); }, [](Draft& d) { return d.v("b"); },
          [](Draft& d) { return d.any(); }, [](Draft& d) { return d.num(1); }};
}

inline std::vector<Recipe> nodes_over(const std::vector<Recipe>& first,
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

inline std::vector<Recipe> compounds(const std::vector<Recipe>& nodes) {
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
      return d.chain(made, d.op("Sub", {d.v("a"), d.v("b")}), "steps");
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
    if (!texts_.insert(pattern::text_of(*made)).second) return;
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

inline void add_small(Patterns& out) {
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
  // Three results; the third does not depend on the second.
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
  // Conditions that hold in one alternative only.
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

// Random terms of the language, `depth` deep.
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
      step = d_.op(pick(3) ? "Add" : "elementwise_binary", {h, rest});
    else if (kind == 1)
      step = d_.op("Sub", {d_.op("Neg", {h}), rest});
    else if (kind == 2)
      step = d_.op("Sub", {rest, h});
    else
      step = d_.maybe(d_.op("Neg", {h}, {}, "n"), d_.op("Add", {h, h}));
    const TermId base = term(depth - 1, in_step);
    static constexpr const char* kNames[] = {"", "steps", "others"};
    return d_.chain(step, base, kNames[pick(3)]);
  }

  TermId fresh(int depth, bool in_step) {
    if (depth == 0 || pick(6) == 0) return leaf();
    static constexpr const char* kBinary[] = {"Sub", "Add", "Sub", "Add",
                                              "elementwise_binary"};
    const char* binary = kBinary[pick(5)];
    switch (pick(13)) {
      case 0:
        return d_.op(pick(4) ? "Neg" : "elementwise_unary",
                     {term(depth - 1, in_step)});
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

inline void add_random(Patterns& out, unsigned seed, int count) {
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

}  // namespace ruleengine::match::testing
