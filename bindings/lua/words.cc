#include "bindings/lua/words.h"

#include <algorithm>
#include <array>
#include <lua.hpp>
#include <new>
#include <utility>

#include "bindings/lua/sandbox.h"
#include "bindings/lua/sandbox_meter.h"
#include "bindings/lua/words_session.h"

namespace ruleengine::lua {
namespace {

constexpr std::array<std::string_view, 22> kKeywords = {
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};

constexpr int kMostParameters = 200;

Diagnostic wrong(std::string what) {
  return {.kind = ErrorKind::kRule, .what = std::move(what)};
}

// The names of the function's parameters.
std::vector<std::string> parameters_of(lua_State* state, int function) {
  std::vector<std::string> names;
  for (int i = 1; i <= kMostParameters; ++i) {
    lua_pushvalue(state, function);
    const char* name = lua_getlocal(state, nullptr, i);
    lua_pop(state, 1);
    if (name == nullptr) break;
    names.emplace_back(name);
  }
  return names;
}

// A handle for each parameter behind `op`.
void push_parameters(lua_State* state, WordsSession& session,
                     const std::vector<std::string>& parameters, int line) {
  luaL_checkstack(state, static_cast<int>(parameters.size()),
                  "too many parameters");
  for (const std::string& name : parameters) {
    if (is_reserved_name(name)) {
      Diagnostic error =
          wrong("'" + name + "' cannot be a parameter of `match`");
      error.hint = "m." + name + " is something else";
      error.where = session.file + ":" + std::to_string(line);
      Sandbox::fail(state, std::move(error));
    }
    push_term(state,
              TermHandle{.run = session.run,
                         .kind = TermHandle::Kind::kVariable,
                         .variable = session.builder.variable(name, line)});
  }
}

void take_results(lua_State* state, WordsSession& session, int from) {
  const int top = lua_gettop(state);
  if (top < from) {
    Diagnostic error = wrong("`match` returns nothing");
    error.where =
        session.file + ":" + std::to_string(rule_line(state, session));
    error.expected = "the pattern whose value is replaced";
    Sandbox::fail(state, std::move(error));
  }
  for (int i = from; i <= top; ++i) {
    session.builder.result(
        check_input(state, session, i, "a result of `match`"));
  }
}

}  // namespace

bool is_lua_keyword(std::string_view text) {
  return std::find(kKeywords.begin(), kKeywords.end(), text) != kKeywords.end();
}

bool is_lua_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (text.empty() || !letter(text[0]) || is_lua_keyword(text)) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

bool is_reserved_name(std::string_view text) {
  return text == "options" || text == "graph";
}

Words::Words() = default;
Words::~Words() = default;

void Words::install(lua_State* state) {
  install_op(state, *this);
  install_handles(state, *this);
  install_choices(state, *this);
}

Words::Built Words::build(lua_State* state, int match,
                          const std::string& file) {
  session_ = std::make_unique<WordsSession>();
  // However it ends, no handle of this run is good afterwards.
  struct Ending {
    Words& words;
    ~Ending() { words.session_.reset(); }
  } ending{*this};
  WordsSession& session = *session_;
  session.run = ++runs_;
  session.file = file;
  lua_Debug activation;
  lua_pushvalue(state, match);
  lua_getinfo(state, ">S", &activation);
  session.chunk = activation.short_src;
  const int line = activation.linedefined;
  std::vector<std::string> parameters = parameters_of(state, match);
  if (parameters.empty()) {
    Diagnostic error = wrong("`match` has no parameter");
    error.where = file + ":" + std::to_string(line);
    error.expected = "match = function(op, x, ...)";
    Sandbox::fail(state, std::move(error));
  }
  parameters.erase(parameters.begin());
  ScopeGuard scope(session);
  const int top = lua_gettop(state);
  lua_pushvalue(state, match);
  push_op(state, OpHandle{.run = session.run});
  push_parameters(state, session, parameters, line);
  lua_call(state, static_cast<int>(parameters.size()) + 1, LUA_MULTRET);
  take_results(state, session, top + 1);
  lua_settop(state, top);
  const pattern::Alternative stated = scope.take({});
  for (pattern::FactId fact : stated.facts) session.builder.global_fact(fact);
  for (pattern::TermId term : stated.conditions) {
    session.builder.condition(term);
  }
  Result<pattern::Pattern> pattern = session.builder.finish();
  if (!pattern) {
    Diagnostic error = pattern.error();
    const int at = session.builder.error_line();
    error.kind = ErrorKind::kRule;
    error.where = file + ":" + std::to_string(at > 0 ? at : line);
    Sandbox::fail(state, std::move(error));
  }
  return {*std::move(pattern), std::move(parameters)};
}

// --- what C functions share ---

Words& words_of(lua_State* state) {
  return *static_cast<Words*>(lua_touserdata(state, lua_upvalueindex(1)));
}

WordsSession& session_of(lua_State* state) {
  WordsSession* session = words_of(state).session();
  if (session == nullptr) {
    Diagnostic error = wrong("a word of patterns outside of `match`");
    error.hint =
        "helpers that build patterns are functions that `match` "
        "calls";
    Sandbox::fail(state, std::move(error));
  }
  return *session;
}

void spend(lua_State* state, WordsSession& session, std::size_t bytes) {
  session.bytes += bytes;
  Sandbox::charge(state, bytes);
  if (session.bytes > kMaxPatternBytes) {
    Diagnostic error = wrong("the pattern is too large");
    error.hint = "`many` says chains of any length";
    Sandbox::fail(state, std::move(error));
  }
}

void set_words(lua_State* state, Words& words, const luaL_Reg* functions) {
  lua_pushlightuserdata(state, &words);
  luaL_setfuncs(state, functions, 1);
}

int rule_line(lua_State* state, const WordsSession& session) {
  const Meter& meter = Meter::of(state);
  if (session.chunk == meter.chunk()) return meter.line();
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
  pattern::Alternative stated{.term = term,
                              .facts = session_.scopes[depth_].facts};
  std::vector<WordsSession::Condition>& all = session_.conditions;
  for (WordsSession::Condition& condition : all) {
    if (condition.scope < depth_ || condition.used) continue;
    condition.used = true;
    stated.conditions.push_back(condition.term);
  }
  return stated;
}

namespace {

void* to_userdata(lua_State* state, int index, const char* metatable) {
  void* data = lua_touserdata(state, index);
  if (data == nullptr || lua_getmetatable(state, index) == 0) return nullptr;
  luaL_getmetatable(state, metatable);
  const bool same = lua_rawequal(state, -1, -2) != 0;
  lua_pop(state, 2);
  return same ? data : nullptr;
}

}  // namespace

TermHandle* to_term(lua_State* state, int index) {
  return static_cast<TermHandle*>(to_userdata(state, index, kTermMetatable));
}
const OpHandle* to_op(lua_State* state, int index) {
  return static_cast<OpHandle*>(to_userdata(state, index, kOpMetatable));
}
bool is_any(lua_State* state, int index) {
  return to_userdata(state, index, kAnyMetatable) != nullptr;
}
bool is_rest(lua_State* state, int index) {
  return to_userdata(state, index, kRestMetatable) != nullptr;
}

void push_term(lua_State* state, const TermHandle& handle) {
  new (lua_newuserdata(state, sizeof handle)) TermHandle(handle);
  luaL_getmetatable(state, kTermMetatable);
  lua_setmetatable(state, -2);
}

void push_op(lua_State* state, const OpHandle& handle) {
  new (lua_newuserdata(state, sizeof handle)) OpHandle(handle);
  luaL_getmetatable(state, kOpMetatable);
  lua_setmetatable(state, -2);
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
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(state, index, &size);
      return "the string '" + printable({text, size}, 60) + "'";
    }
    default:
      return std::string("a ") + luaL_typename(state, index);
  }
}

