// What the C functions of code read: attributes, tensors and `names`; with
// texts of errors, and userdata with our metatables. Internal to bindings/lua.
#pragma once

#include <algorithm>
#include <cstddef>
#include <lua.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bindings/lua/code/code_record.h"
#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/stack.h"
#include "core/base/arena.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {
namespace code {

inline constexpr const char* kTensorMetatable = "ruleengine.code.tensor";

inline std::string found_at(lua_State* state, int index) {
  return lua_isnoneornil(state, index)
             ? "nil"
             : std::string("a ") + luaL_typename(state, index);
}

inline int line_of(lua_State* state) {
  return std::max(0, Sandbox::line_of(Sandbox::here(state)));
}

// The limit on what a file of code stores outside of Lua's memory: a loop could
// add nodes, and repeat one long text, for ever.
class Budget {
 public:
  // Accounts for bytes that will be stored; raises if it is too much.
  void take(lua_State* state, std::size_t bytes) {
    taken_ += bytes;
    Sandbox::charge(state, bytes);
    if (taken_ <= kMost) return;
    Sandbox::fail(state, {.kind = ErrorKind::kLimit,
                          .what = "the code is too large",
                          .expected = "at most 1 GiB of nodes and names"});
  }
  // The same for a text or a list at `index`.
  void take_at(lua_State* state, int index) {
    if (lua_type(state, index) == LUA_TSTRING) {
      return take(state, lua_objlen(state, index) + 64);
    }
    if (!lua_istable(state, index)) return;
    const std::size_t size = lua_objlen(state, index);
    take(state, size * 64);
    for (std::size_t i = 1; i <= size; ++i) {
      lua_rawgeti(state, index, static_cast<int>(i));
      if (lua_type(state, -1) == LUA_TSTRING) {
        take(state, lua_objlen(state, -1));
      }
      lua_pop(state, 1);
    }
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 30;
  std::size_t taken_ = 0;
};

}  // namespace code

// tensor("float", {2}, {1, 2}): arguments from index 1; raises.
const ir::Literal* read_tensor(lua_State* state, Arena& arena,
                               code::Budget& budget);

// Reads a number, text, list or tensor at `index`: as the schema requires
// (`formal`), or by its Lua type. False if it does not fit.
bool read_plain(lua_State* state, Arena& arena, int index,
                const ops::FormalAttribute* formal, ir::Attribute& out);

// The `names { ... }` of a file of code, and how it names nodes and values.
class CodeNames {
 public:
  // Reads the table at index 1; raises.
  void read(lua_State* state, code::Budget& budget);
  // Gives values and nodes the names that they have in the model. An entry
  // without a node is an error.
  Status apply(CodeRecord& record, const std::string& file);

 private:
  struct Given {  // an entry of `names`
    std::string node;
    std::optional<std::vector<std::string>>
        outputs;  // none: derived from the node's name
    int line = 0;
  };

  static void apply_to(const Given& given, CodeNode& node, CodeRecord& record);

  std::map<std::string, Given> names_;
};

}  // namespace ruleengine::lua
