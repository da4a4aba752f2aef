#include "bindings/lua/sandbox/sandbox.h"

#include <doctest/doctest.h>

#include <lua.hpp>
#include <string>

#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {
namespace {

using Budget = Sandbox::Budget;

std::unique_ptr<Sandbox> make(SandboxLimits limits = {}) {
  auto sandbox = Sandbox::create(limits);
  REQUIRE(sandbox.ok());
  return *std::move(sandbox);
}

// Runs a chunk; returns its error, if any.
Status run(Sandbox& sandbox, std::string_view text,
           Budget budget = Budget::kLoad, const std::string& name = "t.lua") {
  const int top = lua_gettop(sandbox.state());
  Status status = sandbox.compile(text, name, 0);
  if (status) status = sandbox.call(0, 0, budget, "the chunk");
  CHECK(lua_gettop(sandbox.state()) == top);
  return status;
}

TEST_CASE("values are returned, and the stack is restored") {
  auto sandbox = make();
  lua_State* state = sandbox->state();
  REQUIRE(sandbox->compile("local a, b = ... return a + b, a * b", "t.lua", 0)
              .ok());
  lua_pushnumber(state, 3);
  lua_pushnumber(state, 4);
  REQUIRE(sandbox->call(2, 2, Budget::kCallback, "f").ok());
  CHECK(lua_tonumber(state, 1) == 7);
  CHECK(lua_tonumber(state, 2) == 12);
  CHECK(sandbox->peak_bytes() >= sandbox->bytes());
}

TEST_CASE("words of the file shadow those of the sandbox") {
  auto sandbox = make();
  lua_State* state = sandbox->state();
  lua_newtable(state);
  lua_pushliteral(state, "mine");
  lua_setfield(state, -2, "word");
  REQUIRE(sandbox->compile("return word, math.floor(2.5)", "t.lua", 1).ok());
  REQUIRE(sandbox->call(0, 2, Budget::kLoad, "f").ok());
  CHECK(std::string(lua_tostring(state, -2)) == "mine");
  CHECK(lua_tonumber(state, -1) == 2);
}

TEST_CASE("an error has file and line, for any file name") {
  auto sandbox = make();
  const std::string long_name =
      "/some/folder/" + std::string(200, 'x') + "/a\nb: evil.lua";
  for (const std::string& name : {std::string("t.lua"), long_name}) {
    const Status status =
        run(*sandbox, "\n\nlocal x = nil + 1", Budget::kLoad, name);
    REQUIRE(!status.ok());
    CHECK(status.error().kind == ErrorKind::kRule);
    CHECK(status.error().where == name + ":3");
    CHECK(status.error().what.starts_with("attempt to perform arithmetic"));
  }
  // Two files with the same name are distinguished.
  CHECK(run(*sandbox, "error('a')", Budget::kLoad, "a/t.lua").error().where ==
        "a/t.lua:1");
  CHECK(run(*sandbox, "error('b')", Budget::kLoad, "b/t.lua").error().where ==
        "b/t.lua:1");
}

TEST_CASE("an error about a value without a name shows its line") {
  auto sandbox = make();
  const auto found = [&](const char* text) {
    const Status status = run(*sandbox, text);
    REQUIRE(!status.ok());
    return status.error().found;
  };
  CHECK(found("local t = {}\n  local y = t[1].x  \n") == "local y = t[1].x");
  CHECK(found("local f = function() end\r\nf()()\r\n") == "f()()");
  CHECK(found("local f = function() end return f() + 1") ==
        "local f = function() end return f() + 1");
  CHECK(found("local t = {} return t.a.b") == "");  // "field 'a'"
  CHECK(found("error('attempt to fail')") == "");
}

TEST_CASE("an error without a position has the line that ran") {
  auto sandbox = make();
  // A tail call leaves no trace of its caller on Lua's stack.
  const char* text = "local x = 1\nreturn rawset(math, 'x', x)";
  CHECK(run(*sandbox, text).error().where == "t.lua:2");
  // Callbacks are not tracked by line, so the place is the function's first
  // line.
  REQUIRE(
      sandbox
          ->compile(
              "local t = math\nreturn function()\n\n return rawset(t, 1, 1)\n"
              "end",
              "t.lua", 0)
          .ok());
  REQUIRE(sandbox->call(0, 1, Budget::kLoad, "f").ok());
  const Status status = sandbox->call(0, 0, Budget::kCallback, "f");
  CHECK(status.error().where == "t.lua:2");
}

TEST_CASE("words of other Lua versions") {
  auto sandbox = make();
  const auto hint = [&](const char* text) {
    const Status status = run(*sandbox, text);
    REQUIRE(!status.ok());
    return status.error().hint;
  };
  CHECK(hint("print(1)").starts_with("error(tostring(m.x)) stops"));
  CHECK(hint("require 'x'") == "lib \"name\" loads a lib");
  CHECK(hint("local t = os.time()").find("clock") != std::string::npos);
  CHECK(hint("local a = 5 // 2").ends_with("math.floor(a / b) for a // b"));
  CHECK(hint("local a = 5 << 2").ends_with("bit.lshift(a, b) for a << b"));
  CHECK(hint("local a = 5 & 2").ends_with("bit.band(a, b)"));
  CHECK(hint("if 1 != 2 then end") == "Lua writes a ~= b, and not a");
  CHECK(hint("local a = )") == "");
}

TEST_CASE("syntax errors and bytecode") {
  auto sandbox = make();
  CHECK(run(*sandbox, "local x =\n= 1").error().where == "t.lua:2");
  const Status bytecode = run(*sandbox, "\x1bLJ\x02");
  CHECK(bytecode.error().what == "bytecode is not loaded");
  CHECK(bytecode.error().kind == ErrorKind::kRule);
}

TEST_CASE("sources that are expensive to parse") {
  SandboxLimits limits;
  limits.load_seconds = 1;
  auto sandbox = make(limits);
  const auto repeat = [](std::string_view text, int times) {
    std::string all;
    while (times-- > 0) all += text;
    return all;
  };
  const std::string kLong[] = {
      "return function(x) return " + repeat("x or ", 30'000) + "x end",
      repeat("return function(x) ", 1) + repeat("if x then else", 50'000),
      "local x = " + repeat("-", 100'000) + "1",
      "return " + repeat("{", 100'000),
      repeat("local a ", 100'000),
      repeat("do ", 100'000),
      "local x = '" + repeat("\\z", 100'000),
      repeat("::a", 1) + repeat(" goto a", 100'000),
      "--[" + repeat("=", 1'000'000) + "[",
      repeat("a.", 200'000) + "b()"};
  for (const std::string& text : kLong) {
    CAPTURE(text.substr(0, 40));
    CHECK(!run(*sandbox, text).ok());
  }
}

TEST_CASE("a structured error survives, also as text for pcall") {
  auto sandbox = make();
  lua_State* state = sandbox->state();
  lua_newtable(state);
  lua_pushcfunction(state, [](lua_State* inner) {
    return Sandbox::fail(inner, {.kind = ErrorKind::kRule,
                                 .what = "no such thing",
                                 .expected = "another",
                                 .hint = "look again"});
  });
  lua_setfield(state, -2, "broken");
  const auto error_of = [&](const char* text) {
    REQUIRE(sandbox->compile(text, "t.lua", 1).ok());
    return sandbox->call(0, 1, Budget::kLoad, "f");
  };
  const Status status = error_of("local x\nbroken()");
  CHECK(status.error().what == "no such thing");
  CHECK(status.error().expected == "another");
  CHECK(status.error().hint == "look again");
  CHECK(status.error().where == "t.lua:2");
  REQUIRE(error_of("local _, e = pcall(broken) return e").ok());
  CHECK(std::string(lua_tostring(state, -1)) == "t.lua:1: no such thing");
}

TEST_CASE("stop ends a call through every pcall, without an error") {
  auto sandbox = make();
  lua_State* state = sandbox->state();
  lua_newtable(state);
  lua_pushcfunction(state, &Sandbox::stop);
  lua_setfield(state, -2, "halt");
  lua_pushcfunction(state, [](lua_State* inner) {
    lua_pushboolean(inner, 1);
    lua_setfield(inner, LUA_REGISTRYINDEX, "reached");
    return 0;
  });
  lua_setfield(state, -2, "reached");
  REQUIRE(
      sandbox
          ->compile("pcall(pcall, xpcall, halt, reached) reached()", "t.lua", 1)
          .ok());
  CHECK(!sandbox->call(0, 0, Budget::kCallback, "f").ok());
  CHECK(sandbox->stopped());
  lua_getfield(state, LUA_REGISTRYINDEX, "reached");
  CHECK(lua_isnil(state, -1));
  REQUIRE(run(*sandbox, "return 1").ok());
  CHECK(!sandbox->stopped());
}

TEST_CASE("a timeout names the place, and the next call works") {
  SandboxLimits limits;
  limits.load_seconds = limits.callback_seconds = 0.05;
  auto sandbox = make(limits);
  for (const Budget budget : {Budget::kLoad, Budget::kCallback}) {
    const Status status =
        run(*sandbox, "local i = 0\nwhile true do i = i + 1 end", budget);
    REQUIRE(!status.ok());
    CHECK(status.error().kind == ErrorKind::kLimit);
    CHECK(status.error().what == "the chunk ran longer than 0.05 s");
    CHECK(status.error().where == "t.lua:2");
    const Remedy remedy =
        budget == Budget::kLoad ? Remedy::kLoad : Remedy::kCallback;
    CHECK(status.error().remedy == remedy);
    CHECK(run(*sandbox, "return 1").ok());
  }
}

TEST_CASE("a nested call has the deadline of the outer one") {
  SandboxLimits limits;
  limits.callback_seconds = 0.05;
  auto sandbox = make(limits);
  lua_State* state = sandbox->state();
  lua_newtable(state);
  lua_pushcfunction(state, [](lua_State* inner) {
    lua_pushvalue(inner, 1);
    const Status status =
        Sandbox::of(inner).call(0, 0, Budget::kCallback, "inner");
    lua_pushboolean(inner, status.ok());
    return 1;
  });
  lua_setfield(state, -2, "again");
  REQUIRE(
      sandbox->compile("while true do again(function() end) end", "t.lua", 1)
          .ok());
  const Status status = sandbox->call(0, 0, Budget::kCallback, "outer");
  CHECK(status.error().kind == ErrorKind::kLimit);
  CHECK(status.error().what.starts_with("outer ran longer"));
}

TEST_CASE("running out of memory at any point is handled") {
  const char* text =
      "local t = {} for i = 1, 2000 do t[i] = {i, tostring(i)} end\n"
      "table.sort(t, function(a, b) return a[2] < b[2] end)\n"
      "local s = '' for k, v in pairs(t) do s = s .. v[2] end\n"
      "s = s:gsub('%d', '%0%0') pcall(error, {}) coroutine.wrap(function() "
      "end)()\nlocal u = {s:match('(.)(.)(.)')} return unpack(u)";
  SandboxLimits limits;
  bool done = false;
  int failures = 0;
  for (std::size_t bytes = 0; !done && bytes < (8u << 20);
       bytes += bytes < 4096 ? 97 : bytes / 16) {
    limits.load_bytes = bytes;
    auto sandbox = make(limits);
    const Status status = run(*sandbox, text);
    done = status.ok();
    failures += !done;
    if (!done) CHECK(status.error().kind == ErrorKind::kLimit);
    limits.load_bytes = std::size_t{1} << 20;
  }
  CHECK(done);
  CHECK(failures > 50);
}

TEST_CASE("a sandbox with too little memory is refused") {
  SandboxLimits limits;
  int refused = 0;
  for (std::size_t bytes = 0; bytes < 60'000; bytes += 487) {
    limits.total_bytes = bytes;
    auto sandbox = Sandbox::create(limits);
    if (sandbox.ok()) break;
    ++refused;
    CHECK(sandbox.error().kind == ErrorKind::kLimit);
  }
  CHECK(refused > 10);
}

TEST_CASE("garbage alone does not reach the limit") {
  // Lua would start to collect at twice the memory in use, which is over the
  // limit.
  SandboxLimits limits;
  limits.total_bytes = std::size_t{48} << 20;
  auto sandbox = make(limits);
  const Status status = run(*sandbox,
                            "local kept = {}\n"
                            "for i = 1, 28 do kept[i] = ('x'):rep(1e6) .. i "
                            "end\n"
                            "for i = 1, 2e5 do local t = {i, {}, {}, {}} end",
                            Budget::kCallback);
  CHECK_MESSAGE(status.ok(), (status ? "" : status.error().text()));
  CHECK(sandbox->peak_bytes() <= limits.total_bytes);
}

TEST_CASE("a C++ function that allocates nothing is also timed") {
  SandboxLimits limits;
  limits.callback_seconds = 0.001;
  auto sandbox = make(limits);
  // Too few instructions for a check of the clock, so each string counts as
  // many.
  REQUIRE(sandbox
              ->compile("local x = ('x'):rep(3e7)\n"
                        "return function() local a = 'x'\n"
                        "local b = a:rep(3e7) b = a:rep(3e7) b = a:rep(3e7)\n"
                        "b = a:rep(3e7) b = a:rep(3e7) assert(b == x) end",
                        "t.lua", 0)
              .ok());
  REQUIRE(sandbox->call(0, 1, Budget::kLoad, "f").ok());
  const Status status = sandbox->call(0, 0, Budget::kCallback, "f");
  REQUIRE(!status.ok());
  CHECK(status.error().what == "f ran longer than 0.001 s");
}

TEST_CASE("rawset ignores a metatable, and needs a key") {
  auto sandbox = make();
  CHECK(run(*sandbox,
            "local t = setmetatable({}, {__newindex = error})\n"
            "assert(rawset(t, 'a', 1) == t and rawget(t, 'a') == 1)\n"
            "rawset(t, 2, 'b', 'more') assert(t[2] == 'b' and t.a == 1)")
            .ok());
  CHECK(!run(*sandbox, "rawset({}, nil, 1)").ok());
}

TEST_CASE("no single block is larger than 32 MiB") {
  auto sandbox = make();
  for (const char* text : {"local s = ('x'):rep(3e7) local t = s .. s",
                           "local t = {} for i = 1, 1e8 do t[i] = i end"}) {
    const Status status = run(*sandbox, text, Budget::kCallback);
    REQUIRE(!status.ok());
    CHECK(status.error().kind == ErrorKind::kLimit);
    CHECK(sandbox->peak_bytes() < (std::size_t{128} << 20));
  }
}

TEST_CASE("memory is freed after a failed call") {
  SandboxLimits limits;
  limits.load_bytes = std::size_t{32} << 20;
  auto sandbox = make(limits);
  const std::size_t before = sandbox->bytes();
  const char* bomb = "local t = {} for i = 1, 1e9 do t[i] = {} end";
  for (int i = 0; i < 3; ++i) {
    CHECK(run(*sandbox, bomb).error().kind == ErrorKind::kLimit);
    CHECK(sandbox->bytes() < before + (1u << 20));
  }
}

TEST_CASE("protect turns a Lua error of the host into a Diagnostic") {
  auto sandbox = make();
  CHECK(sandbox->protect([](lua_State* state) { lua_pushnumber(state, 1); })
            .ok());
  CHECK(lua_gettop(sandbox->state()) == 0);
  const Status status = sandbox->protect(
      [](lua_State* state) { luaL_error(state, "host %d", 7); });
  CHECK(status.error().what == "host 7");
}

struct Counted {
  static inline int alive = 0;
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

// All of bindings/lua relies on this.
TEST_CASE("destructors run when an error passes a C++ frame") {
  auto sandbox = make();
  lua_State* state = sandbox->state();
  lua_newtable(state);
  lua_pushcfunction(state, [](lua_State* inner) {
    const Counted counted;
    const std::string text(100, 'x');
    lua_call(inner, 0, 0);
    return static_cast<int>(text.size());
  });
  lua_setfield(state, -2, "through");
  for (const char* text :
       {"through(function() error('x') end)", "through(error)",
        "pcall(through, function() through(function() error() end) end)",
        "coroutine.wrap(function() through(error) end)()"}) {
    REQUIRE(sandbox->compile(text, "t.lua", 1).ok());
    static_cast<void>(sandbox->call(0, 0, Budget::kLoad, "f"));
    CHECK(Counted::alive == 0);
  }
}

TEST_CASE("calls nest to a fixed depth, and the depth is restored") {
  auto sandbox = make();
  const Status status = run(*sandbox,
                            "local function f() return tostring("
                            "setmetatable({}, {__tostring = f})) end\n"
                            "local function g(n) return select(2, pcall(g)) "
                            "end\n"
                            "for i = 1, 1000 do local ok, e = pcall(g) end\n"
                            "for i = 1, 1000 do pcall(error) end\n"
                            "local co = coroutine.wrap(function() "
                            "error('x') end) pcall(co)");
  CHECK_MESSAGE(status.ok(), (status ? "" : status.error().text()));
  CHECK(Meter::of(sandbox->state()).nesting == 0);
}

TEST_CASE("a sandbox is deterministic") {
  const char* text =
      "local s = '' for k, v in pairs({z = 1, a = 2, 5, [7.5] = 3}) do "
      "s = s .. tostring(k) .. '=' .. tostring(v) .. ';' end return s";
  std::string first;
  for (int i = 0; i < 5; ++i) {
    auto sandbox = make();
    REQUIRE(sandbox->compile(text, "t.lua", 0).ok());
    REQUIRE(sandbox->call(0, 1, Budget::kLoad, "f").ok());
    const std::string got = lua_tostring(sandbox->state(), -1);
    CHECK(got == "1=5;7.5=3;a=2;z=1;");
  }
}

}  // namespace
}  // namespace ruleengine::lua
