#include "core/match/machine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "core/match/testing.h"
#include "core/text/parse.h"

// The words of the language, one by one: a pattern, a graph, and every match
// as text. Each is also asked of the oracle.
namespace ruleengine::match {
namespace {

using pattern::Alternative;
using pattern::AttributePattern;
using pattern::Fact;
using pattern::NodePattern;
using pattern::Pattern;
using pattern::TermId;
using testing::DeclaredFacts;
using testing::Draft;
using Kind = AttributePattern::Kind;

std::string bound_text(const ir::Graph& graph, const Bound& bound) {
  switch (bound.kind) {
    case Bound::Kind::kNothing:
      return "-";
    case Bound::Kind::kValue:
      return std::string(graph.name(bound.value)) +
             (bound.transposed ? ".T" : "");
    case Bound::Kind::kNode:
      return "@" + std::string(graph.name(graph.output(bound.node)));
    case Bound::Kind::kDim:
      return graph.model().dims.text(bound.dim);
    case Bound::Kind::kAttribute:
      return bound.attribute->kind == ir::AttributeKind::kInt
                 ? std::to_string(bound.attribute->i)
                 : "attribute";
    case Bound::Kind::kList: {
      std::string out = "[";
      for (const Bound& one : bound.list) {
        if (out.size() > 1) out += " ";
        out += bound_text(graph, one);
      }
      return out + "]";
    }
  }
  return "?";
}

std::string match_text(const ir::Graph& graph, const Pattern& pattern,
                       const Match& match) {
  std::string out;
  for (ir::ValueId v : match.results) {
    out += (out.empty() ? "" : ",") + std::string(v ? graph.name(v) : "-");
  }
  out += " {";
  for (ir::NodeId n : match.consumed) {
    if (out.back() != '{') out += " ";
    out += graph.name(graph.output(n));
  }
  out += "}";
  for (std::size_t i = 0; i < match.bound.size(); ++i) {
    out += " " + pattern.variables()[i].name + "=" +
           bound_text(graph, match.bound[i]);
  }
  return out;
}

// Every match of the pattern in the graph, one a line.
std::string matches(const std::function<void(Draft&)>& build,
                    std::string_view text) {
  Draft d;
  build(d);
  if (d.error) return d.error->text();
  const Result<Pattern> pattern = d.finish();
  if (!pattern.ok()) return pattern.error().text();
  auto model = text::parse_model(text);
  if (!model.ok()) return model.error().text();
  ir::Graph& graph = (*model)->graph;
  DeclaredFacts facts(graph);
  const Pattern* one = &*pattern;
  const Program program = compile({&one, 1});
  Machine machine(program, graph, facts);
  std::string out;
  for (std::size_t n = 0; n < graph.node_count(); ++n) {
    const ir::NodeId root(n);
    std::vector<Match> found;
    machine.run(root, {}, found);
    std::optional<Match> expected = naive_match(*one, graph, facts, root);
    REQUIRE(found.size() == (expected ? 1 : 0));
    if (!expected) continue;
    CHECK(match_text(graph, *one, found[0]) ==
          match_text(graph, *one, *expected));
    out += match_text(graph, *one, found[0]) + "\n";
  }
  return out;
}

TEST_CASE("commutative inputs match both ways, others as written") {
  const auto add = [](Draft& d) {
    d.result(d.op("Add", {d.v("x"), d.op("Relu", {d.v("z")})}));
  };
  const char* graph = R"((float[2] a, float[2] b) => (float[2] y, float[2] w) {
    r = Relu(a)
    y = Add(r, b)
    s = Relu(b)
    w = Sub(a, s)
  })";
  CHECK(matches(add, graph) == "y {r y} x=b z=a\n");
  const auto sub = [](Draft& d) {
    d.result(d.op("Sub", {d.op("Relu", {d.v("z")}), d.v("x")}));
  };
  CHECK(matches(sub, graph) == "");
}

