// Copies of bodies, as calls of Edit::copy_body through inline_call, and of
// Edit::copy_node through prune_bodies.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/analysis/inference.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/history/history.h"
#include "core/rewrite/inline.h"
#include "core/rewrite/prune.h"
#include "core/text/parse.h"
#include "core/text/print.h"
#include "core/verify/verify.h"

namespace ruleengine::rewrite {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr const char* kNested = R"(
  <ir_version: 10, opset_import: ["" : 21]>
  g (float[2] x, bool c) => (float[2] y) <bool yes = {1}> {
    z = Identity(x)
    a = If (yes) <
      then_branch = t () => (float[2] p) {
        n = Abs(z)
        l = Loop (, c, n) <
          body = b (int64 i, bool d, float[2] v) => (bool e, float[2] w) {
            e = Not(d)
            w = Add(v, n)
          }
        >
        p = Mul(l, n)
      },
      else_branch = e () => (float[2] q) { q = Exp(x) }
    >
    y = Relu(a)
  })";

struct Host {
  explicit Host(const std::string& text) {
    auto parsed = text::parse_model(text, "model");
    if (!parsed.ok()) FAIL(parsed.error().text());
    model = std::move(*parsed);
    facts.emplace(model->graph);
    workspace.emplace(model->graph);
  }

  ir::Graph& graph() { return model->graph; }

  ValueId find(std::string_view name) {
    for (std::size_t i = 0; i < graph().value_count(); ++i) {
      const ValueId v(i);
      if (graph().name(v) == name && !graph().value(v).removed) return v;
    }
    FAIL("no value " << name);
    return {};
  }

  Edit edit() { return {graph(), *facts, {}, &*workspace}; }

  // Replaces the outputs of the producer of `name` by what it is inlined to.
  void inline_at(Edit& edit, std::string_view name) {
    const NodeId node = graph().producer(find(name));
    auto built = inline_call(edit, node);
    REQUIRE(built.ok());
    replace(edit, node, *built);
  }

  void prune_at(Edit& edit, std::string_view name) {
    const NodeId node = graph().producer(find(name));
    replace(edit, node, prune_bodies(edit, node));
  }

  void replace(Edit& edit, NodeId node, const Edit::Built& built) {
    if (const auto* r = std::get_if<Rejection>(&built)) FAIL(r->reason);
    const auto& made = std::get<std::vector<ValueId>>(built);
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      if (made[i]) edit.replace(graph().output(node, i), made[i]);
    }
    edit.remove_dead({});
  }

  std::string text() {
    const Status status = verify::check_graph(graph());
    if (!status) FAIL(status.error().text());
    return text::print(*model);
  }

  std::unique_ptr<ir::Model> model;
  std::optional<analysis::Inference> facts;
  std::optional<Workspace> workspace;
};

TEST_CASE("an undone copy leaves the graph as it was") {
  Host h(kNested);
  const std::string before = h.text();
  const std::size_t nodes = h.graph().node_count();
  const std::size_t blocks = h.graph().block_count();
  {
    Edit edit = h.edit();
    h.inline_at(edit, "a");
  }
  CHECK(h.text() == before);
  CHECK(h.graph().node_count() == nodes);
  CHECK(h.graph().block_count() == blocks);
}

TEST_CASE("copies take the names of what they replace") {
  Host h(kNested);
  Edit edit = h.edit();
  h.inline_at(edit, "a");
  REQUIRE(!edit.commit());
  const std::string after = h.text();
  for (const char* line : {"n = Abs(z)", "l = Loop", "e = Not(d)",
                           "w = Add(v, n)", "a = Mul(l, n)", "y = Relu(a)"}) {
    CAPTURE(after);
    CHECK(after.find(line) != std::string::npos);
  }
  CHECK(after.find("Exp") == std::string::npos);
}

TEST_CASE("copies of a function have the name of the call in front") {
  Host h(R"(
    <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
    g (float[2] x) => (float[2] y) { [first] y = my.f <k = 2.0> (x) }
    <domain: "my", opset_import: ["" : 21]> f <k> (u) => (w) {
      c = Constant <value_float : float = @k> ()
      w = Mul(u, c)
    })");
  Edit edit = h.edit();
  h.inline_at(edit, "y");
  REQUIRE(!edit.commit());
  const std::string after = h.text();
  CAPTURE(after);
  CHECK(after.find("\"first/c\" = Constant <value_float = 2.0>") !=
        std::string::npos);
}

