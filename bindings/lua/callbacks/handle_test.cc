// Handles cannot be forged, and do not outlive their callback.
#include "bindings/lua/session/handle.h"

#include <doctest/doctest.h>

#include <memory>

#include "bindings/lua/callbacks/callback_words.h"
#include "core/analysis/inference.h"
#include "core/text/parse.h"

namespace ruleengine::lua {
namespace {

struct World {
  World() {
    auto made = Sandbox::create({});
    auto parsed = text::parse_model(
        "(float[2] x) => (float[2] y) "
        "{ y = Relu(x) }");
    REQUIRE(made.ok());
    REQUIRE(parsed.ok());
    sandbox = std::move(*made);
    model = std::move(*parsed);
    facts = std::make_unique<analysis::Inference>(model->graph);
    state = sandbox->state();
    host = &make_host(state);
  }
  SessionStart start() {
    return {
        .stage = Stage::kWhere, .graph = &model->graph, .facts = facts.get()};
  }

  // Whether the top of the stack is a valid handle of that kind.
  bool holds(HandleKind kind) {
    return check_handle(*host, state, -1, kind, "it") != nullptr;
  }
  ir::ValueId x() const {
    return model->graph.block(ir::BlockId(0u)).inputs[0];
  }

  std::unique_ptr<Sandbox> sandbox;
  std::unique_ptr<ir::Model> model;
  std::unique_ptr<analysis::Inference> facts;
  lua_State* state = nullptr;
  Host* host = nullptr;
};

TEST_CASE("a handle of an earlier session is refused") {
  World w;
  {
    const SessionScope first(*w.host, w.start());
    push_value(*w.host, w.state, w.x());
    CHECK(w.holds(HandleKind::kValue));
  }
  CHECK_FALSE(w.holds(HandleKind::kValue));
  const SessionScope second(*w.host, w.start());
  CHECK_FALSE(w.holds(HandleKind::kValue));
  REQUIRE(w.host->session.error);
  CHECK(w.host->session.error->what ==
        "a value was kept from an earlier callback");
}

TEST_CASE("a candidate's handles live on in its rewrite") {
  World w;
  std::uint64_t epoch = 0;
  {
    const SessionScope where(*w.host, w.start());
    epoch = where.epoch();
    push_value(*w.host, w.state, w.x());
  }
  const SessionScope rewrite(*w.host, w.start());
  w.host->session.epochs.insert(w.host->session.epochs.begin(), epoch);
  CHECK(w.holds(HandleKind::kValue));
}

TEST_CASE("a handle of a removed node is refused") {
  World w;
  const SessionScope scope(*w.host, w.start());
  push_node(*w.host, w.state, ir::NodeId(0u));
  w.model->graph.remove_node(ir::NodeId(0u));
  CHECK_FALSE(w.holds(HandleKind::kNode));
  CHECK(w.host->session.error->what == "a node is no longer in the graph");
}

TEST_CASE("another userdata of the same size is no handle") {
  World w;
  const SessionScope scope(*w.host, w.start());
  new (lua_newuserdata(w.state, sizeof(Handle)))
      Handle{.kind = HandleKind::kValue, .epoch = scope.epoch()};
  CHECK(to_handle(*w.host, w.state, -1) == nullptr);
  lua_newtable(w.state);
  lua_setmetatable(w.state, -2);
  CHECK(to_handle(*w.host, w.state, -1) == nullptr);
  CHECK_FALSE(w.holds(HandleKind::kValue));
}

TEST_CASE("a value has one handle within a callback") {
  World w;
  const SessionScope scope(*w.host, w.start());
  push_value(*w.host, w.state, w.x());
  push_value(*w.host, w.state, w.x());
  CHECK(lua_rawequal(w.state, -1, -2));
}

TEST_CASE("each callback has its own handles, even if others are alive") {
  World w;
  std::uint64_t epoch = 0;
  {
    const SessionScope where(*w.host, w.start());
    epoch = where.epoch();
    push_value(*w.host, w.state, w.x());
  }
  const SessionScope rewrite(*w.host, w.start());
  w.host->session.epochs.insert(w.host->session.epochs.begin(), epoch);
  push_value(*w.host, w.state, w.x());
  CHECK_FALSE(lua_rawequal(w.state, -1, -2));
}

}  // namespace
}  // namespace ruleengine::lua