TEST_CASE("permutations are the ones tried, and may be shorter") {
  const auto pattern = [](Draft& d) {
    NodePattern p;
    p.type = "Sub";
    p.inputs = {d.v("x"), d.op("Relu", {d.v("z")})};
    p.permutations = {{1, 0}};
    d.result(d.output(d.made(p), 0));
  };
  const char* graph = R"((float[2] a, float[2] b) => (float[2] y, float[2] w) {
    r = Relu(a)
    y = Sub(r, b)
    s = Relu(b)
    w = Sub(a, s)
  })";
  CHECK(matches(pattern, graph) == "y {r y} x=b z=a\n");
  const auto clip = [](Draft& d) {
    NodePattern p;
    p.type = "Clip";
    p.inputs = {d.v("x"), d.v("low"), d.v("high")};
    p.permutations = {{0, 1, 2}, {0, 1}, {0}};
    d.result(d.output(d.made(p), 0));
  };
  CHECK(matches(clip, R"((float[2] a, float l, float h) => (float[2] y) {
    p = Clip(a, l, h)
    q = Clip(p, l)
    y = Clip(q)
  })") ==
        "p {p} x=a low=l high=h\n"
        "q {q} x=p low=l high=-\n"
        "y {y} x=q low=- high=-\n");
}

TEST_CASE("a repeated variable is one value, or constants of equal bits") {
  const auto pattern = [](Draft& d) {
    const TermId x = d.v("x");
    d.result(d.op("Sub", {x, x}));
  };
  CHECK(matches(pattern, R"((float[2] a, float[2] b) => (float[2] y)
      <float[1] one = {1.0}, float[1] eins = {1.0}, float[1] two = {2.0}> {
    p = Sub(a, a)
    q = Sub(a, b)
    r = Sub(one, eins)
    s = Sub(one, two)
    y = Sum(p, q, r, s)
  })") == "p {p} x=a\nr {r} x=one\n");
}

TEST_CASE("numbers match constants within what their type resolves") {
  const auto pattern = [](Draft& d) {
    d.result(d.op("Div", {d.v("x"), d.num(1.41421356)}));
  };
  CHECK(matches(pattern, R"((float[2] a) => (float[2] y)
      <float c = {1.4142135}, float[1,1] d = {1.4142136}, float e = {1.4152},
       float16 h = {1.4140625}, bfloat16 b = {1.4140625},
       float[2] v = {1.4142135, 1.4142135}> {
    p = Div(a, c)
    q = Div(a, d)
    r = Div(a, e)
    s = Div(a, h)
    t = Div(a, b)
    u = Div(a, v)
    k = Constant <value = float {1.4142135}> ()
    w = Div(a, k)
    y = Sum(p, q, r, s, t, u, w)
  })") == "p {p} x=a\nq {q} x=a\ns {s} x=a\nt {t} x=a\nw {w} x=a\n");
  const auto list = [](Draft& d) {
    d.result(d.op("Reshape", {d.v("x"), d.numbers({0, -1}, false)}));
  };
  CHECK(matches(list, R"((float[2,3] a) => (float[2,3] y)
      <int64[2] s = {0, -1}, int64[2] t = {0, 1}, int64[1] u = {0}> {
    p = Reshape(a, s)
    q = Reshape(a, t)
    r = Reshape(a, u)
    y = Sum(p, q, r)
  })") == "p {p} x=a\n");
}

TEST_CASE("attributes: literals, defaults, names") {
  const char* graph = R"((float[2,3] a) => (float[2,3] y) {
    p = Softmax(a)
    q = Softmax <axis = -1> (a)
    r = Softmax <axis = 0> (a)
    y = Sum(p, q, r)
  })";
  const auto with = [](AttributePattern a) {
    return [a](Draft& d) { d.result(d.op("Softmax", {d.v("x")}, {a})); };
  };
  CHECK(matches(with({.name = "axis", .kind = Kind::kInt, .i = -1}), graph) ==
        "p {p} x=a\nq {q} x=a\n");
  CHECK(matches(with({.name = "axis", .kind = Kind::kInt}), graph) ==
        "r {r} x=a\n");
  CHECK(matches([](Draft& d) { d.result(d.op("Softmax", {d.v("x")})); },
                graph) == "p {p} x=a\nq {q} x=a\n");
  CHECK(matches(
            [](Draft& d) {
              d.result(d.op("Softmax", {d.v("x")},
                            {{.name = "axis",
                              .kind = Kind::kVariable,
                              .variable = d.variable("A", 1)}}));
            },
            graph) == "p {p} A=-1 x=a\nq {q} A=-1 x=a\nr {r} A=0 x=a\n");
  const auto open = [](Draft& d) {
    NodePattern p;
    p.type = "Softmax";
    p.inputs = {d.v("x")};
    p.open_attributes = true;
    d.result(d.output(d.made(p), 0));
  };
  CHECK(matches(open, graph) == "p {p} x=a\nq {q} x=a\nr {r} x=a\n");
}

TEST_CASE("an axis counts from the front and from the end alike") {
  const auto with = [](std::optional<int> axis) {
    return [axis](Draft& d) {
      Draft::Attributes attributes;
      if (axis) {
        attributes = {{.name = "axis", .kind = Kind::kInt, .i = *axis}};
      }
      d.result(d.op("Softmax", {d.v("x")}, attributes));
    };
  };
  const char* graph = R"((float[2,3] a, float[2,3,4] b)
      => (float[2,3] y, float[2,3,4] z) {
    y = Softmax <axis = 1> (a)
    z = Softmax <axis = 1> (b)
  })";
  CHECK(matches(with(-1), graph) == "y {y} x=a\n");
  CHECK(matches(with(-2), graph) == "z {z} x=b\n");
  CHECK(matches(with(1), graph) == "y {y} x=a\nz {z} x=b\n");
  CHECK(matches(with(std::nullopt), graph) == "y {y} x=a\n");
  // Also where several rules tell axes apart.
  std::vector<Pattern> patterns;
  for (int axis : {-1, 0, 1, -2}) {
    Draft d;
    with(axis)(d);
    auto made = d.finish();
    REQUIRE(made.ok());
    patterns.push_back(std::move(*made));
  }
  std::vector<const Pattern*> all;
  for (const Pattern& p : patterns) all.push_back(&p);
  auto model = text::parse_model(graph);
  REQUIRE(model.ok());
  DeclaredFacts facts((*model)->graph);
  const Program program = compile(all);
  Machine machine(program, (*model)->graph, facts);
  std::vector<Match> found;
  machine.run(ir::NodeId(0u), {}, found);
  REQUIRE(found.size() == 2);
  CHECK(found[0].rule == 0);
  CHECK(found[1].rule == 2);
}

