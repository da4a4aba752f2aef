// Words: the language of `match`. Runs the function once, with handles for its
// parameters, and makes what it describes into a pattern: op.X(...), either,
// maybe, many, context, never, any, rest, and the facts stated on handles.
// Handles are userdata that belong to one run of one `match`; any other use is
// an error. Owned by the RuleSet; one sandbox, one thread. Everything may raise
// Lua errors (through Sandbox::fail) and is called under protection.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/words/replacement.h"
#include "core/base/diagnostic.h"
#include "core/pattern/pattern.h"

struct lua_State;

namespace ruleengine::lua {

struct WordsSession;

class Words {
 public:
  Words();
  ~Words();

  // Adds the words to the table on top of the stack; once for each state.
  void install(lua_State* state);

  struct Built {
    pattern::Pattern pattern;
    std::vector<std::string> parameters;  // without `op`
    std::optional<Replacement> replacement;
  };
  // Runs the function at `match` of a rule in `file`. If `replace` is not 0,
  // then runs the function at `replace` with the same names. `line` is the line
  // of the rule; errors in a function of a lib are reported there.
  Built build(lua_State* state, int match, const std::string& file, int line,
              int replace = 0);

  // The current run; nullptr between runs.
  WordsSession* session() { return session_.get(); }

 private:
  std::unique_ptr<WordsSession> session_;
  std::uint32_t runs_ = 0;
};

// The names of the parameters of the function at `function`.
std::vector<std::string> parameters_of(lua_State* state, int function);

// Whether a text can follow `m.`: a Lua name that is not a keyword.
bool is_lua_name(std::string_view text);
bool is_lua_keyword(std::string_view text);
// The fields of `m` that are not names of the pattern.
bool is_reserved_name(std::string_view text);

// "did you mean 'op.Neg'?" for the name of an op alone; else "".
std::string hint_of_op(std::string_view word);

}  // namespace ruleengine::lua
