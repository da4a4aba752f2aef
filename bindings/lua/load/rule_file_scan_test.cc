#include "bindings/lua/load/rule_file_scan.h"

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
  const SourceScan lib(
      "local a = lib 'a'\nreturn rule(a.rule {\n b = 1, "
      "list = {\n 1,\n 2}})");
  CHECK(lib.word_line("rule") == 2);
  CHECK(lib.key_line("rule", "b") == 3);
  CHECK(lib.element_lines("rule", "list") == std::vector<int>{4, 5});
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

TEST_CASE("lines of entries") {
  const SourceScan scan(
      "return rule {\n body = {\n ['a.B'] = [[\n]], [\"c.D\"] = f(\n),\n"
      " E = {['F'] = 1} },\n ['G'] = 1 }");
  CHECK(scan.entry_line("rule", "body", "a.B") == 3);
  CHECK(scan.entry_line("rule", "body", "c.D") == 4);
  CHECK(scan.entry_line("rule", "body", "F") == 0);
  CHECK(scan.entry_line("rule", "body", "G") == 0);
}

TEST_CASE("the last string of each element") {
  const std::string text =
      "return rule { examples = { {'a', [==[b]==]}, {'a', k = 'c', "
      "\"d\\\"\"},\n"
      "{'a', 'e', k = 'f'}, {'a' .. 'b'}, {'g', f 'h'}, x, {}, {['i'] = 'j'},\n"
      "{'k'; [[\n l]];} } }";
  std::string all;
  for (const auto& [begin, end] :
       SourceScan(text).last_strings("rule", "examples")) {
    all += text.substr(begin, end - begin) + "|";
  }
  CHECK(all == "[==[b]==]|\"d\\\"\"|'e'||||||[[\n l]]|");
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

TEST_CASE("a match's names compared with literals") {
  const auto compared = [](const std::string& body) {
    std::string all;
    for (const auto& one : SourceScan("where = function(m)\n" + body + "\nend")
                               .uses("where", 1, 0, false)
                               .compared) {
      const std::string field = one.field.empty() ? "" : "." + one.field;
      all += one.name + field + "=" + one.literal + " ";
    }
    return all;
  };
  CHECK(compared("if m.x == 1 or 'a' ~= m.y then return m.z ~= true end") ==
        "x=1 y=a z=true ");
  CHECK(compared("return m.x.shape == {2, 3}, m.x.shape == m.y.shape") ==
        "x.shape={ ");
  CHECK(compared("return m.x.dtype == 'float32', 2 ~= m.x.rank") ==
        "x.dtype=float32 x.rank=2 ");
  CHECK(compared("return m.x == nil, m.y == m.z, m.x:f() == 1, m.x.y.z == 1") ==
        "");
  CHECK(
      compared("return m.x + 1 == 2, 1 == m.x.D.E, f 'a' == m.x, #m.x == 1") ==
      "");
}

TEST_CASE("parameters compared with literals") {
  const auto compared = [](const std::string& body) {
    std::string all;
    for (const auto& one :
         SourceScan("match = function(op, x, y)\n" + body + "\nend")
             .comparisons("match", 1)) {
      all += one.name + std::to_string(one.line) + "=" + one.literal + " ";
    }
    return all;
  };
  CHECK(compared("if x == 1 then end\nif nil ~= y or y == 'a' then end") ==
        "x2=1 y3=nil y3=a ");
  CHECK(compared("local f = function(z) return z == 1, x == -1 end") ==
        "x2=-1 ");
  CHECK(compared("return op.Add{x, y, axis = x == 1}") == "x2=1 ");
  // The name may be bound to another value there.
  for (const char* hidden :
       {"local x = 1 if x == 1 then end", "x = f(x) if x == 1 then end",
        "local y, x = f() return x == 1", "y, x = f() return x == 1",
        "for i, x in f() do g(x == 1) end", "for x = 1, 2 do g(x == 1) end",
        "f(function(x) return x == 1 end)",
        "f(function() x = 1 end) return x == 1",
        "local function x() end return x == 1"}) {
    CHECK_MESSAGE(compared(hidden) == "", hidden);
  }
  for (const char* other :
       {"return x == y, t.x == 1, t:x() == 1, x.T == 1, not x == 1, #x == 1",
        "return f'a' == x, f()'a' == x, 1 == x.T, 1 == x:f(), 2 == x(1)",
        "return 1 == x + 1, x .. 'a' == 'b', {x = 1, y = 2}, 'x == 1'"}) {
    CHECK_MESSAGE(compared(other) == "", other);
  }
}

TEST_CASE("literals that are not valid in Lua") {
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
