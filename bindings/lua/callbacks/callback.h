// Callback: one function of a rule file. A call handles the session, the
// limits, the way the function ends, and the check that it did not change its
// upvalues. Internal to bindings/lua.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bindings/lua/sandbox/upvalues.h"
#include "bindings/lua/session/host.h"

namespace ruleengine::lua {

// The rejection that ended a callback; none when it ended normally.
using Ended = std::optional<rewrite::Rejection>;

class Callback {
 public:
  Callback() = default;
  // `key` is the key in the rule file. Runs under Sandbox::protect.
  static Callback of(Sandbox& sandbox, const LoadedRule& rule, const char* key,
                     FunctionRef function);

  // Releases the references to the upvalues; the rule file owns the function.
  void release(lua_State* state) { upvalues_.release(state); }

  explicit operator bool() const { return function_ != 0; }

  using Body = std::function<void(lua_State*)>;
  // Calls it in the session that is open. `push` pushes the arguments; `take`
  // gets the results as its whole stack; nullptr: the results are dropped. Both
  // run protected. After a rejection or an error `take` does not run.
  Result<Ended> call(Sandbox& sandbox, const Body& push,
                     const Body& take = nullptr) const;

  // Adds the place of the callback and the root of the match to its error.
  Diagnostic located(const Host& host, Diagnostic error) const;

 private:
  Status invoke(Sandbox& sandbox, int arguments, int results) const;
  Status take_results(Sandbox& sandbox, int base, const Body& take) const;

  FunctionRef function_ = 0;
  std::string what_;   // "`where` of rule 'compose'"
  std::string place_;  // "file:line"
  Upvalues upvalues_;
};

}  // namespace ruleengine::lua