TEST_CASE("an attribute and a dimension may be one letter") {
  const auto pattern = [](Draft& d) {
    d.result(d.op("Split", {d.v("x")},
                  {{.name = "num_outputs",
                    .kind = Kind::kVariable,
                    .variable = d.variable("N", 1)},
                   {.name = "axis"}}));
    d.global_fact(d.shape(d.v("x"), "N _"));
  };
  CHECK(matches(pattern, R"((float[2,3] a, float[4,3] b, float[N,3] c)
      => (float[1,3] y) {
    y = Split <num_outputs = 2> (a)
    p = Split <num_outputs = 2> (b)
    q = Split <num_outputs = 2> (c)
  })") == "y {y} N=2 x=a\n");
}

TEST_CASE("facts: letters, numbers, wildcards, broadcasting") {
  const char* graph = R"((float[2,B,8] a, float[2,B,8] b, float[2,8] c,
      float[1,B,1] d, float[8] e, float f) => (float[2,B,8] y) {
    p = Add(a, b)
    q = Add(a, c)
    r = Add(a, d)
    s = Add(a, e)
    t = Add(a, f)
    y = Sum(p, q, r, s, t)
  })";
  const auto of = [&](const char* x, const char* m, Fact::Kind kind) {
    return matches(
        [=](Draft& d) {
          NodePattern p;
          p.type = "Add";
          p.inputs = {d.v("x"), d.v("m")};
          p.permutations = {{0, 1}};
          d.result(d.output(d.made(p), 0));
          d.global_fact(d.shape(d.v("x"), x));
          d.global_fact(d.shape(d.v("m"), m, kind));
        },
        graph);
  };
  CHECK(of("H S D", "H S D", Fact::Kind::kShape) ==
        "p {p} x=a m=b H=2 S=B D=8\n");
  CHECK(of("... D", "H D", Fact::Kind::kShape) == "q {q} x=a m=c D=8 H=2\n");
  CHECK(of("_ S 8", "... 8", Fact::Kind::kShape) ==
        "p {p} x=a m=b S=B\nq {q} x=a m=c S=B\ns {s} x=a m=e S=B\n");
  CHECK(of("H S D", "H S D", Fact::Kind::kFits) ==
        "p {p} x=a m=b H=2 S=B D=8\nr {r} x=a m=d H=2 S=B D=8\n"
        "s {s} x=a m=e H=2 S=B D=8\nt {t} x=a m=f H=2 S=B D=8\n");
}