TermHandle& check_handle_of(lua_State* state, WordsSession& session, int index,
                            const char* what) {
  TermHandle* handle = to_term(state, index);
  if (handle == nullptr) {
    Diagnostic error = wrong(std::string(what) + " is no pattern");
    error.found = kind_at(state, index);
    Sandbox::fail(state, std::move(error));
  }
  if (handle->run != session.run) {
    Diagnostic error =
        wrong(std::string(what) + " is a pattern of another `match`");
    error.hint = "nothing is carried from one rule to another";
    Sandbox::fail(state, std::move(error));
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
      Diagnostic error = wrong(std::string(what) + " is a list with " +
                               kind_at(state, -1) + " in it");
      error.expected = "a list of numbers, which is a constant";
      Sandbox::fail(state, std::move(error));
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
    Diagnostic error = wrong(std::string(what) + " is no pattern");
    error.expected = "a pattern, a number, a list of numbers or nil";
    error.found = kind_at(state, index);
    Sandbox::fail(state, std::move(error));
  }
  return term_of(state, session, check_handle_of(state, session, index, what));
}

pattern::VariableId named(lua_State* state, WordsSession& session,
                          std::string_view name) {
  if (!is_lua_name(name) || is_reserved_name(name)) {
    Diagnostic error = wrong("'" + printable(name, 60) +
                             "' cannot name anything in a pattern");
    error.expected = "a name that can stand behind `m.`";
    if (is_lua_keyword(name)) error.found = "a keyword of Lua";
    Sandbox::fail(state, std::move(error));
  }
  spend(state, session, 256 + name.size());
  return session.builder.variable(name, rule_line(state, session));
}

pattern::VariableId check_name(lua_State* state, WordsSession& session,
                               int index, const char* what) {
  if (lua_type(state, index) != LUA_TSTRING) {
    Diagnostic error = wrong(std::string(what) + " takes a name");
    error.found = kind_at(state, index);
    Sandbox::fail(state, std::move(error));
  }
  std::size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  return named(state, session, {text, size});
}

namespace {

// Upvalues: Words, what the handle is.
int refuse_operator(lua_State* state) {
  Diagnostic error = wrong(std::string("arithmetic, comparison or length of ") +
                           lua_tostring(state, lua_upvalueindex(2)));
  error.expected = "patterns are described here, values are known in `where`";
  error.hint = "op.Add(a, b) is the addition of the graph";
  return Sandbox::fail(state, std::move(error));
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
  lua_pushboolean(state, 0);
  lua_setfield(state, -2, "__metatable");
}

}  // namespace ruleengine::lua
