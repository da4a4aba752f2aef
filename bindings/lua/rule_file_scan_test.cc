#include "bindings/lua/rule_file_scan.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ruleengine::lua {
namespace {

std::string names(const std::vector<SourceScan::Use>& uses) {
  std::string all;
  for (const SourceScan::Use& use : uses) {
    (all += all.empty() ? "" : " ") += use.name + std::to_string(use.line);
  }
  return all;
}

TEST_CASE("lines of keys and elements") {
  const SourceScan scan(
      "#!/usr/bin/lua\n--[==[ rule { a = 1 ]] ]==] local x = 'rule {'\n"
      "return rule {\n  a = 1,\n  b = {c = 2, {d = 3}},\n"
      "  f = function() local t = {e = 1} if t then return {f = 1} end end,\n"
      "  list = {\n    {1},\n\n    f{2}, 'x' },\n  c = [[\n\n]], last = 1 }");
  CHECK(scan.word_line("rule") == 3);
  CHECK(scan.key_line("rule", "a") == 4);
  CHECK(scan.key_line("rule", "b") == 5);
  CHECK(scan.key_line("rule", "c") == 11);
  CHECK(scan.key_line("rule", "last") == 13);
  CHECK(scan.key_line("rule", "d") == 0);
  CHECK(scan.key_line("rule", "e") == 0);
  CHECK(scan.key_line("pack", "a") == 0);
  CHECK(scan.element_lines("rule", "list") == std::vector<int>{8, 10, 10});
  CHECK(SourceScan("return pack({\n'a',\nx = 1, 'b'})")
            .element_lines("pack", "") == std::vector<int>{2, 3});
}

TEST_CASE("reads and writes of a match") {
  const auto uses = [](const std::string& body, bool list = false) {
    return SourceScan("where = function(a, m)\n" + body + "\nend")
        .uses("where", 1, 1, list);
  };
  CHECK(names(uses("return m.x + m.y.z, t.m.no, m['w']").reads) == "x2 y2 w2");
  const auto both = uses(
      "m.a = m.b\nm.c, t.x, m.d = 1, m.e\nf(m.g, m.h)\n"
      "local t = {m.i, k = m.j}\nif m.k == 1 then m.l = 2 "
      "end");
  CHECK(names(both.writes) == "a2 c3 d3 l6");
  CHECK(names(both.reads) == "b2 e3 g4 h4 i5 j5 k6");
  CHECK(names(uses("return m.options.loose").options) == "loose2");
  CHECK(names(uses("f(function(m) return m.inner end) return m.outer").reads) ==
        "outer2");
  CHECK(names(uses("return m[1].a, m[#m].b, m:all 'c', m:all('d'), m.e", true)
                  .reads) == "a2 b2 c2 d2");
}

TEST_CASE("literals that Lua has not") {
  for (const char* text : {"x = 1LL", "x = 0x1FULL", "x = 2i", "\nx = 1.5I"}) {
    CHECK(SourceScan(text).foreign_literal_line() > 0);
  }
  for (const char* text : {"x = 1e-5", "x = 0xFFp+2", "x = '1LL'", "l1LL = 1",
                           "-- 1LL", "x = 1 .. 2", "x = .5"}) {
    CHECK(SourceScan(text).foreign_literal_line() == 0);
  }
}

}  // namespace
}  // namespace ruleengine::lua