TEST_CASE("alternatives in order; what they state holds in them alone") {
  const auto scaled = [](Draft& d) {
    const TermId x = d.v("x");
    const TermId mul = d.op("Mul", {x, d.v("c")});
    const TermId div = d.op("Div", {x, d.v("c")}, {}, "div");
    Fact constant{.kind = Fact::Kind::kConst, .subject = d.v("c")};
    const auto is_constant = d.fact(constant);
    const TermId any = d.either(
        {{mul, {is_constant}, {}}, {div, {is_constant}, {}}, {x, {}, {}}}, 1);
    d.result(d.op("Softmax", {any}));
  };
  CHECK(matches(scaled, R"((float[2] a, float[2] v) => (float[2] y)
      <float k = {2.0}> {
    m = Mul(k, a)
    p = Softmax(m)
    n = Div(a, k)
    q = Softmax(n)
    o = Mul(a, v)
    r = Softmax(o)
    y = Sum(p, q, r)
  })") ==
        "p {m p} x=a c=k div=-\n"
        "q {n q} x=a c=k div=@n\n"
        "r {r} x=o c=- div=-\n");
}

TEST_CASE("an absent input, a maybe absent one, a tail") {
  const auto pattern = [](Draft& d) {
    const TermId low = d.maybe(d.v("low"), d.absent());
    d.result(d.op("Clip", {d.v("x"), low, d.v("high")}));
  };
  CHECK(matches(pattern, R"((float[2] a, float l, float h) => (float[2] y) {
    p = Clip(a, l, h)
    q = Clip(p, , h)
    y = Clip(q, l)
  })") == "p {p} low=l x=a high=h\nq {q} low=- x=p high=h\n");
  const auto tail = [](Draft& d) {
    NodePattern p;
    p.type = "Concat";
    p.inputs = {d.v("x"), d.rest(d.variable("more", 1), 1)};
    p.attributes = {{.name = "axis"}};
    d.result(d.output(d.made(p), 0));
  };
  CHECK(matches(tail, R"((float[2] a, float[2] b) => (float[N] y) {
    p = Concat <axis = 0> (a)
    y = Concat <axis = 0> (p, b, a)
  })") == "p {p} x=a more=[]\ny {y} x=p more=[b a]\n");
}

TEST_CASE("an inner value is read only inside the match") {
  const auto pattern = [](Draft& d) {
    d.result(d.op("Add", {d.op("Relu", {d.v("x")}), d.v("b")}));
  };
  CHECK(matches(pattern, R"((float[2] a) => (float[2] y, float[2] z) {
    r = Relu(a)
    y = Add(r, a)
    z = Neg(r)
  })") == "");
  CHECK(matches(pattern, R"((float[2] a) => (float[2] y, float[2] r) {
    r = Relu(a)
    y = Add(r, a)
  })") == "");
  // Twice by the same node is inside.
  CHECK(matches(pattern, R"((float[2] a) => (float[2] y) {
    r = Relu(a)
    y = Add(r, r)
  })") == "y {r y} x=a b=r\n");
  // A subgraph's readers count.
  CHECK(matches(pattern, R"((float[2] a, bool c) => (float[2] y, float[2] z) {
    r = Relu(a)
    y = Add(r, a)
    z = If (c) <then_branch = t () => (float[2] u) { u = Neg(r) },
                else_branch = e () => (float[2] w) { w = Neg(a) }>
  })") == "");
}

