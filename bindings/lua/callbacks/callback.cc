#include "bindings/lua/callbacks/callback.h"

#include <utility>

#include "bindings/lua/rule_file.h"
#include "core/ir/model.h"

namespace ruleengine::lua {

Callback Callback::of(Sandbox& sandbox, const LoadedRule& rule, const char* key,
                      FunctionRef function) {
  Callback out;
  if (function == 0) return out;
  lua_State* state = sandbox.state();
  out.function_ = function;
  out.what_ = "`" + std::string(key) + "` of rule '" + rule.name + "'";
  lua_rawgeti(state, LUA_REGISTRYINDEX, function);
  out.place_ = Sandbox::place_of(sandbox.state(), -1);
  lua_pop(state, 1);
  out.upvalues_ = Upvalues::snapshot(state, function);
  return out;
}

namespace {

// Hints for errors that Lua itself raises.
std::string hint_for(const Host& host, const std::string& what) {
  if (what.starts_with("attempt to index") &&
      what.ends_with("(a function value)")) {
    return "a domain with a dot is written op[\"com.example\"].Swish";
  }
  const bool compared = what.starts_with("attempt to compare") &&
                        what.find("userdata") != std::string::npos &&
                        what.find("number") != std::string::npos;
  if (!compared || !host.session.symbol) return {};
  const std::string dimension =
      host.session.several_symbols
          ? "a dimension without a known number"
          : "dimension " +
                host.session.graph->model().dims.text(*host.session.symbol);
  return dimension + " is not a number: `type(d) == \"number\" and d > 1`";
}

}  // namespace

Diagnostic Callback::located(const Host& host, Diagnostic error) const {
  if (error.where.empty()) error.where = place_;
  if (error.hint.empty()) error.hint = hint_for(host, error.what);
  if (!host.session.members.empty()) {
    error.where += ", at " + host.session.graph->describe(
                                 host.session.members[0].match->root);
  }
  return error;
}

// An error in a tail call (`return op.Add(...)`) has no line of its own: the
// stack frame of the callback, or of a part of a pass, is gone. The run has
// failed anyway, so the callback runs once more with its lines tracked.
Status Callback::invoke(Sandbox& sandbox, int arguments, int results) const {
  lua_State* state = sandbox.state();
  Host& host = Host::of(state);
  sandbox.set_beside(host.session.graph->model().growth());
  const auto once = [&](Sandbox::Budget budget) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, function_);
    for (int i = 0; i < arguments; ++i) {
      lua_rawgeti(state, LUA_REGISTRYINDEX, host.arguments[i]);
    }
    return sandbox.call(arguments, results, budget, what_);
  };
  Status status = once(Sandbox::Budget::kCallback);
  rewrite::Transactions* const transactions = host.session.transactions;
  if (status.ok() || sandbox.stopped() ||
      status.error().kind != ErrorKind::kRule ||
      (status.error().where != place_ && transactions == nullptr)) {
    return status;
  }
  if (transactions != nullptr) {
    if (Status s = transactions->end({}, rewrite::Rejection{}); !s) return s;
    host.session.edit = &transactions->edit();
  }
  const int base = lua_gettop(state);
  Status again = once(Sandbox::Budget::kFollowed);
  lua_settop(state, base);
  const bool same = !again.ok() && again.error().what == status.error().what;
  return same ? again : status;
}

// Runs `take` on the values above `base`.
Status Callback::take_results(Sandbox& sandbox, int base,
                              const Body& take) const {
  lua_State* state = sandbox.state();
  Host& host = Host::of(state);
  const int count = lua_gettop(state) - base;
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.runner);
  lua_insert(state, base + 1);
  host.task = &take;
  const int status = lua_pcall(state, count, 0, 0);
  host.task = nullptr;
  if (status == 0) return {};
  lua_settop(state, base);
  return Diagnostic{.kind = ErrorKind::kLimit,
                    .what = "the results of " + what_ +
                            " need more memory than the limit of Lua",
                    .where = place_,
                    .remedy = Remedy::kMemory};
}

Result<Ended> Callback::call(Sandbox& sandbox, const Body& push,
                             const Body& take) const {
  lua_State* state = sandbox.state();
  Host& host = Host::of(state);
  const int base = lua_gettop(state);
  // The arguments are made under protection, which clears the stack afterwards,
  // so they wait in the registry.
  int count = 0;
  Status pushed = sandbox.protect([&](lua_State* inner) {
    push(inner);
    count = lua_gettop(inner);
    for (int i = count; i > 0; --i) {
      lua_rawseti(inner, LUA_REGISTRYINDEX, host.arguments[i - 1]);
    }
  });
  if (!pushed) return located(host, std::move(pushed.error()));
  Status status = invoke(sandbox, count, take ? LUA_MULTRET : 0);
  if (auto name = upvalues_.changed(state)) {
    lua_settop(state, base);
    return located(
        host, {.kind = ErrorKind::kRule,
               .what = what_ + " changes '" + *name +
                       "', a local variable outside of it",
               .where = place_,
               .hint = "only the graph is carried from one match to the next; "
                       "put what `rewrite` needs onto m"});
  }
  if (host.session.rejection && (status.ok() || sandbox.stopped())) {
    lua_settop(state, base);
    return Ended(std::exchange(host.session.rejection, {}));
  }
  if (!status) return located(host, std::move(status.error()));
  if (take) {
    status = take_results(sandbox, base, take);
    if (!status) return located(host, std::move(status.error()));
  }
  return Ended();
}

}  // namespace ruleengine::lua
