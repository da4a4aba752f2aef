#include "bindings/lua/callbacks/attempt.h"

#include <utility>

#include "bindings/lua/nodes/handle.h"
#include "bindings/lua/sandbox/sandbox.h"

namespace ruleengine::lua {
namespace {

// Handles that are made while it lives end with it: an id that is taken back
// may be another thing's later.
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

// What `attempt` may be called with, and where.
bool check_call(Runtime& rt, lua_State* state) {
  const Session& session = rt.session;
  if (session.stage != Stage::kPass) {
    return fail(rt, "`attempt` works only in `pass`", {}, {},
                "a match is a transaction of its own") != kFailed;
  }
  if (session.attempting) {
    return fail(rt, "an `attempt` inside of another") != kFailed;
  }
  if (!lua_isfunction(state, 2) || lua_iscfunction(state, 2)) {
    return fail(rt, "`attempt` wants what to do", "function() ... end",
                kind_of(state, 2)) != kFailed;
  }
  if (session.edit->empty()) return true;
  return fail(rt, "the pass built or assumed something before an `attempt`", {},
              {}, "what it does belongs inside, `op` and all") != kFailed;
}

}  // namespace

int attempt(Runtime& rt, lua_State* state) {
  if (!check_call(rt, state)) return kFailed;
  const Handle* asked = to_handle(rt, state, 1);
  if (asked != nullptr && asked->kind == HandleKind::kNode &&
      rt.alive(asked->epoch) && rt.session.graph->node(asked->node()).removed) {
    return 0;  // it went with an earlier attempt, and so did the reason to try
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