TEST_CASE("maybe and many stop at a value with other readers") {
  const auto maybe = [](Draft& d) {
    d.result(d.op("Neg", {d.maybe(d.op("Relu", {d.v("x")}), d.v("x"))}));
  };
  CHECK(matches(maybe, R"((float[2] a) => (float[2] y, float[2] z) {
    r = Relu(a)
    y = Neg(r)
    s = Relu(a)
    z = Neg(s)
    w = Abs(s)
  })") == "y {r y} x=a\nz {z} x=s\n");
  const auto chain = [](Draft& d) {
    const TermId step = d.op("Relu", {d.hole()}, {}, "r");
    d.result(d.op("Neg", {d.many(step, d.v("x"), 1)}));
  };
  CHECK(matches(chain, R"((float[2] a) => (float[2] y, float[2] p) {
    o = Relu(a)
    p = Relu(o)
    q = Relu(p)
    r = Relu(q)
    y = Neg(r)
  })") == "y {q r y} r=[@q @r] x=p\n");
}

TEST_CASE("many: lists from the bottom up, shorter when the rest needs it") {
  const auto pattern = [](Draft& d) {
    const TermId h = d.hole();
    const TermId step = d.op("Add", {h, d.v("b")}, {}, "add");
    const TermId end = d.op("Add", {d.v("x"), d.num(1)});
    d.result(d.op("Neg", {d.many(step, end, 1)}));
  };
  CHECK(matches(pattern, R"((float[2] a, float[2] p, float[2] q)
      => (float[2] y) <float one = {1.0}> {
    s = Add(a, one)
    t = Add(s, p)
    u = Add(t, q)
    y = Neg(u)
  })") == "y {s t u y} b=[p q] add=[@t @u] x=a\n");
}

TEST_CASE("context must be there, and stays") {
  const auto pattern = [](Draft& d) {
    const TermId norm = d.op("Relu", {d.v("x")}, {}, "norm");
    d.result(d.op("Neg", {d.context(norm, 1)}));
  };
  CHECK(matches(pattern, R"((float[2] a) => (float[2] y, float[2] z) {
    r = Relu(a)
    y = Neg(r)
    z = Abs(r)
    w = Neg(z)
  })") == "y {y} x=a norm=@r\n");
  const auto alone = [](Draft& d) {
    d.result(d.op("Neg", {d.v("x")}));
    d.condition(d.context(d.op("Relu", {d.v("x")}, {}, "other"), 1));
  };
  CHECK(matches(alone, R"((float[2] a, float[2] b) => (float[2] y, float[2] z) {
    y = Neg(a)
    z = Neg(b)
    r = Relu(a)
    s = Relu(a)
  })") == "y {y} x=a other=@r\n");
}

TEST_CASE("never: as an input, and among other readers") {
  const auto input = [](Draft& d) {
    const TermId x = d.v("x");
    d.result(d.op("Sub", {x, d.never(d.op("Relu", {d.any()}), 1)}));
  };
  CHECK(matches(input, R"((float[2] a) => (float[2] y, float[2] z) {
    r = Relu(a)
    y = Sub(a, r)
    z = Sub(a, a)
  })") == "z {z} x=a\n");
  const auto reader = [](Draft& d) {
    d.result(d.op("Neg", {d.v("x")}));
    d.condition(d.never(d.op("Neg", {d.op("Relu", {d.v("x")})}), 1));
  };
  CHECK(matches(reader, R"((float[2] a, float[2] b) => (float[2] y, float[2] z)
    { y = Neg(a)
    r = Relu(a)
    s = Neg(r)
    z = Neg(b)
    u = Relu(b)
  })") == "s {s} x=r\nz {z} x=b\n");
}

TEST_CASE("a constant that stands transposed") {
  const auto pattern = [](Draft& d) {
    const TermId w = d.v("w");
    d.result(d.op("MatMul", {d.v("x"), d.transpose(w, 1)}));
    d.global_fact(d.shape(w, "O I", Fact::Kind::kConst));
  };
  CHECK(matches(pattern, R"((float[4,2] a, float[2,3] v) => (float[4,3] y)
      <float[2,3] c = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> {
    y = MatMul(a, c)
    z = MatMul(a, v)
  })") == "y {y} w=c.T x=a O=3 I=2\n");
}

TEST_CASE("outputs: several, unmentioned, absent") {
  const auto both = [](Draft& d) {
    NodePattern p;
    p.type = "Dropout";
    p.inputs = {d.v("x")};
    p.output_count = 2;
    const auto n = d.made(p);
    d.result(d.output(n, 0));
    d.result(d.output(n, 1));
  };
  const char* graph = R"((float[2] a) => (float[2] y, bool[2] n) {
    p = Dropout(a)
    q, m = Dropout(p)
    y, n = Dropout(q)
  })";
  CHECK(matches(both, graph) == "p,- {p} x=a\nq,m {q} x=p\ny,n {y} x=q\n");
  const auto one = [](Draft& d) { d.result(d.op("Dropout", {d.v("x")})); };
  CHECK(matches(one, graph) == "p {p} x=a\nq {q} x=p\n");
}

TEST_CASE("siblings are different nodes, later ones in graph order") {
  const auto three = [](Draft& d) {
    const TermId x = d.v("x");
    d.result(d.op("MatMul", {x, d.v("a")}));
    d.result(d.op("MatMul", {x, d.v("b")}));
    d.result(d.op("MatMul", {x, d.v("c")}));
  };
  CHECK(matches(three, R"((float[2,2] s, float[2,2] u, float[2,2] v,
      float[2,2] w) => (float[2,2] p, float[2,2] q, float[2,2] r) {
    p = MatMul(s, u)
    q = MatMul(s, v)
    o = MatMul(u, s)
    r = MatMul(s, w)
  })") ==
        "p,q,r {p q r} x=s a=u b=v c=w\n"
        "q,p,r {p q r} x=s a=v b=u c=w\n"
        "r,p,q {p q r} x=s a=w b=u c=v\n");
  // Two nodes up, and through a commutative one.
  const auto far = [](Draft& d) {
    const TermId x = d.v("x");
    d.result(d.op("Neg", {x}));
    d.result(d.op("Relu", {d.op("Add", {d.v("b"), x})}));
  };
  CHECK(matches(far, R"((float[2] a, float[2] b) => (float[2] y, float[2] z) {
    y = Neg(a)
    s = Add(a, b)
    z = Relu(s)
  })") == "y,z {y s z} x=a b=b\n");
}

