// Sandbox: one LuaJIT state that runs rule code and nothing else. Interpreted,
// under a count hook with a deadline, in an allocator with a cap; the globals
// are a fresh, frozen set of pure functions for every rule file. No call from
// rule code can pass the limits: pcall, xpcall and coroutines re-raise a spent
// budget, string patterns are bounded, and no C function works without bound.
// Owns its lua_State. One sandbox, one thread.
//
// Lua errors and C++: LuaJIT raises errors through the platform's unwinder on
// the machines we build for, so destructors run when an error passes a C++
// frame (sandbox_test.cc holds it to that). Two things stay forbidden: an error
// through a noexcept function, and `catch (...)` around Lua's API.
#ifndef RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_H_
#define RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/deadline.h"
#include "core/base/result.h"

struct lua_State;

namespace ruleengine::lua {

struct SandboxLimits {
  double load_seconds = 2;      // one rule file
  double callback_seconds = 5;  // one callback
  std::size_t load_bytes = std::size_t{256} << 20;
  std::size_t total_bytes = std::size_t{1024} << 20;
  Deadline deadline;  // of the whole run
};

class Sandbox {
 public:
  static Result<std::unique_ptr<Sandbox>> create(const SandboxLimits& limits);
  ~Sandbox();

  lua_State* state() const;
  const SandboxLimits& limits() const;

  // Compiles text (never bytecode) into a function left on the stack, with a
  // fresh environment whose globals are the sandbox's words plus those of the
  // table at `words_index` (0: none). `chunk` is the file name in messages.
  Status compile(std::string_view text, const std::string& chunk,
                 int words_index);

  // Calls the function below its `arguments` on the stack under the limits of
  // a load or of a callback. On success `results` values are left. On failure
  // the stack is as before the function was pushed and the Diagnostic is kRule
  // ("file:line" in `where`) or kLimit (time or memory, naming `what`).
  // Inside another call the limits are those of the outermost one.
  // kFollowed is a callback whose lines are followed, for exact places.
  enum class Budget { kLoad, kCallback, kFollowed };
  Status call(int arguments, int results, Budget budget, std::string_view what);

  // What the engine keeps because of rule code, in bytes: it counts as memory
  // of Lua's.
  void set_beside(std::size_t bytes);

  // Bytes in use and the most there were.
  std::size_t bytes() const;
  std::size_t peak_bytes() const;

  // The sandbox that owns a state; for C functions called from it.
  static Sandbox& of(lua_State* state);

  // Runs `body` under the error protection of Lua's C API: for host code that
  // uses the API outside call(). A Lua error (memory) becomes a Diagnostic.
  // `body` gets a frame of its own: what it leaves on the stack is dropped.
  Status protect(const std::function<void(lua_State*)>& body);

  // What to hint when rule code reads a word that is not there; `near` is what
  // the words themselves would say, or "". Returns the hint that was set.
  using WordHint =
      std::function<std::string(std::string_view word, std::string near)>;
  WordHint set_word_hint(WordHint hint);
  std::string word_hint(std::string_view word, std::string near) const;

  // --- for C functions that rule code calls ---

  // Raises `error` as a Lua error at the line of rule code that runs now; when
  // nothing catches it, call() returns it with `where` filled in (unless it is
  // already). Never returns; an int so that a C function can return it.
  static int fail(lua_State* state, Diagnostic error);
  // The same for one clause.
  static int fail(lua_State* state, std::string what);

  // Ends the whole call quietly, past every pcall of rule code; call() then
  // fails and stopped() is true until the next one. Never returns.
  static int stop(lua_State* state);
  // Calls the function below its `arguments` on the stack; false when stop()
  // ended it, which goes no further then. Any other error does.
  static bool call_until_stop(lua_State* state, int arguments);
  bool stopped() const;

  // Ends the whole call since memory is used up, whoever has it. Never returns.
  static int out_of_memory(lua_State* state);

  // Accounts for `work` bytes or steps done in C++ and ends the call when its
  // time is up. Whatever loops over what rule code chose calls it.
  static void charge(lua_State* state, std::size_t work);

  // "file:line" of the rule code that runs now; "" outside of any.
  static std::string here(lua_State* state);
  // "chunk:line" of the nearest rule code on the stack that is of another
  // folder than what runs now, as a lib is; of what runs now when there is
  // none.
  static std::string caller(lua_State* state);
  // "file:line" of such a place.
  static std::string file_place(lua_State* state, std::string_view place);
  // Raises the error on top of the stack again, as one of `place` when it was
  // raised in the folder of the rule code that calls this.
  static int blame(lua_State* state, std::string_view place);
  // "file:line" of a Lua function's first line.
  static std::string place_of(lua_State* state, int function_index);
  // The number in "file:line"; 0 without one.
  static int line_of(std::string_view place);

 private:
  struct Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_H_
