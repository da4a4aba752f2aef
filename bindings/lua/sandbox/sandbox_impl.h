// The state of a Sandbox. Internal to sandbox*.cc.
#pragma once

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
  lua_State* state = nullptr;  // the main thread of Lua
  int globals = 0;   // registry reference: the words of every environment
  int compiler = 0;  // compile_body, kept so that calling it allocates nothing
  int depth = 0;     // of nested calls
  Budget budget = Budget::kLoad;
  bool stopped = false;
  // Lua keeps at most 60 characters of a chunk's name: maps those to the file
  // name.
  std::map<std::string, std::string, std::less<>> files;
  // The text of each chunk, to show lines in messages.
  std::map<std::string, std::string, std::less<>> sources;
  std::optional<Diagnostic> pending;  // the last one that fail() raised
  std::string pending_text;
  WordHint word_hint;
  // The outermost Lua function: its chunk and first line (0: a C function).
  char entered_chunk[LUA_IDSIZE] = "";
  int entered_line = 0;

  std::string register_chunk(const std::string& file);
  std::string file_place(std::string_view place) const;
  // The line of source at "chunk:line"; "" if it is unknown.
  std::string source_line(std::string_view place) const;
  // The place of the code that runs in this state.
  std::string running_place(lua_State* state) const;
  Diagnostic spent(std::string_view what) const;
  Diagnostic diagnose(std::string_view what);
};

}  // namespace ruleengine::lua
