// What a Sandbox keeps. Internal to sandbox*.cc.
#ifndef RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_IMPL_H_
#define RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_IMPL_H_

#include <lua.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {

struct Sandbox::Impl {
  SandboxLimits limits;
  Meter meter;
  lua_State* state = nullptr;  // the first of all coroutines
  int globals = 0;   // registry reference: the words of every environment
  int compiler = 0;  // and compile_body, so that calling it allocates nothing
  int depth = 0;     // calls inside of calls
  Budget budget = Budget::kLoad;
  bool stopped = false;
  // Lua knows a chunk by at most 60 characters: those, to the file's name.
  std::map<std::string, std::string, std::less<>> files;
  std::optional<Diagnostic> pending;  // what fail() raised last
  std::string pending_text;
  WordHint word_hint;
  // The outermost function called: its chunk and first line (0: a C function).
  char entered_chunk[LUA_IDSIZE] = "";
  int entered_line = 0;

  std::string register_chunk(const std::string& file);
  std::string file_place(std::string_view place) const;
  // Where code of this state runs.
  std::string running_place(lua_State* state) const;
  std::string entered_place() const;
  Diagnostic spent(std::string_view what) const;
  Diagnostic diagnose(std::string_view what);
};

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_IMPL_H_
