// here, blame, known_ops: for libs that describe first and build later. What
// they build counts for the line of the rule file that described it.
#include <lua.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/lua/sandbox.h"
#include "bindings/lua/sandbox_meter.h"
#include "bindings/lua/words_session.h"
#include "core/ir/op_facts.h"

namespace ruleengine::lua {
namespace {

// here(): "file:line" of what called into the file that calls this; for
// blame() and for errors of its own.
int here(lua_State* state) {
  const std::string place = Sandbox::caller(state);
  lua_pushlstring(state, place.data(), place.size());
  return 1;
}

// Until its end, what is built counts for `line`.
class BlamedLine {
 public:
  BlamedLine(WordsSession& session, int line)
      : session_(session), before_(session.blamed_line) {
    session.blamed_line = line;
  }
  ~BlamedLine() { session_.blamed_line = before_; }
  BlamedLine(const BlamedLine&) = delete;
  BlamedLine& operator=(const BlamedLine&) = delete;

 private:
  WordsSession& session_;
  int before_;
};

// blame(place, f, ...): f(...), its mistakes being those of `place`.
int blame(lua_State* state) {
  WordsSession& session = session_of(state);
  std::size_t size = 0;
  const char* data = luaL_checklstring(state, 1, &size);
  luaL_checktype(state, 2, LUA_TFUNCTION);
  const std::string_view place(data, size);
  Meter& meter = Meter::of(state);
  int status = 0;
  {
    const BlamedLine line(session, Sandbox::line_of(place));
    const Nested nested(state);
    const int depth = meter.nesting;
    status = lua_pcall(state, lua_gettop(state) - 2, LUA_MULTRET, 0);
    meter.nesting = depth;
  }
  meter.check(state);
  if (status != 0) return Sandbox::blame(state, place);
  return lua_gettop(state) - 1;
}

// known_ops(): "Add", "ruleengine.Linear", ...: a list, in order.
int known_ops(lua_State* state) {
  lua_newtable(state);
  std::string last;
  int count = 0;
  for (const ir::OpFacts& op : ir::all_ops()) {
    std::string name(op.domain);
    if (!name.empty()) name += '.';
    name += op.type;
    if (name == last) continue;  // an older version came before
    lua_pushlstring(state, name.data(), name.size());
    lua_rawseti(state, -2, ++count);
    last = std::move(name);
  }
  return 1;
}

constexpr luaL_Reg kPlaces[] = {{"here", here},
                                {"blame", blame},
                                {"known_ops", known_ops},
                                {nullptr, nullptr}};

}  // namespace

void install_places(lua_State* state, Words& words) {
  set_words(state, words, kPlaces);
}

}  // namespace ruleengine::lua
