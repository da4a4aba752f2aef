// Upvalues: nothing may be carried from one match to the next but the graph, so
// a callback must leave the locals around it, and what is in their tables, as
// they were. A snapshot of what a callback can reach is taken before its first
// call and compared after every one. Internal to bindings/lua; holds
// a registry reference until release().
#ifndef RULEENGINE_BINDINGS_LUA_SANDBOX_UPVALUES_H_
#define RULEENGINE_BINDINGS_LUA_SANDBOX_UPVALUES_H_

#include <lua.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/rule_file.h"

namespace ruleengine::lua {

class Upvalues {
 public:
  // Runs under Sandbox::protect.
  static Upvalues snapshot(lua_State* state, FunctionRef function);

  void release(lua_State* state);

  // The name of what changed since; none when nothing did. Allocates nothing
  // in Lua.
  std::optional<std::string> changed(lua_State* state) const;

 private:
  // One upvalue of one function, or one table.
  struct Cell {
    bool is_table = false;
    int holder = 0;    // the function or table, in the array `kept_`
    int upvalue = 0;   // 1 and up
    int value = 0;     // its value, in `kept_`
    int first = 0;     // a table: its keys and values, in `kept_`
    int count = 0;     // pairs
    std::string name;  // of the local
  };
  class Walk;

  static bool same_upvalue(lua_State* state, int kept, const Cell& cell);
  static bool same_table(lua_State* state, int kept, const Cell& cell);

  int kept_ = 0;  // registry reference of everything found; 0: nothing
  std::vector<Cell> cells_;
  // What holds a coroutine, which nobody can look into: never allowed.
  std::optional<std::string> coroutine_;
};

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_SANDBOX_UPVALUES_H_
