// Session: single edits on a World, each checked. Single-threaded.
#pragma once

#include <doctest/doctest.h>

#include "core/rewrite/edit.h"
#include "core/rewrite/edits/workspace.h"
#include "core/verify/verify.h"
#include "tests/support/rewrite_graph.h"

namespace ruleengine::rewrite::testing {

struct Session {
  explicit Session(World& world)
      : w(world), facts(world.graph()), workspace(world.graph()) {
    std::uint64_t rank = 0;
    const auto order = ir::topological_order(world.graph());
    REQUIRE(order.ok());
    for (ir::NodeId n : *order) world.graph().mutable_node(n).rank = rank++;
  }

  Edit edit(ir::NodeId root = {}) {
    from = {root};
    Edit e(w.graph(), facts,
           {.rule = "test/rule",
            .from = std::span<const ir::NodeId>(from).first(root ? 1 : 0)},
           &workspace);
    if (root) {
      e.set_block(w.graph().node(root).block);
      e.set_rank(w.graph().node(root).rank);
    }
    return e;
  }

  // Replaces `old` by what `build` makes.
  std::optional<Rejection> put(std::string_view old,
                               const std::function<ir::ValueId(Edit&)>& build) {
    const ir::ValueId v = w.find(old);
    const ir::NodeId root = w.graph().producer(v);
    Edit e = edit(root);
    e.replace(v, build(e));
    e.remove_dead({&root, 1});
    auto rejection = e.commit(judge);
    changed = e.changed();
    compact_initializers(w.graph());
    CHECK(verify::check_graph(w.graph()).ok());
    return rejection;
  }

  World& w;
  analysis::Inference facts;
  Workspace workspace;
  std::vector<ir::NodeId> from;
  bool changed = false;
  Edit::Judged judge;  // of the edits of put(); may be empty
};

}  // namespace ruleengine::rewrite::testing