TEST_CASE("bodies beside each other may have the same names") {
  const auto branch = [](const std::string& name, const std::string& of) {
    return name +
           " = If (yes) < then_branch = t () => (float[2] p) { n = Abs(" + of +
           ") p = Neg(n) }, else_branch = e () => (float[2] p) { p = Exp(" +
           of + ") } > ";
  };
  Host h(R"(<ir_version: 10, opset_import: ["" : 21]>
            g (float[2] x) => (float[2] y) <bool yes = {1}> { )" +
         branch("a", "x") + branch("y", "a") + "}");
  for (const char* name : {"a", "y"}) {
    Edit edit = h.edit();
    h.inline_at(edit, name);
    REQUIRE(!edit.commit());
  }
  const std::string after = h.text();  // checks that names are unique
  CAPTURE(after);
  CHECK(after.find("n_1 = Abs(x)") != std::string::npos);
  CHECK(after.find("n = Abs(a)") != std::string::npos);
}

TEST_CASE("a copy is repeated when an edit of a body in it is taken back") {
  Host h(kNested);
  History history(h.graph(), *h.facts, *h.workspace);
  h.workspace->set_history(&history);
  history.set_kind(false);
  {
    Edit edit = h.edit();
    h.inline_at(edit, "a");
    REQUIRE(!edit.commit());
    history.sign(0, {}, 1);
  }
  const std::string copied = h.text();
  history.set_kind(true);
  {
    // Is not needed, and makes the graph larger.
    const ValueId w = h.find("w");
    Edit edit = h.edit();
    edit.set_block(h.graph().value(w).block);
    ValueId v = w;
    for (int i = 0; i < 2; ++i) {
      auto built = edit.build({.type = "Neg", .inputs = {v}});
      REQUIRE(built.ok());
      v = std::get<std::vector<ValueId>>(*built)[0];
    }
    edit.replace(w, v);
    edit.remove_dead({});
    REQUIRE(!edit.commit());
    history.sign(1, {}, 2);
  }
  CHECK(h.text() != copied);
  const auto settled = history.settle(Deadline());
  REQUIRE(settled.ok());
  CHECK(settled->has_value());
  CHECK(h.text() == copied);
}

constexpr const char* kUnread = R"(
  <ir_version: 10, opset_import: ["" : 21]>
  g (float[2] x, float[2] k, int64 n) => (float[2] y) {
    a, same, all = Loop (n, , x, k) <
      body = b (int64 i, bool c, float[2] v, float[2] f)
          => (bool d, float[2] w, float[2] g, float[2] part) {
        d = Identity(c)
        w = Mul(v, f)
        g = Identity(f)
        part = Neg(w)
      }
    >
    y = Add(a, same)
  })";

TEST_CASE("an undone copy without unread parts leaves the graph as it was") {
  Host h(kUnread);
  const std::string before = h.text();
  const std::size_t values = h.graph().value_count();
  {
    Edit edit = h.edit();
    h.prune_at(edit, "a");
  }
  CHECK(h.text() == before);
  CHECK(h.graph().value_count() == values);
}

TEST_CASE("an undone copy leaves no value in a block that is gone") {
  // The copy of the Add folds, and constants stay in the table.
  Host h(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[2] x, bool c) => (float[2] y) <float[2] k = {1, 2}> {
      y, u = If (c) <
        then_branch = t () => (float[2] p, float[2] r) {
          n = Add(k, k)
          l = Loop (, c, x) <
            body = b (int64 i, bool d, float[2] v) => (bool e, float[2] w) {
              e = Not(d)
              m = Mul(n, n)
              w = Add(v, m)
            }
          >
          p = Mul(l, n)
          r = Neg(x)
        },
        else_branch = e () => (float[2] q, float[2] s) { q = Exp(x) s = Abs(x) }
      >
    })");
  const std::string before = h.text();
  {
    Edit edit = h.edit();
    h.prune_at(edit, "y");
  }
  CHECK(h.text() == before);
  for (std::size_t i = 0; i < h.graph().value_count(); ++i) {
    CHECK(h.graph().value(ValueId(i)).block.index() < h.graph().block_count());
  }
}

