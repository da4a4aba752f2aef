#include "bindings/lua/callbacks/callback_words.h"

#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {
namespace {

// Handles made during its lifetime become invalid at its end: after a rollback,
// an id may be used again.
class Part {
 public:
  explicit Part(Host& host) : host_(host) {
    host.session.epochs.push_back(++host.last_epoch);
    host.session.attempting = true;
  }
  ~Part() {
    host_.session.epochs.pop_back();
    host_.session.attempting = false;
    host_.session.upgrades.reset();  // they know nodes by their ids
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  Host& host_;
};

// Checks the arguments of `attempt` and the place of the call.
bool check_call(Host& host, lua_State* state) {
  const Session& session = host.session;
  if (session.stage != Stage::kPass) {
    return fail(host, "`attempt` works only in `pass`", {}, {},
                "each match already is a transaction of its own");
  }
  if (session.attempting) {
    return fail(host, "an `attempt` inside another `attempt`");
  }
  if (!lua_isfunction(state, 2) || lua_iscfunction(state, 2)) {
    return fail(host, "argument 2 of `attempt` is not a function",
                "function() ... end", kind_of(state, 2));
  }
  if (session.edit->empty()) return true;
  return fail(host, "the pass built or assumed something before an `attempt`",
              {}, {}, "build and assume only inside `attempt`");
}

}  // namespace

int attempt(Host& host, lua_State* state) {
  if (!check_call(host, state)) return kFailed;
  const Handle* asked = to_handle(host, state, 1);
  if (asked != nullptr && asked->kind == HandleKind::kNode &&
      host.alive(asked->epoch) &&
      host.session.graph->node(asked->node()).removed) {
    return 0;  // an earlier attempt removed the node: nothing to do
  }
  const Handle* at =
      check_handle(host, state, 1, HandleKind::kNode, "argument 1 of attempt");
  if (at == nullptr) return kFailed;
  const ir::NodeId node = at->node();
  lua_settop(state, 2);
  Session& session = host.session;
  session.edit->set_block(session.graph->node(node).block);
  {
    const Part part(host);
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
