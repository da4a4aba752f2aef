#include "core/match/program.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/match/overlap.h"
#include "tests/support/match_draft.h"
#include "tests/support/program_text.h"

namespace ruleengine::match {
namespace {

using Build = std::function<TermId(Draft&)>;

std::vector<Pattern> made(const std::vector<Build>& builds) {
  std::vector<Pattern> out;
  for (const Build& build : builds) {
    Draft d;
    const TermId result = build(d);
    auto pattern = d.done({result});
    REQUIRE_MESSAGE(pattern.ok(), pattern.error().text());
    out.push_back(std::move(*pattern));
  }
  return out;
}

std::vector<const Pattern*> pointers(const std::vector<Pattern>& patterns) {
  std::vector<const Pattern*> out;
  for (const Pattern& p : patterns) out.push_back(&p);
  return out;
}

std::string dump(const std::vector<Build>& builds) {
  const std::vector<Pattern> patterns = made(builds);
  return text_of(compile(pointers(patterns)));
}

TEST_CASE("programs as text") {
  struct Row {
    std::vector<Build> rules;
    const char* expected;
  };
  const Row rows[] = {
      // Heads of all inputs come before the nodes below the first one.
      {{[](Draft& d) {
         const TermId x = d.v("x");
         return d.op("Sub", {d.op("Neg", {x}), d.op("Abs", {x})});
       }},
       R"(Sub:
  node r0 Sub -> r1
  default r1 except []
  unread r1 1
  inputs r1 [0,1] -> r2
  node r2 Neg -> r4
  default r4 except []
  unread r4 1
  closed r4:0 or Abs
  node r3 Abs -> r5
  default r5 except []
  unread r5 1
  closed r5:0 or none
  inputs r4 [0] -> r6
  present r6
  inputs r5 [0] -> r7
  same r7 r6
  match 0
)"},
      // A literal is tested before anything below it; a common beginning of two
      // rules occurs once.
      {{[](Draft& d) {
          return d.op("Mul", {d.op("Neg", {d.v("x")}), d.num(1)});
        },
        [](Draft& d) {
          return d.op("Mul", {d.op("Neg", {d.v("x")}), d.num(2)});
        },
        [](Draft& d) {
          return d.op("Mul", {d.op("Abs", {d.v("x")}), d.num(2)});
        }},
       R"(Mul:
  node r0 Mul -> r1
  default r1 except []
  unread r1 1
  inputs r1 [0,1] [1,0] -> r2
    node r2 Neg -> r4
    default r4 except []
    unread r4 1
    closed r4:0 or none
      number r3 1
      inputs r4 [0] -> r5
      present r5
      match 0
      number r3 2
      inputs r4 [0] -> r5
      present r5
      match 1
    node r2 Abs -> r4
    default r4 except []
    unread r4 1
    closed r4:0 or none
    number r3 2
    inputs r4 [0] -> r5
    present r5
    match 2
)"},
      // Alternatives are blocks that join again: they are not multiplied out.
      {{[](Draft& d) {
         const TermId x = d.v("x");
         const TermId a = d.maybe(d.op("Neg", {x}), x);
         return d.op("Relu", {d.maybe(d.op("Abs", {a}), a)});
       }},
       R"(Relu:
  node r0 Relu -> r1
  default r1 except []
  unread r1 1
  inputs r1 [0] -> r2
  either r2 Abs:block 3 any:block 4
  match 0
block 0:
  node r5 Neg -> r6
  default r6 except []
  unread r6 1
  closed r6:0 or Abs
  inputs r6 [0] -> r7
  bind r7 -> r8
block 1:
  bind r5 -> r8
block 2:
  either r5 Neg:block 0 any:block 1
block 3:
  node r2 Abs -> r3
  default r3 except []
  unread r3 1
  closed r3:0 or Neg
  inputs r3 [0] -> r4
  enter r4 -> r5 block 2
block 4:
  enter r2 -> r5 block 2
)"},
      // A chain is a loop with a frame for each step.
      {{[](Draft& d) {
         const TermId step = d.op("Add", {d.hole(), d.v("b")});
         return d.op("Relu", {d.many(step, d.v("x"), 1)});
       }},
       R"(Relu:
  node r0 Relu -> r1
  default r1 except []
  unread r1 1
  inputs r1 [0] -> r2
  many r2 step r1.1 Add:block 0 hole r1.0 base r3 any:block 1
  match 0
block 0:
  node r1.1 Add -> r1.2
  default r1.2 except []
  unread r1.2 1
  closed r1.2:0 or none
  inputs r1.2 [0,1] [1,0] -> r1.3
  present r1.3
  same r1.3 -> r1.0
  bind r1.4 -> r1.5
block 1:
  bind r3 -> r4
)"},
  };
  for (const Row& row : rows) CHECK(dump(row.rules) == row.expected);
}

TEST_CASE("siblings and conditions as text") {
  Draft d;
  const TermId x = d.v("x");
  d.condition(d.never(d.op("Abs", {x}), 1));
  auto pattern = d.done({d.op("Neg", {x}), d.op("Relu", {x})});
  REQUIRE(pattern.ok());
  const Pattern* one = &*pattern;
  CHECK(text_of(compile({&one, 1})) == R"(Neg:
  node r0 Neg -> r1
  default r1 except []
  unread r1 1
  inputs r1 [0] -> r2
  present r2
  find r3 r2 up Relu 1
  differ r3 r0
  node r3 Relu -> r4
  differ r4 r1
  default r4 except []
  unread r4 1
  inputs r4 [0] -> r5
  same r5 r2
  table never r6 block 0
  conditions
  nevers
  match 0
block 0:
  node r6 Abs -> r7
  default r7 except []
  inputs r7 [0] -> r8
  same r8 r2
  conditions
  nevers
)");
}

TEST_CASE("the depth that a program reads") {
  const auto reach = [](const Build& build) {
    const std::vector<Pattern> patterns = made({build});
    return compile(pointers(patterns)).reach();
  };
  CHECK(reach([](Draft& d) { return d.op("Neg", {d.v("x")}); }) == 1);
  CHECK(
      reach([](Draft& d) {
        return d.op("Add", {d.op("Neg", {d.op("Abs", {d.v("x")})}), d.v("y")});
      }) == 3);
  CHECK(reach([](Draft& d) {
          return d.op("Neg", {d.many(d.op("Abs", {d.hole()}), d.v("x"), 1)});
        }) == 0);
}

TEST_CASE("a program grows with the sum of its rules, not their product") {
  std::vector<Build> builds;
  for (int i = 0; i < 300; ++i) {
    builds.push_back([i](Draft& d) {
      return d.op("Mul", {d.op("Neg", {d.v("x")}), d.num(i)});
    });
  }
  const std::string text = dump(builds);
  // A few lines for each rule.
  CHECK(std::count(text.begin(), text.end(), '\n') < 300 * 5);
  // Twelve optional nodes in a row: 4096 ways, but one line for each node.
  const std::string chain = dump({[](Draft& d) {
    TermId x = d.v("x");
    for (int i = 0; i < 12; ++i) x = d.maybe(d.op("Neg", {x}, {}, ""), x);
    return d.op("Relu", {x});
  }});
  CHECK(std::count(chain.begin(), chain.end(), '\n') < 12 * 12);
}

TEST_CASE("an earlier pattern that always matches") {
  const Build add = [](Draft& d) { return d.op("Add", {d.v("x"), d.v("y")}); };
  const Build add_relu = [](Draft& d) {
    return d.op("Add", {d.op("Relu", {d.v("x")}), d.v("y")});
  };
  const Build twice = [](Draft& d) {
    const TermId x = d.v("x");
    return d.op("Add", {x, x});
  };
  const Build gelu = [](Draft& d) {
    const TermId x = d.v("x");
    return d.op("Mul", {x, d.op("Sigmoid", {x})});
  };
  const Build gelu_of_relu = [](Draft& d) {
    const TermId x = d.op("Relu", {d.v("z")});
    return d.op("Mul", {x, d.op("Sigmoid", {x})});
  };
  const Build beside = [](Draft& d) {
    return d.op("Mul", {d.v("x"), d.op("Sigmoid", {d.op("Relu", {d.v("z")})})});
  };
  const auto found = [](const std::vector<Build>& builds) {
    const std::vector<Pattern> patterns = made(builds);
    std::vector<Tried> tried;
    for (const Pattern& p : patterns) tried.push_back({&p, true});
    return shadowed(tried);
  };
  using Shadows = std::vector<Shadow>;
  CHECK(found({add, add_relu}) == Shadows{{1, 0}});
  CHECK(found({add_relu, add}).empty());
  CHECK(found({add, twice}) == Shadows{{1, 0}});
  CHECK(found({twice, add}).empty());
  CHECK(found({gelu, gelu_of_relu}) == Shadows{{1, 0}});
  CHECK(found({gelu, beside}).empty());
  CHECK(found({add, add}) == Shadows{{1, 0}});
  const auto shaped = [&](const char* letters) -> Build {
    return [letters](Draft& d) {
      const TermId x = d.v("x");
      d.global_fact(d.shape(x, letters));
      return d.op("Neg", {x});
    };
  };
  CHECK(found({shaped("A B"), shaped("C D")}) == Shadows{{1, 0}});
  CHECK(found({shaped("A A"), shaped("C D")}).empty());
  CHECK(found({shaped("A B"), shaped("2 D")}).empty());
  CHECK(found({shaped("_ _"), shaped("2 D")}) == Shadows{{1, 0}});
  // Which of many, and not one that may say no.
  const Build relu = [](Draft& d) { return d.op("Relu", {d.v("x")}); };
  CHECK(found({gelu, add_relu, relu, add, twice, add_relu, gelu_of_relu}) ==
        Shadows{{4, 3}, {5, 1}, {6, 0}});
  const std::vector<Pattern> two = made({add, add_relu});
  CHECK(
      shadowed(std::vector<Tried>{{&two[0], false}, {&two[1], true}}).empty());
}

}  // namespace
}  // namespace ruleengine::match
