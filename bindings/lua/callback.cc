#include "bindings/lua/callback.h"

#include <algorithm>
#include <utility>

namespace ruleengine::lua {

SessionScope::SessionScope(Runtime& rt, const SessionStart& start)
    : rt_(rt), epoch_(++rt.last_epoch) {
  Session& session = rt.session;
  session.stage = start.stage;
  session.frame = start.frame;
  session.graph = start.graph;
  session.facts = start.facts;
  session.edit = start.edit;
  session.warnings = start.warnings;
  session.epochs.push_back(epoch_);
}

// The vectors keep their memory for the next session.
SessionScope::~SessionScope() {
  Session& session = rt_.session;
  session.stage = Stage::kNone;
  session.edit = nullptr;
  session.members.clear();
  session.epochs.clear();
  session.rejection.reset();
  session.refusal.reset();
  session.error.reset();
  session.upgrades.reset();
  session.not_taken.clear();
  session.changed = false;
  session.has_cache = false;
}

Callback Callback::of(Sandbox& sandbox, const LoadedRule& rule,
                      const char* key, FunctionRef function) {
  Callback out;
  if (function == 0) return out;
  lua_State* state = sandbox.state();
  out.function_ = function;
  out.what_ = "`" + std::string(key) + "` of rule '" + rule.name + "'";
  lua_rawgeti(state, LUA_REGISTRYINDEX, function);
  out.place_ = sandbox.place_of(-1);
  lua_pop(state, 1);
  out.upvalues_ = Upvalues::snapshot(state, function);
  return out;
}

// Adds the node that the callback was at.
Diagnostic Callback::located(const Runtime& rt, Diagnostic error) const {
  if (error.where.empty()) error.where = place_;
  if (!rt.session.members.empty()) {
    error.where += ", at " + rt.session.graph->describe(
                                 rt.session.members[0].match->root);
  }
  return error;
}

Result<Ended> Callback::call(
    Sandbox& sandbox, int results,
    const std::function<void(lua_State*)>& push) const {
  lua_State* state = sandbox.state();
  Runtime& rt = Runtime::of(state);
  const int base = lua_gettop(state);
  // Arguments are made under protection, which drops what it leaves on the
  // stack, and wait in the registry.
  Status pushed = sandbox.protect([&](lua_State* inner) {
    push(inner);
    for (int i = lua_gettop(inner); i > 0; --i) {
      lua_rawseti(inner, LUA_REGISTRYINDEX, rt.arguments[i - 1]);
      rt.argument_count = std::max(rt.argument_count, i);
    }
  });
  const int count = std::exchange(rt.argument_count, 0);
  if (!pushed) return located(rt, std::move(pushed.error()));
  lua_rawgeti(state, LUA_REGISTRYINDEX, function_);
  for (int i = 0; i < count; ++i) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, rt.arguments[i]);
  }
  Status status =
      sandbox.call(count, results, Sandbox::Budget::kCallback, what_);
  if (auto name = upvalues_.changed(state)) {
    lua_settop(state, base);
    return located(
        rt, {.kind = ErrorKind::kRule,
             .what = what_ + " changes '" + *name + "', a local around it",
             .where = place_,
             .hint = "nothing is carried from one match to the next but the "
                     "graph; put what `rewrite` needs onto m"});
  }
  if (rt.session.rejection && (status.ok() || sandbox.stopped())) {
    lua_settop(state, base);
    return Ended(std::exchange(rt.session.rejection, {}));
  }
  if (!status) return located(rt, std::move(status.error()));
  return Ended();
}

}  // namespace ruleengine::lua
