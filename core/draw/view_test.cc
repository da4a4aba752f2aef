#include "core/draw/view.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/draw/dot.h"
#include "core/text/parse.h"

namespace ruleengine::draw {
namespace {

std::unique_ptr<ir::Model> model(const std::string& nodes) {
  auto parsed = text::parse_model(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => "
      "(float[2] y) {" +
          nodes + "}",
      "test");
  REQUIRE_MESSAGE(parsed.ok(), (parsed.ok() ? "" : parsed.error().text()));
  return std::move(*parsed);
}

// The children by name or op; those of groups in brackets.
std::string shown(const ir::Graph& graph, const Outline& outline, GroupId id) {
  std::string text;
  for (const Item& child : outline[id].children) {
    if (!text.empty()) text += " ";
    text += child.group ? outline[child.group].name + "[" +
                              shown(graph, outline, child.group) + "]"
                        : std::string(graph.op(child.node).type);
  }
  return text;
}

std::string outlined(const std::string& nodes, std::size_t most = 100) {
  const auto m = model(nodes);
  const auto made = outline(m->graph, most);
  REQUIRE(made.ok());
  return shown(m->graph, *made, Outline::root());
}

// A chain of these steps: "[name] Op".
std::string chain(const std::vector<std::string>& steps) {
  std::string text, value = "x";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto space = steps[i].find(' ');
    const std::string next =
        i + 1 == steps.size() ? "y" : "v" + std::to_string(i);
    text += "[\"" + steps[i].substr(0, space) + "\"] " + next + " = " +
            steps[i].substr(space + 1) + "(" + value + ") ";
    value = next;
  }
  return text;
}

TEST_CASE("a scope is the text before a slash") {
  CHECK(outlined(chain({"/a/b/1 Relu", "/a/b/2 Exp", "/a/b/3 Neg", "/a/4 Abs",
                        "5 Sin"})) == "a[b[Relu Exp Neg] Abs] Sin");
}

TEST_CASE("a node without a scope has that of its neighbours") {
  CHECK(outlined(chain({"/a/b/1 Relu", "/a/b/2 Exp", "made Sqrt", "/a/b/3 Neg",
                        "/a/4 Abs", "5 Sin"})) ==
        "a[b[Relu Exp Sqrt Neg] Abs] Sin");
  CHECK(outlined(chain({"/a/1 Relu", "/a/2 Exp", "/a/3 Abs", "made Sqrt",
                        "/b/1 Neg", "/b/2 Sin", "/b/3 Cos"})) ==
        "a[Relu Exp Abs] Sqrt b[Neg Sin Cos]");
}

TEST_CASE("scopes of one or two nodes, or of one scope, are not shown") {
  CHECK(outlined(chain({"/a/b/1 Relu", "/a/b/2 Exp", "/a/b/3 Neg",
                        "/c/4 Abs"})) == "a/b[Relu Exp Neg] Abs");
}

std::vector<std::string> layers(int count, bool named) {
  std::vector<std::string> steps;
  for (int i = 0; i < count; ++i) {
    for (const char* op : {"Relu", "Exp", "Neg", "Abs", "Sin", "Cos"}) {
      const std::string name = op + std::to_string(i);
      steps.push_back((named ? "/layer." + std::to_string(i) + "/" : "") +
                      name + " " + op);
    }
  }
  return steps;
}

TEST_CASE("equal layers are shown as one") {
  const std::string one = "Relu Exp Neg Abs Sin Cos";
  const std::string named = outlined(chain(layers(4, true)), 10);
  CHECK(named.starts_with("layer.0[" + one +
                          "] layer.1 \u2026 layer.3[layer.1["));
  const std::string unnamed = outlined(chain(layers(4, false)), 10);
  CHECK(unnamed.starts_with("block 1 of 4[" + one +
                            "] blocks 2 \u2026 4[block 2[" + one));
  // They are not grouped if all of them fit.
  CHECK(outlined(chain(layers(2, false)), 100) == one + " " + one);
}

TEST_CASE("blocks are counted where there are more than two") {
  CHECK(outlined(chain(layers(3, false)), 10)
            .find("] blocks 2 \u2026 3[block 2[") != std::string::npos);
  std::string one;
  std::vector<std::string> steps;
  for (const char* op : {"Relu", "Exp", "Neg", "Abs", "Sin", "Cos", "Tan",
                         "Sinh", "Cosh", "Sqrt", "Erf", "Floor"}) {
    one += (one.empty() ? "" : " ") + std::string(op);
    steps.push_back(std::string("n ") + op);
  }
  std::vector<std::string> twice = steps;
  twice.insert(twice.end(), steps.begin(), steps.end());
  CHECK(outlined(chain(twice), 20) ==
        "block 1 of 2[" + one + "] block 2[block 2[" + one + "]]");
}

TEST_CASE("a long list is cut, and no view exceeds the limit") {
  std::vector<std::string> steps;
  std::uint32_t state = 7;
  const std::vector<std::string> ops = {"Relu", "Exp", "Neg", "Abs", "Sin"};
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525 + 1013904223;
    steps.push_back("n" + std::to_string(i) + " " + ops[(state >> 24) % 5]);
  }
  const auto m = model(chain(steps));
  ir::NoFacts facts;
  const Marks marks;
  for (const std::size_t most : {4, 5, 11, 20, 300}) {
    const auto made = outline(m->graph, most);
    REQUIRE(made.ok());
    const Scene scene{m->graph, *made, marks, facts};
    std::size_t largest = 0;
    for (std::size_t i = 0; i < made->groups.size(); ++i) {
      const View view = view_of(scene, GroupId(i), most);
      largest = std::max(largest, view.boxes.size());
    }
    CHECK(largest <= most);
    CHECK((*made)[Outline::root()].nodes == 3000);
  }
}

