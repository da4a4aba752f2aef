#include "core/rewrite/precedence.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ruleengine::rewrite {
namespace {

using After = std::vector<std::string>;

struct Given {
  const char* name;
  const char* qualified;
  After after;
  Phase phase = Phase::kLinear;
};

Result<std::vector<std::uint32_t>> levels_of(const std::vector<Given>& rules) {
  std::vector<Precedent> out;
  for (const Given& g : rules) {
    out.push_back({.name = g.name,
                   .qualified = g.qualified,
                   .file = g.qualified,
                   .line = 7,
                   .phase = g.phase,
                   .after = g.after});
  }
  return levels(out);
}

TEST_CASE("one level above the rules that it runs after") {
  const auto found = levels_of({{"a", "g/a", {"c", "g/c", "unknown"}},
                                {"b", "g/b", {"a"}},
                                {"c", "g/c", {}},
                                {"d", "g/d", {"e"}},
                                {"e", "g/e", {}, Phase::kTarget},
                                {"f", "g/f", {"c", "b"}}});
  REQUIRE(found.ok());
  CHECK(*found == std::vector<std::uint32_t>{1, 2, 0, 0, 0, 3});
}

TEST_CASE("a name means every rule with that name") {
  const auto found =
      levels_of({{"x", "g/x", {}}, {"x", "h/x", {"g/x"}}, {"y", "h/y", {"x"}}});
  REQUIRE(found.ok());
  CHECK(*found == std::vector<std::uint32_t>{0, 1, 2});
}

TEST_CASE("a cycle, without the rules that run after it") {
  const auto found = levels_of({{"a", "g/a", {"b"}},
                                {"b", "g/b", {"c"}},
                                {"c", "g/c", {"b"}},
                                {"d", "g/d", {}}});
  REQUIRE(!found.ok());
  CHECK(found.error().kind == ErrorKind::kRule);
  CHECK(found.error().what == "rule 'g/b' runs after itself");
  CHECK(found.error().where == "g/b:7");
  CHECK(found.error().found == "g/b after g/c after g/b");
}

TEST_CASE("a rule that names itself") {
  for (const char* name : {"a", "g/a"}) {
    const auto found = levels_of({{"b", "g/b", {}}, {"a", "g/a", {name}}});
    REQUIRE(!found.ok());
    CHECK(found.error().what == "rule 'g/a' runs after itself");
    CHECK(found.error().hint == "`after` must name other rules");
  }
}

}  // namespace
}  // namespace ruleengine::rewrite
