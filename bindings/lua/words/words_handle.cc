// Methods of handles in `match`: :as, the facts, .T.
#include <cmath>
#include <lua.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/words/words_session.h"
#include "core/base/suggest.h"
#include "core/base/whole.h"

namespace ruleengine::lua {
namespace {

using pattern::Fact;

constexpr std::size_t kMostDims = 64;

// The handle that the fact is about. It is missing when the rule writes a dot
// instead of the colon.
TermHandle& check_subject(lua_State* state, WordsSession& session) {
  if (to_term(state, 1) == nullptr) {
    Sandbox::fail(state, "a method of a pattern is called without the pattern",
                  {}, kind_at(state, 1),
                  "write a colon instead of the dot: x:shape \"B S D\"");
  }
  return check_handle_of(state, session, 1, "the subject of a fact");
}

int wrong_argument(lua_State* state, int index, const char* word,
                   const char* expected) {
  return Sandbox::fail(
      state, std::string("wrong argument of `:") + word + "` in a pattern",
      expected, kind_at(state, index));
}

std::string_view check_string(lua_State* state, int index, const char* word,
                              const char* expected) {
  const auto text = string_at(state, index);
  if (!text) wrong_argument(state, index, word, expected);
  return *text;
}

// One word of a shape: _, 8, or a letter.
Fact::DimPattern check_dim(lua_State* state, WordsSession& session,
                           std::string_view word) {
  Fact::DimPattern dim;
  if (word == "_") return dim;
  if (word.find_first_not_of("0123456789") == word.npos && word.size() < 18) {
    dim.kind = Fact::DimPattern::Kind::kNumber;
    for (const char c : word) dim.number = dim.number * 10 + (c - '0');
    return dim;
  }
  if (!is_lua_name(word)) {
    Sandbox::fail(
        state, quoted_name(word, 60) + " is not a dimension",
        "a letter, a number, _ for any dimension, ... in front for any "
        "leading dimensions");
  }
  dim.kind = Fact::DimPattern::Kind::kLetter;
  dim.letter = named(state, session, word);
  return dim;
}

// "... B S 8": words separated by blanks.
void read_shape(lua_State* state, WordsSession& session, std::string_view text,
                Fact& fact) {
  fact.has_dims = true;
  std::size_t at = 0;
  for (bool first = true; true; first = false) {
    at = text.find_first_not_of(" \t\n", at);
    if (at == text.npos) return;
    const std::size_t end =
        std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (word == "..." && first) {
      fact.ellipsis = true;
    } else {
      fact.dims.push_back(check_dim(state, session, word));
    }
    if (fact.dims.size() > kMostDims) {
      Sandbox::fail(state, "a shape of more than 64 dimensions");
    }
  }
}

std::int64_t check_integer(lua_State* state, int index, const char* word,
                           const char* expected) {
  const double number = lua_tonumber(state, index);
  if (lua_type(state, index) != LUA_TNUMBER || !is_whole(number) ||
      std::fabs(number) > 1e15) {
    wrong_argument(state, index, word, expected);
  }
  return static_cast<std::int64_t>(number);
}

// States the fact in the current scope and returns the pattern.
int state_fact(lua_State* state, WordsSession& session, Fact fact) {
  const TermHandle& handle = check_subject(state, session);
  if (handle.kind == TermHandle::Kind::kRest) {
    return Sandbox::fail(state,
                         "a fact about `rest`: `rest` is a list, not a value");
  }
  fact.subject = handle.kind == TermHandle::Kind::kTerm
                     ? handle.term
                     : term_of(state, session, handle);
  fact.line = rule_line(state, session);
  spend(state, session, 256 + fact.dims.size() * 32);
  session.scopes.back().push_back(session.builder.fact(std::move(fact)));
  lua_settop(state, 1);
  return 1;
}

int shape_fact(lua_State* state, Fact::Kind kind, const char* word) {
  WordsSession& session = session_of(state);
  check_subject(state, session);
  Fact fact{.kind = kind};
  read_shape(state, session,
             check_string(state, 2, word, "a text such as \"B S D\""), fact);
  return state_fact(state, session, std::move(fact));
}

int shape(lua_State* state) {
  return shape_fact(state, Fact::Kind::kShape, "shape");
}
int fits(lua_State* state) {
  return shape_fact(state, Fact::Kind::kFits, "fits");
}

int constant(lua_State* state) {
  if (!lua_isnoneornil(state, 2)) {
    return shape_fact(state, Fact::Kind::kConst, "const");
  }
  return state_fact(state, session_of(state), Fact{.kind = Fact::Kind::kConst});
}

int rank(lua_State* state) {
  check_subject(state, session_of(state));
  Fact fact{.kind = Fact::Kind::kRank};
  fact.number = check_integer(state, 2, "rank", "a number");
  if (fact.number < 0) return Sandbox::fail(state, "a rank below 0");
  return state_fact(state, session_of(state), std::move(fact));
}

int dim(lua_State* state) {
  WordsSession& session = session_of(state);
  check_subject(state, session);
  Fact fact{.kind = Fact::Kind::kDim};
  fact.number =
      check_integer(state, 2, "dim", "an axis and a letter or number");
  if (lua_type(state, 3) == LUA_TNUMBER) {
    fact.dims.push_back({.kind = Fact::DimPattern::Kind::kNumber,
                         .number = check_integer(state, 3, "dim", "a number")});
  } else {
    fact.dims.push_back(check_dim(
        state, session,
        check_string(state, 3, "dim", "an axis and a letter or number")));
  }
  fact.has_dims = true;
  return state_fact(state, session, std::move(fact));
}

int type(lua_State* state) {
  check_subject(state, session_of(state));
  Fact fact{.kind = Fact::Kind::kType};
  const int given = lua_gettop(state);
  for (int i = 2; i <= std::max(given, 2); ++i) {
    const std::string_view name =
        check_string(state, i, "type", "names of element types");
    fact.types.push_back(check_element_type(state, name));
  }
  return state_fact(state, session_of(state), std::move(fact));
}

// The nodes that can make the value: one, or those of an either's branches.
std::vector<pattern::NodePatternId> nodes_of(const pattern::Pattern& draft,
                                             pattern::TermId term) {
  std::vector<pattern::NodePatternId> nodes;
  std::vector<pattern::TermId> queue = {term};
  std::vector<bool> seen(draft.terms().size());
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (seen[queue[i].index()]) continue;
    seen[queue[i].index()] = true;
    const pattern::Term& each = draft[queue[i]];
    if (each.kind == pattern::TermKind::kOutput) nodes.push_back(each.node);
    if (each.kind == pattern::TermKind::kContext) queue.push_back(each.base);
    for (const pattern::Alternative& a : each.alternatives) {
      queue.push_back(a.term);
    }
  }
  return nodes;
}

// The `many` term that makes the value, perhaps inside `context`; invalid when
// there is none.
pattern::TermId chain_of(const pattern::Pattern& draft, pattern::TermId term) {
  while (draft[term].kind == pattern::TermKind::kContext) {
    term = draft[term].base;
  }
  return draft[term].kind == pattern::TermKind::kMany ? term
                                                      : pattern::TermId();
}

void check_tagged(lua_State* state, Status status) {
  if (status) return;
  status.error().where.clear();
  Sandbox::fail(state, status.error());
}

// Names the node that makes this value, whichever branch it comes from; for
// `many`, names its steps.
int as(lua_State* state) {
  WordsSession& session = session_of(state);
  const TermHandle& handle = check_subject(state, session);
  const pattern::VariableId tag = check_name(state, session, 2, "`:as`");
  std::vector<pattern::NodePatternId> nodes;
  if (handle.kind == TermHandle::Kind::kTerm) {
    const pattern::TermId chain =
        chain_of(session.builder.draft(), handle.term);
    if (chain) {
      check_tagged(state,
                   session.builder.tag(chain, tag, rule_line(state, session)));
      lua_settop(state, 1);
      return 1;
    }
    nodes = nodes_of(session.builder.draft(), handle.term);
  }
  if (nodes.empty()) {
    return Sandbox::fail(
        state, "`:as` names a node or the steps of `many`, and this is neither",
        {}, {}, "give the name to the op inside");
  }
  for (const pattern::NodePatternId node : nodes) {
    check_tagged(state,
                 session.builder.tag(node, tag, rule_line(state, session)));
  }
  lua_settop(state, 1);
  return 1;
}

constexpr luaL_Reg kMethods[] = {
    {"as", as},     {"const", constant}, {"dim", dim},   {"fits", fits},
    {"rank", rank}, {"shape", shape},    {"type", type}, {nullptr, nullptr}};

// Upvalues: Words, the methods.
int index(lua_State* state) {
  lua_settop(state, 2);
  lua_pushvalue(state, 2);
  lua_rawget(state, lua_upvalueindex(2));
  if (!lua_isnil(state, -1)) return 1;
  const std::string_view name = string_at(state, 2).value_or("");
  if (name == "T") {
    WordsSession& session = session_of(state);
    const TermHandle& handle = check_handle_of(state, session, 1, "`.T`");
    const int line = rule_line(state, session);
    if (handle.kind != TermHandle::Kind::kVariable) {
      return Sandbox::fail(state, "only a variable can be transposed by `.T`");
    }
    return push_term(state, session,
                     session.builder.transpose(
                         session.builder.value(handle.variable, line), line));
  }
  std::vector<std::string> known = {"T"};
  for (const luaL_Reg* each = kMethods; each->name != nullptr; ++each) {
    known.emplace_back(each->name);
  }
  Diagnostic error = wrong("a pattern has no '" + printable(name, 60) + "'");
  if (name.empty()) error.what = "a pattern cannot be indexed";
  error.hint = suggestion(name, known);
  const TermHandle* self = to_term(state, 1);
  if (self != nullptr && self->kind == TermHandle::Kind::kVariable &&
      session_of(state).builder.draft()[self->variable].name == "m") {
    error.hint =
        "m exists only in `where` and `rewrite`; `match` and `replace` get the "
        "values as parameters: function(op, x, ...)";
  }
  return Sandbox::fail(state, std::move(error));
}

int newindex(lua_State* state) {
  return Sandbox::fail(state, "a pattern has no fields to assign");
}

int call(lua_State* state) {
  return Sandbox::fail(state, "a pattern is called as if it were a function");
}

int text(lua_State* state) {
  lua_pushliteral(state, "pattern");
  return 1;
}

constexpr luaL_Reg kHandleMethods[] = {{"__newindex", newindex},
                                       {"__call", call},
                                       {"__tostring", text},
                                       {nullptr, nullptr}};

}  // namespace

void install_handles(lua_State* state, Words& words) {
  luaL_newmetatable(state, kTermMetatable);
  set_words(state, words, kHandleMethods);
  refuse_operators(state, words, "a pattern");
  lua_pushlightuserdata(state, &words);
  lua_newtable(state);
  set_words(state, words, kMethods);
  lua_pushcclosure(state, &index, 2);
  lua_setfield(state, -2, "__index");
  lua_pop(state, 1);
}

}  // namespace ruleengine::lua