TEST_CASE("groups with matches are opened first") {
  const auto m = model(chain(layers(3, true)));
  const auto made = outline(m->graph, 8);
  REQUIRE(made.ok());
  ir::NoFacts facts;
  Marks marks{.rules = {"r"}, .matches = {1}};
  marks.of_node.resize(m->graph.node_count());
  marks.roots_of_node.resize(m->graph.node_count());
  marks.of_node[7] = {0};
  marks.roots_of_node[7] = 1;
  const Scene scene{m->graph, *made, marks, facts};
  const View view = view_of(scene, Outline::root(), 8);
  std::size_t matches = 0;
  for (const Box& box : view.boxes) matches += box.matches;
  CHECK(matches == 1);
  CHECK(view.boxes.size() <= 8);
}

std::string dot_text(const ir::Model& m, const Marks& marks = {}) {
  const auto made = outline(m.graph, 10);
  REQUIRE(made.ok());
  ir::NoFacts facts;
  const Scene scene{m.graph, *made, marks, facts};
  return dot(scene, view_of(scene, Outline::root(), 10),
             {.legend = true, .heading = ""});
}

TEST_CASE("hostile names are escaped") {
  const auto m = model("[\"a<b>&amp;'\\\"\\\\\"] y = Relu(x)");
  const std::string text = dot_text(*m);
  CHECK(text.find("<b>&amp;") == text.npos);
  CHECK(text.find("a&lt;b&gt;&amp;amp;&#39;&quot;") != text.npos);
  CHECK(text == dot_text(*m));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("one digraph, whose arrows are labelled with values") {
  const auto m = model("v = Relu(x) y = Exp(v)");
  const ir::ValueId between = m->graph.output(ir::NodeId(0u), 0);
  m->graph.mutable_value(between).name = m->names.intern("a<b");
  const std::string text = dot_text(*m);
  CHECK(text.starts_with("digraph model {\n"));
  CHECK(text.ends_with("}\n"));
  CHECK(has(text, "b0 -> b1 [tooltip=\"a&lt;b\"];"));
  CHECK(has(text, "p0 -> b0 [tooltip=\"x\"];"));
}

TEST_CASE("a box shows the constants that its node reads") {
  const auto m = model(
      "a = Constant <value = int64[2] {0, 1}> () "
      "b = Constant <value = float {0.5}> () y = Thing(x, a, b)");
  CHECK(has(dot_text(*m), ">(0 1), 0.5</FONT>"));
}

TEST_CASE("a node that several rules match has all their colours") {
  const auto m = model("y = Relu(x)");
  const Marks marks{.rules = {"r", "s", "t"},
                    .matches = {1, 1, 1},
                    .of_node = {{0, 1, 2}},
                    .roots_of_node = {3}};
  std::string colours(colour(0));
  for (const std::size_t i : {1, 2}) colours += ":" + std::string(colour(i));
  CHECK(has(dot_text(*m, marks), "fillcolor=\"" + colours + "\""));
}

}  // namespace
}  // namespace ruleengine::draw
