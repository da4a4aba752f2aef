#include "bindings/lua/sandbox/strings_pattern.h"

#include <doctest/doctest.h>

#include <lua.hpp>
#include <string>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/strings_pattern.h"

namespace ruleengine::lua {
namespace {

// Each line is an expression that must be true, according to Lua's manual.
constexpr const char* kTrue[] = {
    // find
    R"~(select("#", ("abc"):find("x")) == 1 and ("abc"):find("x") == nil)~",
    R"~(("hello"):find("l") == 3 and select(2, ("hello"):find("ll")) == 4)~",
    R"~(("hello"):find("l", -2) == 4 and ("hello"):find("", 10) == nil)~",
    R"~(("hello"):find("", 6) == 6 and ("hello"):find("h", -100) == 1)~",
    R"~(("a.b"):find(".", 1, true) == 2 and ("a+b"):find("+", 1, true) == 2)~",
    R"~(select("#", ("key = value"):find("(%w+) = (%w+)")) == 4)~",
    R"~(("a\0b"):find("\0") == 2)~",
    R"~(("x^y"):find("^x") == 1 and ("x^y"):find("x^y") == 1)~",
    R"~(("price$"):find("$", 1, true) == 6 and ("a$b"):find("a$b") == 1)~",
    // match
    R"~(("key = value"):match("^(%w+)%s*=%s*(%w+)$") == "key")~",
    R"~(("2024-05-06"):match("%d+-(%d+)") == "05")~",
    R"~(("abc"):match("()b()") == 2 and select(2, ("abc"):match("()b()")) == 3)~",
    R"~(("[[x]]"):match("%[%[(.-)%]%]") == "x")~",
    R"~(("f(a(b)c)d"):match("%b()") == "(a(b)c)")~",
    R"~(("THE (quick) fox"):find("%f[%a]%a+%f[%A]") == 1)~",
    R"~(("abc123"):match("%a+%d-$") == "abc123")~",
    R"~(("aaa"):match("a-") == "" and ("aaa"):match("a-$") == "aaa")~",
    R"~(("xx=xx"):match("(x+)=%1") == "xx" and ("xx=x"):match("^(x+)=%1$") == nil)~",
    R"~(("a-b"):match("[a-c%-]+") == "a-b" and ("]"):match("[]]") == "]")~",
    R"~(("^"):match("[x^]") == "^" and ("a"):match("[^%s]") == "a")~",
    R"~(("éa"):match("[^\128-\255]") == "a")~",
    R"~(("0x1F"):match("^0[xX](%x+)$") == "1F")~",
    R"~(("  trim "):match("^%s*(.-)%s*$") == "trim")~",
    R"~(("aXb"):match("%u") == "X" and ("aXb"):match("%U") == "a")~",
    R"~(("color"):match("colou?r") == "color")~",
    R"~(("ac"):match("ab?c") == "ac" and ("abbc"):match("ab?c") == nil)~",
    R"~(("abab"):match("^(ab)+$") == nil)~",
    R"~(select("#", ("xxy"):match("x*(.)y")) == 1 and ("xxy"):match("x*(.)y") == "x")~",
    // gmatch
    R"~((function() local n = 0 for _ in ("a b c"):gmatch("%a") do n = n + 1 end return n end)() == 3)~",
    R"~((function() local t = {} for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do t[k] = v end return t.a .. t.b end)() == "12")~",
    R"~((function() local n = 0 for _ in ("abc"):gmatch("") do n = n + 1 end return n end)() == 4)~",
    // gsub
    R"~(("hello world"):gsub("o", "0") == "hell0 w0rld")~",
    R"~(select(2, ("hello world"):gsub("o", "0")) == 2)~",
    R"~(("hello"):gsub("l", "L", 1) == "heLlo" and ("hello"):gsub("l", "L", 0) == "hello")~",
    R"~(("abc"):gsub("%w", "%0%0") == "aabbcc" and ("abc"):gsub("", "-") == "-a-b-c-")~",
    R"~(("hello world"):gsub("(%w+) (%w+)", "%2 %1") == "world hello")~",
    R"~(("abc"):gsub("b", "%%") == "a%c" and ("abc"):gsub("^a", "x") == "xbc")~",
    R"~(("$x $y"):gsub("%$(%w)", {x = 1}) == "1 $y")~",
    R"~(("abc"):gsub("%w", function(c) if c == "b" then return "B" end end) == "aBc")~",
    R"~(("abc"):gsub("b*", "x") == "xaxxcx")~",
    R"~(not pcall(string.gsub, "a", "a", "%2") and not pcall(string.gsub, "a", "a", "%"))~",
    R"~(not pcall(string.gsub, "a", "a", function() return {} end))~",
    // format, rep and the rest
    R"~(("%5.2f|%d|%-4s|%04d|%+d"):format(1.234, 3, "x", 7, 2) == " 1.23|3|x   |0007|+2")~",
    R"~(("%x %X %o %e %g %%"):format(255, 255, 8, 1.5, 0.1) == "ff FF 10 1.500000e+00 0.1 %")~",
    R"~(("%q"):format('a "b"\n') == [["a \"b\"\n"]])~",
    R"~(("%s %s %s"):format(nil, true, {}) == "nil true table")~",
    R"~(("%.2s|%5s|%c"):format("abc", "ab", 65) == "ab|   ab|A")~",
    R"~(not pcall(string.format, "%y", 1) and not pcall(string.format, "%d"))~",
    R"~(not pcall(string.format, "%123d", 1) and not pcall(string.format, "%"))~",
    R"~(("x"):rep(3, "-") == "x-x-x" and ("ab"):rep(2) == "abab" and ("x"):rep(0) == "")~",
    R"~(("abc"):upper() == "ABC" and ("abc"):sub(-2) == "bc" and #"abc" == 3)~",
    R"~(("abc"):byte(2) == 98 and string.char(97, 98) == "ab" and ("abc"):reverse() == "cba")~",
    R"~(string.dump == nil and ("x").rep ~= nil and ("x").foo == nil)~",
};

