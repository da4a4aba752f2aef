// Internals of Words: what one run of `match` has built so far, the handles to
// it, and access to both for C functions. Internal to words*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/words/words.h"
#include "core/pattern/pattern.h"

struct lua_State;
struct luaL_Reg;

namespace ruleengine::lua {

struct WordsSession {
  pattern::Builder builder;
  std::uint32_t run = 0;  // stored in each handle
  std::string file;       // of the rule
  int line = 0;           // where it is declared
  std::string chunk;      // Lua's name of the file; "": a function of a lib
  // The facts stated in the body of `match` and in those of the function
  // alternatives in it: facts and unused conditions belong to their scope.
  std::vector<std::vector<pattern::FactId>> scopes;
  // Each `context` and `never`, and whether another pattern uses it.
  struct Condition {
    pattern::TermId term;
    std::size_t scope = 0;  // depth
    bool used = false;
  };
  std::vector<Condition> conditions;
  // The line that blame() names; 0 outside of it.
  int blamed_line = 0;
  // The approximate memory of the pattern outside of Lua.
  std::size_t bytes = 0;
};
inline constexpr std::size_t kMaxPatternBytes = std::size_t{32} << 20;

// One value of the pattern, or a word that stands for one; recognized by its
// metatable.
struct TermHandle {
  enum class Kind : std::uint8_t {
    kVariable,  // a parameter, any "x": used as a value or as an attribute
    kTerm,
    kRest,
  };
  std::uint32_t run = 0;
  Kind kind = Kind::kTerm;
  pattern::VariableId variable;  // kVariable, kRest
  pattern::TermId term;          // kTerm
  int condition = -1;            // index of WordsSession::conditions
};

// op, op.domain, op.Type: what is indexed further or called.
struct OpHandle {
  std::uint32_t run = 0;
  char domain[120] = "";
  char type[120] = "";
};

// A scope that ends with the function, also after an error.
class ScopeGuard {
 public:
  explicit ScopeGuard(WordsSession& session);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

  // What was stated in it, including its unused `context` and `never` terms.
  pattern::Alternative take(pattern::TermId term);

 private:
  WordsSession& session_;
  std::size_t depth_;
};

// The first upvalue of every function and metamethod here is the Words.
Words& words_of(lua_State* state);
// The current run; raises an error when there is none.
WordsSession& session_of(lua_State* state);
// Counts the memory of what is about to be built; raises an error above the
// limit.
void spend(lua_State* state, WordsSession& session, std::size_t bytes);
// Adds `functions` with that upvalue to the table on top.
void set_words(lua_State* state, Words& words, const luaL_Reg* functions);

// The current line in the rule's own file, also while it calls a lib.
int rule_line(lua_State* state, const WordsSession& session);

TermHandle* to_term(lua_State* state, int index);  // nullptr: none
const OpHandle* to_op(lua_State* state, int index);
bool is_any(lua_State* state, int index);  // the bare word
bool is_rest(lua_State* state, int index);
int push_term(lua_State* state, const TermHandle& handle);  // gives 1
void push_op(lua_State* state, const OpHandle& handle);
inline int push_term(lua_State* state, const WordsSession& session,
                     pattern::TermId term) {
  return push_term(state, TermHandle{.run = session.run, .term = term});
}

// The term that stands for the value at `index`, as an input or an
// alternative; `what` names the place in errors.
pattern::TermId check_input(lua_State* state, WordsSession& session, int index,
                            const char* what);
// A handle of this run; raises otherwise.
TermHandle& check_handle_of(lua_State* state, WordsSession& session, int index,
                            const char* what);
// The term of a handle: a variable becomes a value, a condition is used.
pattern::TermId term_of(lua_State* state, WordsSession& session,
                        const TermHandle& handle);

// A name for a variable or a node: raises an error when it cannot follow `m.`.
pattern::VariableId check_name(lua_State* state, WordsSession& session,
                               int index, const char* what);
pattern::VariableId named(lua_State* state, WordsSession& session,
                          std::string_view name);

// "a number", "a pattern": for `found`.
std::string kind_at(lua_State* state, int index);

// The attribute `name` of `node` as the value at `index` describes it.
pattern::AttributePattern check_attribute(lua_State* state,
                                          WordsSession& session,
                                          const pattern::NodePattern& node,
                                          std::string_view name, int index);
// Raises when there is no element type of this name.
ir::DataType check_element_type(lua_State* state, std::string_view name);

// The parts of install().
void install_op(lua_State* state, Words& words);       // metatable of op
void install_handles(lua_State* state, Words& words);  // metatable of terms
void install_choices(lua_State* state, Words& words);  // either ... rest
void install_places(lua_State* state, Words& words);   // here ... known_ops

inline constexpr const char* kTermMetatable = "ruleengine.term";
inline constexpr const char* kOpMetatable = "ruleengine.op";
inline constexpr const char* kAnyMetatable = "ruleengine.any";
inline constexpr const char* kRestMetatable = "ruleengine.rest";

// Names of metamethods that a handle refuses: arithmetic, order, length.
void refuse_operators(lua_State* state, Words& words, const char* what);

}  // namespace ruleengine::lua
