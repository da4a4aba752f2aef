// Sandbox: one LuaJIT state that runs rule code and nothing else. It
// interprets, with a count hook that checks a deadline, and an allocator with a
// limit; each rule file gets fresh globals, which are read-only and pure
// functions. No call from rule code can exceed the limits: pcall, xpcall and
// coroutines pass on the error of a spent budget, string patterns are bounded,
// and so is the work of every C function. Owns its lua_State. Each sandbox
// belongs to one thread.
//
// Lua errors and C++: LuaJIT raises errors through the platform's unwinder on
// the machines that we build for, so destructors run when an error passes a C++
// frame (sandbox_test.cc tests it). Two things are forbidden: an error through
// a noexcept function, and `catch (...)` around Lua's API.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/deadline.h"
#include "core/base/result.h"

struct lua_State;

namespace ruleengine::lua {

// A reference in the Lua registry; 0: none.
using FunctionRef = int;

struct SandboxLimits {
  double load_seconds = 2;      // one rule file
  double callback_seconds = 5;  // one callback
  std::size_t load_bytes = std::size_t{256} << 20;
  std::size_t total_bytes = std::size_t{1024} << 20;
  Deadline deadline;  // of the whole run
};

// A mistake in a rule file.
Diagnostic wrong(std::string what, std::string expected = {},
                 std::string found = {}, std::string hint = {});

// Hides the metatable on top from rule code.
void hide_metatable(lua_State* state);

// The characters of the string at `index`; valid while it is on the stack.
std::string_view text_at(lua_State* state, int index);
// The same without conversion; none when it is not a string.
std::optional<std::string_view> string_at(lua_State* state, int index);
// The same of an argument; raises when it is neither a string nor a number.
std::string_view check_text(lua_State* state, int argument);
// These push the only result of a C function, and return their number: 1.
int push(lua_State* state, std::string_view text);
int push_bool(lua_State* state, bool is_so);
// An index that stays right while values are pushed.
int absolute(lua_State* state, int index);

class Sandbox {
 public:
  static Result<std::unique_ptr<Sandbox>> create(const SandboxLimits& limits);
  ~Sandbox();

  lua_State* state() const;
  const SandboxLimits& limits() const;

  // Compiles text (never bytecode) into a function and leaves it on the stack.
  // Its fresh globals are the sandbox's words and those of the table at
  // `words_index` (0: none). `chunk` is the file name in messages.
  Status compile(std::string_view text, const std::string& chunk,
                 int words_index);

  // Calls the function below its `arguments` on the stack, under the limits of
  // a load or of a callback. On success it leaves `results` values. On failure
  // the stack is as before the function was pushed and the Diagnostic is kRule
  // ("file:line" in `where`) or kLimit (time or memory, for `what`). Inside
  // another call the limits of the outermost one apply. kFollowed is a callback
  // whose current line is tracked, for exact places.
  enum class Budget { kLoad, kCallback, kFollowed };
  Status call(int arguments, int results, Budget budget, std::string_view what);

  // Memory outside of Lua that the engine uses for rule code, in bytes; it
  // counts towards the limit.
  void set_beside(std::size_t bytes);

  // Bytes in use, and their maximum so far.
  std::size_t bytes() const;
  std::size_t peak_bytes() const;

  // The sandbox of a state; for C functions called from it.
  static Sandbox& of(lua_State* state);

  // Runs `body` under the error protection of Lua's C API, for host code that
  // uses the API outside of call(). A Lua error (memory) becomes a Diagnostic.
  // `body` has its own frame: values that it leaves on the stack are dropped.
  Status protect(const std::function<void(lua_State*)>& body);

  // Returns the hint for an unknown word; `near` is the suggestion from known
  // words, or "". Returns the function that was set before.
  using WordHint =
      std::function<std::string(std::string_view word, std::string near)>;
  WordHint set_word_hint(WordHint hint);
  std::string word_hint(std::string_view word, std::string near) const;

  // --- for C functions that rule code calls ---

  // Raises `error` as a Lua error at the current line of rule code. If nothing
  // catches it, call() returns it with `where` filled in, unless it is set.
  // Never returns; declared int so that C functions can return it.
  static int fail(lua_State* state, Diagnostic error);
  // The same with the error wrong(...).
  static int fail(lua_State* state, std::string what, std::string expected = {},
                  std::string found = {}, std::string hint = {});

  // Ends the whole call without an error, even inside a pcall of rule code;
  // call() then fails, and stopped() is true until the next call. Never
  // returns.
  static int stop(lua_State* state);
  // Calls the function below its `arguments` on the stack; false if stop()
  // ended it, which then ends nothing else. Other errors pass through.
  static bool call_until_stop(lua_State* state, int arguments);
  bool stopped() const;

  // Ends the whole call because memory is used up. Never returns.
  static int out_of_memory(lua_State* state);

  // Accounts for `work` bytes or steps done in C++, and ends the call if its
  // time is up. Every loop whose length rule code decides must call it.
  static void charge(lua_State* state, std::size_t work);

  // "file:line" of the running rule code; "" if none is running.
  static std::string here(lua_State* state);
  // "chunk:line" of the nearest rule code on the stack outside of the folder of
  // the running code (which may be a lib); of the running code if there is
  // none.
  static std::string caller(lua_State* state);
  // "file:line" for "chunk:line".
  static std::string file_place(lua_State* state, std::string_view place);
  // Raises the error on top of the stack again, with the place `place` if it
  // was raised in the folder of the rule code that calls this.
  static int blame(lua_State* state, std::string_view place);
  // "file:line" of the first line of a Lua function.
  static std::string place_of(lua_State* state, int function_index);
  // The number in "file:line"; 0 if there is none.
  static int line_of(std::string_view place);

 private:
  struct Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ruleengine::lua
