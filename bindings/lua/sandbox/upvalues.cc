#include "bindings/lua/sandbox/upvalues.h"

#include <map>

namespace ruleengine::lua {
namespace {

// The most cells that are compared; a library has a few dozen.
constexpr std::size_t kMaxCells = 4096;
constexpr int kMaxKept = 65536;

// Like rawequal, but NaN equals NaN.
bool same(lua_State* state, int a, int b) {
  if (lua_rawequal(state, a, b) != 0) return true;
  return lua_rawequal(state, a, a) == 0 && lua_rawequal(state, b, b) == 0;
}

}  // namespace

// Breadth first over functions and tables, each once. Stack: the array of kept
// values, which is also the queue.
class Upvalues::Walk {
 public:
  Walk(lua_State* state, int kept, std::vector<Cell>& cells)
      : state_(state), kept_(kept), cells_(cells) {}

  void run() {
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const Entry entry = queue_[next];
      if (cells_.size() >= kMaxCells || count_ >= kMaxKept) return;
      if (entry.is_table) {
        table(entry);
      } else {
        function(entry);
      }
    }
  }

  const std::optional<std::string>& coroutine() const { return coroutine_; }

  // Keeps the value on top, pops it, and returns its index.
  int keep(const std::string& name) {
    const int place = ++count_;
    const bool table = lua_istable(state_, -1);
    if (lua_isthread(state_, -1)) coroutine_ = name;
    // A C function may keep the state of an iterator in its upvalues.
    if (table || lua_isfunction(state_, -1)) {
      const auto [at, fresh] = seen_.emplace(lua_topointer(state_, -1), place);
      if (fresh) queue_.push_back({table, place, name});
    }
    lua_rawseti(state_, kept_, place);
    return place;
  }

 private:
  struct Entry {
    bool is_table;
    int place;
    std::string name;
  };

  void function(const Entry& entry) {
    lua_rawgeti(state_, kept_, entry.place);
    const int holder = lua_gettop(state_);
    for (int i = 1;; ++i) {
      const char* name = lua_getupvalue(state_, holder, i);
      if (name == nullptr) break;
      Cell cell{.holder = entry.place, .upvalue = i, .name = name};
      if (cell.name.empty()) cell.name = entry.name;
      cell.value = keep(cell.name);
      cells_.push_back(std::move(cell));
    }
    lua_pop(state_, 1);
  }

  void table(const Entry& entry) {
    lua_rawgeti(state_, kept_, entry.place);
    const int holder = lua_gettop(state_);
    Cell cell{.is_table = true, .holder = entry.place, .name = entry.name};
    cell.first = count_ + 1;
    // All pairs are stored first: same_table reads them in the order of
    // lua_next, which is stable while the table does not change.
    for (lua_pushnil(state_); lua_next(state_, holder) != 0;) {
      if (count_ >= kMaxKept) {
        lua_pop(state_, 2);
        break;
      }
      lua_pushvalue(state_, -2);  // key, value, key
      keep(entry.name);
      keep(entry.name);
      ++cell.count;
    }
    cells_.push_back(std::move(cell));
    lua_pop(state_, 1);
  }

  lua_State* state_;
  int kept_;
  std::vector<Cell>& cells_;
  int count_ = 0;
  std::vector<Entry> queue_;
  std::map<const void*, int> seen_;
  std::optional<std::string> coroutine_;
};

Upvalues Upvalues::snapshot(lua_State* state, FunctionRef function) {
  Upvalues out;
  if (function == 0) return out;
  lua_newtable(state);
  const int kept = lua_gettop(state);
  Walk walk(state, kept, out.cells_);
  lua_rawgeti(state, LUA_REGISTRYINDEX, function);
  walk.keep({});
  walk.run();
  out.coroutine_ = walk.coroutine();
  if (out.cells_.empty()) {
    lua_pop(state, 1);
  } else {
    out.kept_ = luaL_ref(state, LUA_REGISTRYINDEX);
  }
  return out;
}

void Upvalues::release(lua_State* state) {
  luaL_unref(state, LUA_REGISTRYINDEX, kept_ == 0 ? LUA_NOREF : kept_);
  kept_ = 0;
  cells_.clear();
}

bool Upvalues::same_upvalue(lua_State* state, int kept, const Cell& cell) {
  lua_rawgeti(state, kept, cell.holder);
  lua_getupvalue(state, -1, cell.upvalue);
  lua_rawgeti(state, kept, cell.value);
  const bool equal = same(state, -1, -2);
  lua_pop(state, 3);
  return equal;
}

bool Upvalues::same_table(lua_State* state, int kept, const Cell& cell) {
  lua_rawgeti(state, kept, cell.holder);
  const int holder = lua_gettop(state);
  int place = cell.first;
  const int end = cell.first + 2 * cell.count;
  bool equal = true;
  for (lua_pushnil(state); lua_next(state, holder) != 0;) {
    if (place >= end) {
      equal = false;
    } else {
      lua_rawgeti(state, kept, place);  // kept in the order key, value
      lua_rawgeti(state, kept, place + 1);
      equal = same(state, -4, -2) && same(state, -3, -1);
      place += 2;
      lua_pop(state, 2);
    }
    lua_pop(state, 1);
    if (!equal) break;
  }
  lua_settop(state, holder - 1);
  return equal && place == end;
}

std::optional<std::string> Upvalues::changed(lua_State* state) const {
  if (coroutine_) return coroutine_;
  if (cells_.empty()) return std::nullopt;
  lua_rawgeti(state, LUA_REGISTRYINDEX, kept_);
  const int kept = lua_gettop(state);
  std::optional<std::string> found;
  for (const Cell& cell : cells_) {
    if (cell.is_table ? same_table(state, kept, cell)
                      : same_upvalue(state, kept, cell)) {
      continue;
    }
    found = cell.name;
    break;
  }
  lua_pop(state, 1);
  return found;
}

}  // namespace ruleengine::lua
