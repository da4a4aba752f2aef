// here, blame, mistake, known_ops: for libs that describe first and build
// later. Errors in what they build are reported at the line of the rule file
// that described it.
#include <lua.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_meter.h"
#include "bindings/lua/words/words_session.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {
namespace {

// here(): "file:line" of the code that called the lib, for blame() and
// mistake().
int here(lua_State* state) { return push(state, Sandbox::caller(state)); }

// During its lifetime, what is built belongs to `line` in errors.
class BlamedLine {
 public:
  BlamedLine(WordsSession* session, int line)
      : session_(session),
        before_(session == nullptr ? 0 : session->blamed_line) {
    if (session_ != nullptr) session_->blamed_line = line;
  }
  ~BlamedLine() {
    if (session_ != nullptr) session_->blamed_line = before_;
  }
  BlamedLine(const BlamedLine&) = delete;
  BlamedLine& operator=(const BlamedLine&) = delete;

 private:
  WordsSession* session_;  // nullptr: nothing is being described
  int before_;
};

// blame(place, f, ...): calls f(...) and reports mistakes of the lib in it at
// `place`; if `place` is nil, where f is defined.
int blame(lua_State* state) {
  luaL_checktype(state, 2, LUA_TFUNCTION);
  if (lua_isnil(state, 1)) {
    push(state, Sandbox::place_of(state, 2));
    lua_replace(state, 1);
  }
  const std::string_view place = check_text(state, 1);
  const BlamedLine line(words_of(state).session(), Sandbox::line_of(place));
  if (guarded_call(state, lua_gettop(state) - 2) == 0) {
    return lua_gettop(state) - 1;
  }
  return Sandbox::blame(state, place);
}

// mistake{place = here(), what = "...", expected = "...", found = "...", hint =
// "..."}: raises this error; only `what` is required.
int mistake(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  const auto part = [state](const char* name) {
    lua_getfield(state, 1, name);
    const char* text = lua_tostring(state, -1);
    std::string out = text == nullptr ? "" : printable(text, 1000);
    lua_pop(state, 1);
    return out;
  };
  Diagnostic error = wrong(part("what"));
  error.where = Sandbox::file_place(state, part("place"));
  error.expected = part("expected");
  error.found = part("found");
  error.hint = part("hint");
  return Sandbox::fail(state, std::move(error));
}

// known_ops(): "Add", "ruleengine.Linear", ...: a list, in order.
int known_ops(lua_State* state) {
  lua_newtable(state);
  int count = 0;
  for (const ops::OpFacts* op : ops::newest_ops()) {
    std::string name(op->domain);
    if (!name.empty()) name += '.';
    name += op->type;
    push(state, name);
    lua_rawseti(state, -2, ++count);
  }
  return 1;
}

constexpr luaL_Reg kPlaces[] = {{"here", here},
                                {"blame", blame},
                                {"mistake", mistake},
                                {"known_ops", known_ops},
                                {nullptr, nullptr}};

}  // namespace

void install_places(lua_State* state, Words& words) {
  set_words(state, words, kPlaces);
}

}  // namespace ruleengine::lua