TEST_CASE("a pruned node has an output for each of its bodies") {
  Host h(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[2] x, float[2] z, int64 n) => (float[2] y) {
      y, "", gone = Loop (n, , x, z, x) <
        body = b (int64 i, bool c, float[2] p, float[2] q, float[2] r)
            => (bool d, float[2] p2, float[2] q2, float[2] r2) {
          d = Identity(c)
          p2 = Neg(q)
          q2 = Exp(p)
          r2 = Tanh(r)
        }
      >
    })");
  const ValueId y = h.find("y");
  Edit edit = h.edit();
  h.prune_at(edit, "y");
  REQUIRE(!edit.commit());
  const NodeId loop = h.graph().producer(h.find("y"));
  CHECK(h.find("y") != y);
  REQUIRE(h.graph().outputs(loop).size() == 2);
  CHECK(h.graph().output(loop, 1));
}

constexpr const char* kInFunction = R"(
  <ir_version: 10, opset_import: ["" : 21, "my" : 1]>
  g (float[2,2] x, int64 n) => (float[2,2] y) { y = my.f <p = [1, 0]> (x, n) }
  <domain: "my", opset_import: ["" : 21]> f <p> (u, n) => (w) {
    yes = Constant <value = bool {1}> ()
    w = If (yes) <
      then_branch = t () => (float[2,N] a) {
        l = Loop (n, , u) <
          body = b (int64 i, bool c, float[2,N] v) => (bool d, float[2,N] t) {
            d = Identity(c)
            t = Transpose <perm : ints = @p> (v)
          }
        >
        a = Neg(l)
      },
      else_branch = e () => (float[2,N] q) { q = Exp(u) }
    >
  })";

TEST_CASE("a body that stays in its function refers to its attributes") {
  Host h(kInFunction);
  ir::Graph& body = h.model->functions[0]->body;
  analysis::Inference facts(body);
  Workspace workspace(body);
  Edit edit(body, facts, {}, &workspace);
  NodeId branch;
  for (std::size_t i = 0; i < body.node_count(); ++i) {
    if (body.op(NodeId(i)).type == "If") branch = NodeId(i);
  }
  auto built = inline_call(edit, branch);
  REQUIRE(built.ok());
  edit.replace(body.output(branch, 0),
               std::get<std::vector<ValueId>>(*built).at(0));
  edit.remove_dead({});
  REQUIRE(!edit.commit());
  const std::string after = h.text();
  CAPTURE(after);
  CHECK(after.find("@p") != std::string::npos);
}

TEST_CASE("inputs of bodies keep their ranks out of a function") {
  Host h(kInFunction);
  Edit edit = h.edit();
  h.inline_at(edit, "y");
  REQUIRE(!edit.commit());
  const std::string after = h.text();
  CAPTURE(after);
  CHECK(after.find("(int64 \"f/i\", bool \"f/c\", float[2,?] \"f/v\")") !=
        std::string::npos);
}

TEST_CASE("a copy without unread parts keeps the names of the others") {
  Host h(kUnread);
  Edit edit = h.edit();
  h.prune_at(edit, "a");
  REQUIRE(!edit.commit());
  const std::string after = h.text();
  CAPTURE(after);
  for (const char* line :
       {"a = Loop(n, \"\", x)", "w = Mul(v, k)", "Add(a, k)"}) {
    CHECK(after.find(line) != std::string::npos);
  }
  CHECK(after.find("part") == std::string::npos);
}

TEST_CASE("a node whose bodies do not fit is not pruned") {
  const auto rejected = [](const std::string& opset, const std::string& node,
                           const std::string& inputs) {
    Host h("<ir_version: 7, opset_import: [\"\" : " + opset + R"(]>
      g (float[1,2] x, float[1,3,2] s) => (float[1,2] y) {
        y, unread = )" +
           node + R"( <num_scan_inputs = 1,
          body = b ()" +
           inputs + R"() => (float[2] w, float[2] u) {
            w = Add(v, p)
            u = Neg(p)
          }
        >
      })");
    Edit edit = h.edit();
    const auto built = prune_bodies(edit, h.graph().producer(h.find("y")));
    REQUIRE(std::holds_alternative<Rejection>(built));
    CHECK(std::get<Rejection>(built).reason ==
          "its bodies are not of a known form");
  };
  SUBCASE("a Scan over batches") {
    rejected("8", "Scan (, x, s)", "float[2] v, float[2] p");
  }
  SUBCASE("a body with too many inputs") {
    rejected("16", "Scan (x, s)", "float[2] v, float[2] p, float[2] q");
  }
}

}  // namespace
}  // namespace ruleengine::rewrite
