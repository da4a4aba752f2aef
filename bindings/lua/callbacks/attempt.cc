#include "bindings/lua/callbacks/attempt.h"

#include <utility>

#include "bindings/lua/nodes/handle.h"
#include "bindings/lua/sandbox/sandbox.h"

namespace ruleengine::lua {
namespace {

// Handles made during its lifetime become invalid at its end: after a rollback,
// an id may be used again.
class Part {
 public:
  explicit Part(Runtime& rt) : rt_(rt) {
    rt.session.epochs.push_back(++rt.last_epoch);
    rt.session.attempting = true;
  }
  ~Part() {
    rt_.session.epochs.pop_back();
    rt_.session.attempting = false;
    rt_.session.upgrades.reset();  // they know nodes by their ids
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  Runtime& rt_;
};

// Checks the arguments of `attempt` and the place of the call.
bool check_call(Runtime& rt, lua_State* state) {
  const Session& session = rt.session;
  if (session.stage != Stage::kPass) {
    return fail(rt, "`attempt` works only in `pass`", {}, {},
                "each match already is a transaction of its own") != kFailed;
  }
  if (session.attempting) {
    return fail(rt, "an `attempt` inside another `attempt`") != kFailed;
  }
  if (!lua_isfunction(state, 2) || lua_iscfunction(state, 2)) {
    return fail(rt, "argument 2 of `attempt` is not a function",
                "function() ... end", kind_of(state, 2)) != kFailed;
  }
  if (session.edit->empty()) return true;
  return fail(rt, "the pass built or assumed something before an `attempt`", {},
              {}, "build and assume only inside `attempt`") != kFailed;
}

}  // namespace

int attempt(Runtime& rt, lua_State* state) {
  if (!check_call(rt, state)) return kFailed;
  const Handle* asked = to_handle(rt, state, 1);
  if (asked != nullptr && asked->kind == HandleKind::kNode &&
      rt.alive(asked->epoch) && rt.session.graph->node(asked->node()).removed) {
    return 0;  // an earlier attempt removed the node: nothing to do
  }
  const Handle* at =
      check_handle(rt, state, 1, HandleKind::kNode, "argument 1 of attempt");
  if (at == nullptr) return kFailed;
  const ir::NodeId node = at->node();
  lua_settop(state, 2);
  Session& session = rt.session;
  session.edit->set_block(session.graph->node(node).block);
  {
    const Part part(rt);
    const bool done = Sandbox::call_until_stop(state, 0);
    if (!done && !session.rejection) return Sandbox::stop(state);
  }
  auto ended = session.transactions->end(
      node, std::exchange(session.rejection, std::nullopt));
  session.edit = &session.transactions->edit();
  session.changed = false;
  if (ended) return 0;
  session.failure = std::move(ended.error());
  return Sandbox::stop(state);
}

}  // namespace ruleengine::lua