TEST_CASE("string functions work as in Lua's manual") {
  auto sandbox = *Sandbox::create({});
  for (const char* expression : kTrue) {
    const std::string text = std::string("return ") + expression;
    CAPTURE(text);
    REQUIRE(sandbox->compile(text, "t.lua", 0).ok());
    const Status status =
        sandbox->call(0, 1, Sandbox::Budget::kLoad, "expression");
    CHECK_MESSAGE(status.ok(), (status ? "" : status.error().text()));
    if (!status) continue;
    CHECK(lua_toboolean(sandbox->state(), -1) == 1);
    lua_pop(sandbox->state(), 1);
  }
}

TEST_CASE("malformed patterns") {
  for (const char* pattern : {"(", ")", "a)", "%", "[a", "[", "[^", "[%", "%b",
                              "%bx", "%f", "%fa", "%1", "(%1)", "%0", "[a-"}) {
    CAPTURE(std::string(pattern));
    CHECK(!TextPattern::compile(pattern, true).ok());
  }
  CHECK(!TextPattern::compile(std::string(5000, 'a'), true).ok());
}

// Random bytes as a pattern on random bytes: a result or an error, in bounded
// time.
TEST_CASE("random patterns end in bounded time") {
  std::uint32_t seed = 1;
  const auto next = [&seed] { return seed = seed * 1664525u + 1013904223u; };
  const std::string_view letters = "ab()[]%^$*+-?.,bf1wd\xff";
  int found = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string pattern, text;
    for (std::uint32_t n = next() >> 28; n > 0; --n) {
      pattern += letters[(next() >> 16) % letters.size()];
    }
    for (std::uint32_t n = next() >> 27; n > 0; --n) {
      text += letters[(next() >> 16) % letters.size()];
    }
    const Result<TextPattern> compiled = TextPattern::compile(pattern, true);
    if (!compiled) {
      ++refused;
      continue;
    }
    const auto match = compiled.value().find(text, 0, {});
    REQUIRE(match.ok());
    if (!*match) continue;
    ++found;
    REQUIRE((*match)->begin <= (*match)->end);
    REQUIRE((*match)->end <= text.size());
    for (int c = 0; c < (*match)->captures; ++c) {
      const auto& capture = (*match)->capture[static_cast<std::size_t>(c)];
      REQUIRE(capture.begin + capture.size <= text.size());
    }
  }
  CHECK(found > 1000);
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace ruleengine::lua
