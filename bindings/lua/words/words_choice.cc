// either, maybe, many, context, never, any, rest.
#include <lua.hpp>
#include <utility>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_meter.h"
#include "bindings/lua/words/words_session.h"

namespace ruleengine::lua {
namespace {

using pattern::Alternative;
using pattern::TermId;

// Calls the function below the `arguments` values on top of the stack; leaves
// its one result.
void call_builder(lua_State* state, int arguments, const char* what) {
  Nested nested(state);
  const int base = lua_gettop(state) - arguments;
  lua_call(state, arguments, LUA_MULTRET);
  const int results = lua_gettop(state) - base + 1;
  if (results != 1 || lua_isnil(state, -1)) {
    Sandbox::fail(state,
                  std::string(what) + " does not return exactly one pattern",
                  {}, std::to_string(results) + " values");
  }
}

// A pattern, or a function that returns one; facts stated in the function hold
// only for this alternative.
Alternative check_alternative(lua_State* state, WordsSession& session,
                              int index) {
  if (!lua_isfunction(state, index)) {
    if (lua_isnil(state, index)) {
      Sandbox::fail(state, "an alternative is nil", {}, {},
                    "maybe(x) is x or absent");
    }
    return {.term = check_input(state, session, index, "an alternative")};
  }
  ScopeGuard scope(session);
  lua_pushvalue(state, index);
  call_builder(state, 0, "an alternative");
  const TermId term =
      check_input(state, session, lua_gettop(state), "an alternative");
  lua_pop(state, 1);
  return scope.take(term);
}

int push_either(lua_State* state, WordsSession& session,
                std::vector<Alternative> alternatives) {
  return push_term(state, session,
                   session.builder.either(std::move(alternatives),
                                          rule_line(state, session)));
}

int either(lua_State* state) {
  WordsSession& session = session_of(state);
  const int count = lua_gettop(state);
  if (count < 2) {
    Diagnostic error = wrong("`either` needs at least two alternatives");
    if (count == 1) {
      error.hint = lua_istable(state, 1) ? "either(unpack(list))"
                                         : "maybe(x) is x or absent";
    }
    return Sandbox::fail(state, std::move(error));
  }
  std::vector<Alternative> alternatives;
  for (int i = 1; i <= count; ++i) {
    alternatives.push_back(check_alternative(state, session, i));
  }
  return push_either(state, session, std::move(alternatives));
}

int maybe(lua_State* state) {
  WordsSession& session = session_of(state);
  const int count = lua_gettop(state);
  if (count != 1 && count != 2) {
    return Sandbox::fail(state,
                         "maybe(p, x) is p or x; maybe(x) is x or absent");
  }
  std::vector<Alternative> alternatives;
  alternatives.push_back(check_alternative(state, session, 1));
  alternatives.push_back(count == 2
                             ? check_alternative(state, session, 2)
                             : Alternative{.term = session.builder.absent()});
  return push_either(state, session, std::move(alternatives));
}

int many(lua_State* state) {
  WordsSession& session = session_of(state);
  if (lua_gettop(state) != 2 || !lua_isfunction(state, 1)) {
    return Sandbox::fail(state, "`many` has wrong arguments",
                         "many(function(below) return ... end, x)");
  }
  const TermId base = check_input(state, session, 2, "argument 2 of `many`");
  ScopeGuard scope(session);
  lua_pushvalue(state, 1);
  push_term(state, session, session.builder.hole());
  call_builder(state, 1, "the step of `many`");
  TermId step =
      check_input(state, session, lua_gettop(state), "the step of `many`");
  // Facts of the step hold for each repetition, so they belong to an
  // alternative inside the step.
  Alternative stated = scope.take(step);
  const int line = rule_line(state, session);
  if (!stated.facts.empty() || !stated.conditions.empty()) {
    std::vector<Alternative> one;
    one.push_back(std::move(stated));
    step = session.builder.either(std::move(one), line);
  }
  return push_term(state, session, session.builder.many(step, base, line));
}

// A handle that counts as a condition of its scope unless something uses it.
int condition(lua_State* state, bool never) {
  WordsSession& session = session_of(state);
  if (lua_gettop(state) != 1) {
    return Sandbox::fail(state, std::string(never ? "never" : "context") +
                                    "(p) takes one pattern");
  }
  spend(state, session, 256);
  const TermId base = check_input(
      state, session, 1,
      never ? "the argument of `never`" : "the argument of `context`");
  const int line = rule_line(state, session);
  const TermId term = never ? session.builder.never(base, line)
                            : session.builder.context(base, line);
  TermHandle handle{.run = session.run, .term = term};
  handle.condition = static_cast<int>(session.conditions.size());
  session.conditions.push_back({term, session.scopes.size() - 1, false});
  return push_term(state, handle);
}

int context(lua_State* state) { return condition(state, false); }
int never(lua_State* state) { return condition(state, true); }

// any "x", rest "x"
template <TermHandle::Kind kind>
int named_call(lua_State* state) {
  WordsSession& session = session_of(state);
  const char* what = kind == TermHandle::Kind::kRest ? "`rest`" : "`any`";
  return push_term(state,
                   TermHandle{.run = session.run,
                              .kind = kind,
                              .variable = check_name(state, session, 2, what)});
}

// Upvalues: Words, the word.
int bare_index(lua_State* state) {
  return Sandbox::fail(
      state,
      std::string("`") + lua_tostring(state, lua_upvalueindex(2)) +
          "` has no fields",
      {}, {}, "any \"x\" is a variable, and facts can be stated about it");
}

constexpr luaL_Reg kChoices[] = {{"either", either}, {"maybe", maybe},
                                 {"many", many},     {"context", context},
                                 {"never", never},   {nullptr, nullptr}};

// A word that is a value and can be called with a name.
void install_bare(lua_State* state, Words& words, const char* name,
                  const char* metatable, lua_CFunction call) {
  lua_newuserdata(state, 1);
  luaL_newmetatable(state, metatable);
  lua_pushlightuserdata(state, &words);
  lua_pushcclosure(state, call, 1);
  lua_setfield(state, -2, "__call");
  for (const char* key : {"__index", "__newindex"}) {
    lua_pushlightuserdata(state, &words);
    lua_pushstring(state, name);
    lua_pushcclosure(state, &bare_index, 2);
    lua_setfield(state, -2, key);
  }
  refuse_operators(state, words, name);
  lua_setmetatable(state, -2);
  lua_setfield(state, -2, name);
}

}  // namespace

void install_choices(lua_State* state, Words& words) {
  set_words(state, words, kChoices);
  install_bare(state, words, "any", kAnyMetatable,
               &named_call<TermHandle::Kind::kVariable>);
  install_bare(state, words, "rest", kRestMetatable,
               &named_call<TermHandle::Kind::kRest>);
}

}  // namespace ruleengine::lua
