// What the C functions of the words share: the current run, its scopes, the
// handles on the stack.
#include "bindings/lua/words/words_session.h"

#include <lua.hpp>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_meter.h"
#include "bindings/lua/sandbox/stack.h"

namespace ruleengine::lua {

Words& words_of(lua_State* state) {
  return *static_cast<Words*>(lua_touserdata(state, lua_upvalueindex(1)));
}

WordsSession& session_of(lua_State* state) {
  WordsSession* session = words_of(state).session();
  if (session == nullptr) {
    Sandbox::fail(state, "a word for patterns is used outside of `match`", {},
                  {},
                  "put code that builds patterns into functions that `match` "
                  "calls");
  }
  return *session;
}

void spend(lua_State* state, WordsSession& session, std::size_t bytes) {
  session.bytes += bytes;
  Sandbox::charge(state, bytes);
  if (session.bytes > kMaxPatternBytes) {
    Sandbox::fail(state, "the pattern is too large", {}, {},
                  "`many` describes a chain of any length");
  }
}

void set_words(lua_State* state, Words& words, const luaL_Reg* functions) {
  lua_pushlightuserdata(state, &words);
  luaL_setfuncs(state, functions, 1);
}

int rule_line(lua_State* state, const WordsSession& session) {
  const Meter& meter = Meter::of(state);
  if (session.chunk == meter.chunk()) return meter.line();
  if (session.blamed_line > 0) return session.blamed_line;
  if (session.chunk.empty()) return session.line;
  lua_Debug activation;
  for (int level = 0; lua_getstack(state, level, &activation) != 0; ++level) {
    lua_getinfo(state, "Sl", &activation);
    if (activation.currentline > 0 && session.chunk == activation.short_src) {
      return activation.currentline;
    }
  }
  return meter.line();
}

ScopeGuard::ScopeGuard(WordsSession& session)
    : session_(session), depth_(session.scopes.size()) {
  session.scopes.emplace_back();
}

ScopeGuard::~ScopeGuard() { session_.scopes.resize(depth_); }

pattern::Alternative ScopeGuard::take(pattern::TermId term) {
  pattern::Alternative stated{.term = term, .facts = session_.scopes[depth_]};
  for (WordsSession::Condition& condition : session_.conditions) {
    if (condition.scope < depth_ || condition.used) continue;
    condition.used = true;
    stated.conditions.push_back(condition.term);
  }
  return stated;
}

TermHandle* to_term(lua_State* state, int index) {
  return to_object<TermHandle>(state, index, kTermMetatable);
}
const OpHandle* to_op(lua_State* state, int index) {
  return to_object<OpHandle>(state, index, kOpMetatable);
}
bool is_any(lua_State* state, int index) {
  return to_object<char>(state, index, kAnyMetatable) != nullptr;
}
bool is_rest(lua_State* state, int index) {
  return to_object<char>(state, index, kRestMetatable) != nullptr;
}

int push_term(lua_State* state, const TermHandle& handle) {
  push_object(state, handle, kTermMetatable);
  return 1;
}
void push_op(lua_State* state, const OpHandle& handle) {
  push_object(state, handle, kOpMetatable);
}

std::string kind_at(lua_State* state, int index) {
  if (to_term(state, index) != nullptr) return "a pattern";
  if (to_op(state, index) != nullptr) return "an op that is not called";
  if (is_any(state, index)) return "any";
  if (is_rest(state, index)) return "rest";
  switch (lua_type(state, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
      return "nil";
    case LUA_TSTRING:
      return "the string '" + printable(text_at(state, index), 60) + "'";
    default:
      return std::string("a ") + luaL_typename(state, index);
  }
}

TermHandle& check_handle_of(lua_State* state, WordsSession& session, int index,
                            const char* what) {
  TermHandle* handle = to_term(state, index);
  if (handle == nullptr) {
    Sandbox::fail(state, std::string(what) + " is not a pattern", {},
                  kind_at(state, index));
  }
  if (handle->run != session.run) {
    Sandbox::fail(state, std::string(what) + " is a pattern of another `match`",
                  {}, {}, "nothing is carried from one rule to another");
  }
  return *handle;
}

pattern::TermId term_of(lua_State* state, WordsSession& session,
                        const TermHandle& handle) {
  switch (handle.kind) {
    case TermHandle::Kind::kVariable:
      return session.builder.value(handle.variable, rule_line(state, session));
    case TermHandle::Kind::kRest:
      return session.builder.rest(handle.variable, rule_line(state, session));
    case TermHandle::Kind::kTerm:
      break;
  }
  if (handle.condition >= 0) {
    session.conditions[static_cast<std::size_t>(handle.condition)].used = true;
  }
  return handle.term;
}

namespace {

pattern::TermId check_numbers(lua_State* state, WordsSession& session,
                              int index, const char* what) {
  std::vector<double> numbers;
  const int size = static_cast<int>(lua_objlen(state, index));
  spend(state, session, static_cast<std::size_t>(size) * 32);
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(state, index, i);
    if (lua_type(state, -1) != LUA_TNUMBER) {
      Sandbox::fail(state,
                    std::string(what) + " is a list with " +
                        kind_at(state, -1) + " in it",
                    "a list of numbers, which is a constant");
    }
    numbers.push_back(lua_tonumber(state, -1));
    lua_pop(state, 1);
  }
  return session.builder.numbers(std::move(numbers), false);
}

}  // namespace

pattern::TermId check_input(lua_State* state, WordsSession& session, int index,
                            const char* what) {
  spend(state, session, 256);
  if (lua_isnoneornil(state, index)) return session.builder.absent();
  if (lua_type(state, index) == LUA_TNUMBER) {
    return session.builder.numbers({lua_tonumber(state, index)}, true);
  }
  if (lua_istable(state, index)) {
    return check_numbers(state, session, index, what);
  }
  if (is_any(state, index)) return session.builder.any();
  if (is_rest(state, index)) {
    return session.builder.rest({}, rule_line(state, session));
  }
  if (to_term(state, index) == nullptr) {
    Sandbox::fail(state, std::string(what) + " is not a pattern",
                  "a pattern, a number, a list of numbers or nil",
                  kind_at(state, index));
  }
  return term_of(state, session, check_handle_of(state, session, index, what));
}

pattern::VariableId named(lua_State* state, WordsSession& session,
                          std::string_view name) {
  if (!is_lua_name(name) || is_reserved_name(name)) {
    Diagnostic error =
        wrong(quoted_name(name, 60) + " cannot name anything in a pattern");
    error.expected = "a name that can follow `m.`";
    if (is_lua_keyword(name)) error.found = "a keyword of Lua";
    Sandbox::fail(state, std::move(error));
  }
  spend(state, session, 256 + name.size());
  return session.builder.variable(name, rule_line(state, session));
}

pattern::VariableId check_name(lua_State* state, WordsSession& session,
                               int index, const char* what) {
  if (lua_type(state, index) != LUA_TSTRING) {
    Sandbox::fail(state, std::string(what) + " takes a name", {},
                  kind_at(state, index));
  }
  return named(state, session, text_at(state, index));
}

namespace {

// Upvalues: Words, what the handle is.
int refuse_operator(lua_State* state) {
  return Sandbox::fail(
      state,
      std::string("arithmetic, comparison or length of ") +
          lua_tostring(state, lua_upvalueindex(2)),
      "`match` only describes patterns; values are known in `where`", {},
      "op.Add(a, b) is the addition of the graph");
}

}  // namespace

void refuse_operators(lua_State* state, Words& words, const char* what) {
  for (const char* name :
       {"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm",
        "__concat", "__lt", "__le", "__eq", "__len"}) {
    lua_pushlightuserdata(state, &words);
    lua_pushstring(state, what);
    lua_pushcclosure(state, &refuse_operator, 2);
    lua_setfield(state, -2, name);
  }
  hide_metatable(state);
}

}  // namespace ruleengine::lua