TEST_CASE("older opsets are read as the newest") {
  const auto squeeze = [](Draft& d) {
    d.result(d.op("Squeeze", {d.v("x"), d.numbers({1}, false)}));
  };
  CHECK(matches(squeeze, R"(<ir_version: 7, opset_import: ["" : 11]>
    g (float[2,1] a) => (float[2] y) {
      y = Squeeze <axes = [1]> (a)
    })") == "y {y} x=a\n");
  const auto softmax = [](Draft& d) {
    d.result(d.op("Softmax", {d.v("x")},
                  {{.name = "axis", .kind = Kind::kInt, .i = -1}}));
  };
  CHECK(matches(softmax, R"(<ir_version: 7, opset_import: ["" : 11]>
    g (float[2,3] a, float[2,3,4] b) => (float[2,3] y, float[2,3,4] z) {
      y = Softmax(a)
      z = Softmax(b)
    })") == "y {y} x=a\n");
}

TEST_CASE("many rules at once, masks, and limits") {
  std::vector<Pattern> patterns;
  std::vector<const Pattern*> pointers;
  for (int i = 0; i < 40; ++i) {
    Draft d;
    const TermId scaled = d.op("Mul", {d.v("x"), d.num(i)});
    auto made = d.done({d.op(i % 2 ? "Relu" : "Neg", {scaled})});
    REQUIRE(made.ok());
    patterns.push_back(std::move(*made));
  }
  for (const Pattern& p : patterns) pointers.push_back(&p);
  auto model = text::parse_model(R"((float[2] a) => (float[2] y)
      <float c = {7.0}> {
    m = Mul(c, a)
    y = Relu(m)
  })");
  REQUIRE(model.ok());
  ir::Graph& graph = (*model)->graph;
  DeclaredFacts facts(graph);
  const Program program = compile(pointers);
  Machine machine(program, graph, facts);
  std::vector<Match> found;
  CHECK_FALSE(machine.may_match(ir::NodeId(0u)));
  CHECK(machine.may_match(ir::NodeId(1u)));
  machine.run(ir::NodeId(1u), {}, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == 7);
  RuleMask mask(40, true);
  mask[7] = false;
  machine.run(ir::NodeId(1u), mask, found);
  CHECK(found.size() == 1);
  CHECK(machine.exhausted() == std::nullopt);
}

TEST_CASE("a search without end is cut, the other rules go on") {
  Draft d;
  // Sums in any order, and at the end something that is not there.
  TermId x = d.num(3);
  for (int i = 0; i < 18; ++i) {
    x = d.op("Add", {d.v("v" + std::to_string(i)), x});
  }
  auto slow = d.done({d.op("Neg", {x})});
  Draft e;
  auto quick = e.done({e.op("Neg", {e.v("x")})});
  REQUIRE(slow.ok());
  REQUIRE(quick.ok());
  ir::Model model;
  model.import_opset("", 21);
  ir::Graph& graph = model.graph;
  const ir::BlockId main = ir::Graph::main_block();
  ir::ValueId last =
      graph.add_value(model.names.intern("a"), main, ir::ValueKind::kInput);
  const auto node = [&](const char* op, std::vector<ir::ValueId> inputs) {
    last = graph.add_value(model.names.intern("v"), main,
                           ir::ValueKind::kUndefined);
    return graph.add_node(model.ops.intern("", op), main, "", inputs,
                          {&last, 1}, {});
  };
  for (int i = 0; i < 18; ++i) node("Add", {last, last});
  const ir::NodeId root = node("Neg", {last});
  graph.add_block_output(main, last);
  DeclaredFacts facts(graph);
  const Pattern* both[] = {&*slow, &*quick};
  const Program program = compile(both);
  Machine machine(program, graph, facts);
  machine.set_limit(1000);
  std::vector<Match> found;
  machine.run(root, {}, found);
  REQUIRE(machine.exhausted().has_value());
  CHECK(machine.exhausted()->rule == 0);
  CHECK(machine.exhausted()->root == root);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == 1);
}

TEST_CASE("a long chain needs no stack, and a value of many readers no time") {
  ir::Model model;
  model.import_opset("", 21);
  ir::Graph& graph = model.graph;
  const ir::BlockId main = ir::Graph::main_block();
  const ir::ValueId a =
      graph.add_value(model.names.intern("a"), main, ir::ValueKind::kInput);
  const auto node = [&](const char* op, std::vector<ir::ValueId> inputs) {
    const ir::ValueId out = graph.add_value(model.names.intern("v"), main,
                                            ir::ValueKind::kUndefined);
    graph.add_node(model.ops.intern("", op), main, "", inputs, {&out, 1}, {});
    return out;
  };
  constexpr int kLength = 100'000;
  ir::ValueId x = a;
  for (int i = 0; i < kLength; ++i) x = node("Relu", {x});
  x = node("Neg", {x});
  graph.add_block_output(main, x);
  const ir::NodeId root = graph.producer(x);
  for (int i = 0; i < 10'000; ++i) {
    graph.add_block_output(main, node("MatMul", {a, a}));
  }
  Draft d;
  const TermId step = d.op("Relu", {d.hole()}, {}, "r");
  auto chain = d.done({d.op("Neg", {d.many(step, d.v("x"), 1)})});
  Draft e;
  const TermId shared = e.v("x");
  auto siblings = e.done({e.op("MatMul", {shared, e.v("a")}),
                          e.op("MatMul", {shared, e.v("b")}),
                          e.op("MatMul", {shared, e.v("c")})});
  REQUIRE(chain.ok());
  REQUIRE(siblings.ok());
  DeclaredFacts facts(graph);
  const Pattern* both[] = {&*chain, &*siblings};
  const Program program = compile(both);
  Machine machine(program, graph, facts);
  std::vector<Match> found;
  machine.run(root, {}, found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].consumed.size() == kLength + 1);
  const std::optional<Match> expected = naive_match(*chain, graph, facts, root);
  REQUIRE(expected.has_value());
  CHECK(found[0] == *expected);
  found.clear();
  for (std::size_t n = 0; n < graph.node_count(); ++n) {
    machine.run(ir::NodeId(n), {false, true}, found);
  }
  CHECK(found.size() == 10'000);
  CHECK(machine.exhausted() == std::nullopt);
}

}  // namespace
}  // namespace ruleengine::match
