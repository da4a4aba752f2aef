#include "bindings/lua/words.h"

#include <algorithm>
#include <array>
#include <lua.hpp>
#include <utility>

#include "bindings/lua/sandbox.h"
#include "bindings/lua/words_session.h"
#include "core/base/suggest.h"
#include "core/ir/op_facts.h"

namespace ruleengine::lua {
namespace {

constexpr std::array<std::string_view, 22> kKeywords = {
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};

constexpr int kMostParameters = 200;

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

std::string hint_of_parameter(std::string_view word, std::string near) {
  if (std::string op = hint_of_op(word); !op.empty()) return op;
  if (!near.empty() || !is_lua_name(word)) return near;
  return "a variable is a parameter of `match`: function(op, ..., " +
         std::string(word) + ")";
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

Diagnostic wrong(std::string what) {
  return {.kind = ErrorKind::kRule, .what = std::move(what)};
}

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

std::string hint_of_op(std::string_view word) {
  if (ir::newest_op("", word) == nullptr) return {};
  const std::string name = "op." + std::string(word);
  const std::string_view view = name;
  return did_you_mean({&view, 1});
}

Words::Words() = default;
Words::~Words() = default;

void Words::install(lua_State* state) {
  install_op(state, *this);
  install_handles(state, *this);
  install_choices(state, *this);
  install_places(state, *this);
}

Words::Built Words::build(lua_State* state, int match,
                          const std::string& file) {
  session_ = std::make_unique<WordsSession>();
  Sandbox& sandbox = Sandbox::of(state);
  // However it ends, no handle of this run is good afterwards.
  struct Ending {
    Words& words;
    Sandbox& sandbox;
    Sandbox::WordHint hint;
    ~Ending() {
      words.session_.reset();
      sandbox.set_word_hint(std::move(hint));
    }
  } ending{*this, sandbox, sandbox.set_word_hint(hint_of_parameter)};
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

}  // namespace ruleengine::lua
