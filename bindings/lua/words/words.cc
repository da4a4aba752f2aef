#include "bindings/lua/words/words.h"

#include <algorithm>
#include <array>
#include <lua.hpp>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/words/words_session.h"
#include "core/base/suggest.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {
namespace {

constexpr std::array<std::string_view, 22> kKeywords = {  // in order
    "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while"};

constexpr int kMostParameters = 200;

// Pushes a handle for each parameter after `op`.
void push_parameters(lua_State* state, WordsSession& session,
                     const std::vector<std::string>& parameters, int line) {
  luaL_checkstack(state, static_cast<int>(parameters.size()),
                  "too many parameters");
  for (const std::string& name : parameters) {
    if (is_reserved_name(name)) {
      Diagnostic error =
          wrong("'" + name + "' cannot be a parameter of `match`");
      error.hint = "m." + name + " already has another meaning";
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
  if (word == "op") return "op is the first parameter: function(op, x, ...)";
  if (std::string op = hint_of_op(word); !op.empty()) return op;
  if (!near.empty() || !is_lua_name(word)) return near;
  return "a variable is a parameter of `match`: function(op, ..., " +
         std::string(word) + ")";
}

// One call of `match` or `replace`.
class Called {
 public:
  Called(lua_State* state, WordsSession& session, int function,
         const char* word)
      : state_(state),
        session_(session),
        word_(word),
        function_(function),
        top_(lua_gettop(state)),
        scope_(session) {
    lua_Debug activation;
    lua_pushvalue(state, function);
    lua_getinfo(state, ">S", &activation);
    const bool own =
        Sandbox::place_of(state, function) ==
        session.file + ":" + std::to_string(activation.linedefined);
    session.chunk = own ? activation.short_src : "";
    line_ = own ? activation.linedefined : session.line;
    parameters_ = parameters_of(state, function);
    if (parameters_.empty()) {
      fail(wrong("`" + std::string(word) + "` has no parameter",
                 std::string(word) + " = function(op, x, ...)"),
           line_);
    }
    parameters_.erase(parameters_.begin());
  }

  void run() {
    lua_pushvalue(state_, function_);
    push_op(state_, OpHandle{.run = session_.run});
    push_parameters(state_, session_, parameters_, line_);
    lua_call(state_, static_cast<int>(parameters_.size()) + 1, LUA_MULTRET);
  }

  template <typename Take>
  void take_results(const Take& take) {
    const int top = lua_gettop(state_);
    if (top == top_) {
      fail(wrong("`" + std::string(word_) + "` returns nothing",
                 "the pattern whose value is replaced"),
           rule_line(state_, session_));
    }
    const std::string what = "a result of `" + std::string(word_) + "`";
    for (int i = top_ + 1; i <= top; ++i) {
      take(check_input(state_, session_, i, what.c_str()));
    }
    lua_settop(state_, top_);
  }

  // The facts and conditions that it stated outside of alternatives.
  pattern::Alternative stated() { return scope_.take({}); }

  void fail(Diagnostic error, int line) const {
    error.kind = ErrorKind::kRule;
    error.where = session_.file + ":" + std::to_string(line > 0 ? line : line_);
    Sandbox::fail(state_, std::move(error));
  }

  int line() const { return line_; }
  const std::vector<std::string>& parameters() const { return parameters_; }

 private:
  lua_State* state_;
  WordsSession& session_;
  const char* word_;
  int function_, top_, line_ = 0;
  std::vector<std::string> parameters_;
  ScopeGuard scope_;
};

// Calls `replace`, the function at `function`. The builder of the session holds
// the pattern.
Replacement build_replacement(lua_State* state, WordsSession& session,
                              const pattern::Pattern& pattern, int function) {
  Replacement made{.shared_terms = pattern.terms().size(),
                   .shared_nodes = pattern.nodes().size(),
                   .shared_variables = pattern.variables().size()};
  Called called(state, session, function, "replace");
  made.line = called.line();
  called.run();
  called.take_results(
      [&](pattern::TermId term) { made.results.push_back(term); });
  const pattern::Alternative stated = called.stated();
  const bool states = std::ranges::any_of(
      stated.facts,
      [&](pattern::FactId id) { return id.index() >= pattern.facts().size(); });
  if (states || !stated.conditions.empty()) {
    called.fail(wrong("`replace` states a condition", {}, {},
                      "conditions belong in `match`"),
                0);
  }
  if (Status sound = session.builder.sound(); !sound) {
    called.fail(sound.error(), session.builder.error_line());
  }
  made.draft = session.builder.draft();
  for (const std::string& name : called.parameters()) {
    const auto id = session.builder.variable(name, called.line());
    if (id.index() >= made.shared_variables) made.computed.push_back(name);
  }
  if (auto problem = check_replacement(made, pattern)) {
    called.fail(std::move(problem->diagnostic), problem->line);
  }
  return made;
}

}  // namespace

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

// Files are scanned at each start, so most words are turned away by their
// length or first letter.
bool is_lua_keyword(std::string_view text) {
  if (text.size() < 2 || text.size() > 8) return false;
  return std::ranges::any_of(kKeywords, [&](std::string_view keyword) {
    return keyword[0] == text[0] && keyword == text;
  });
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
  if (ops::newest_op("", word) == nullptr) return {};
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

Words::Built Words::build(lua_State* state, int match, const std::string& file,
                          int line, int replace) {
  session_ = std::make_unique<WordsSession>();
  Sandbox& sandbox = Sandbox::of(state);
  // Handles of this run are invalid afterwards, also after an error.
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
  session.line = line;
  Called called(state, session, match, "match");
  called.run();
  called.take_results(
      [&](pattern::TermId term) { session.builder.result(term); });
  const pattern::Alternative stated = called.stated();
  for (pattern::FactId fact : stated.facts) session.builder.global_fact(fact);
  for (pattern::TermId term : stated.conditions) {
    session.builder.condition(term);
  }
  // `replace` extends the pattern, so it starts from this copy.
  pattern::Builder more = session.builder;
  Result<pattern::Pattern> pattern = session.builder.finish();
  if (!pattern) called.fail(pattern.error(), session.builder.error_line());
  Built built{*std::move(pattern), called.parameters()};
  if (replace != 0) {
    session.builder = std::move(more);
    built.replacement =
        build_replacement(state, session, built.pattern, replace);
  }
  return built;
}

}  // namespace ruleengine::lua
