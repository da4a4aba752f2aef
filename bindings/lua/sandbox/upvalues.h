// Upvalues: only the graph may carry state from one match to the next, so a
// callback must not change the locals around it, or their tables. A snapshot of
// everything that a callback can reach is taken before its first call and
// compared after each call. Internal to bindings/lua; holds a registry
// reference until release().
#pragma once

#include <lua.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"

namespace ruleengine::lua {

class Upvalues {
 public:
  // Runs under Sandbox::protect.
  static Upvalues snapshot(lua_State* state, FunctionRef function);

  void release(lua_State* state);

  // The name of a local that changed since the snapshot; none if nothing did.
  // Allocates nothing in Lua.
  std::optional<std::string> changed(lua_State* state) const;

 private:
  // An upvalue of a function, or a table.
  struct Cell {
    bool is_table = false;
    int holder = 0;    // the function or table: index into the array `kept_`
    int upvalue = 0;   // from 1
    int value = 0;     // the upvalue's value: index into `kept_`
    int first = 0;     // a table's keys and values: index into `kept_`
    int count = 0;     // pairs
    std::string name;  // of the local
  };
  class Walk;

  static bool same_upvalue(lua_State* state, int kept, const Cell& cell);
  static bool same_table(lua_State* state, int kept, const Cell& cell);

  int kept_ = 0;  // registry reference of all values found; 0: none
  std::vector<Cell> cells_;
  // The name of a local that holds a coroutine. Its state cannot be inspected,
  // so it is never allowed.
  std::optional<std::string> coroutine_;
};

}  // namespace ruleengine::lua
