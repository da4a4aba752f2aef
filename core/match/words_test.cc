#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/match_words.h"

// Patterns of one node: inputs, constants, attributes, facts.
namespace ruleengine::match {
namespace {

using testing::matches;
using Kind = AttributePattern::Kind;

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

TEST_CASE("a class of ops: any of them, with its own attributes") {
  const auto unary = [](Draft& d) {
    d.result(d.op("elementwise_unary", {d.op("view", {d.v("x"), d.v("s")})}, {},
                  "f"));
  };
  CHECK(matches(unary, R"((float[2] a) => (float[1,2] y) <int64[2] t = {1,2}> {
    p = Reshape(a, t)
    y = LeakyRelu <alpha = 0.5> (p)
    q = Reshape(a, t)
    z = Softmax(q)
    r = Expand(a, t)
    w = Relu(r)
    u = Unsqueeze(a, t)
    v = Cast <to = 10> (u)
  })") == "y {p y} x=a s=t f=@y\nv {u v} x=a s=t f=@v\n");
  const auto keeping = [](Draft& d) {
    d.result(d.op("reduction", {d.v("x"), d.absent()},
                  {{.name = "keepdims", .kind = Kind::kInt}}));
  };
  CHECK(matches(keeping, R"((float[2] a) => (float y) {
    y = ReduceMean <keepdims = 0> (a)
    z = ReduceMax (a)
    w = ArgMax <keepdims = 0> (a)
  })") == "y {y} x=a\n");
}

TEST_CASE("in a class of ops the commutative ones match both ways") {
  const auto binary = [](Draft& d) {
    d.result(d.op("elementwise_binary", {d.v("x"), d.op("Relu", {d.v("z")})}));
  };
  const char* graph = R"((float[2] a, float[2] b) => (float[2] v) {
    r = Relu(a)
    p = Add(r, b)
    s = Relu(a)
    q = Sub(s, b)
    t = Relu(a)
    w = Sub(b, t)
    u = Relu(a)
    v = Max(u, b, b)
    e = Relu(a)
    o = Max(e, b)
  })";
  CHECK(matches(binary, graph) ==
        "p {r p} x=b z=a\nw {t w} x=b z=a\no {e o} x=b z=a\n");
  const auto fixed = [](Draft& d) {
    NodePattern p;
    p.type = "elementwise_binary";
    p.inputs = {d.v("x"), d.op("Relu", {d.v("z")})};
    p.permutations = {{1, 0}};
    d.result(d.output(d.made(p), 0));
  };
  CHECK(matches(fixed, graph) ==
        "p {r p} x=b z=a\nq {s q} x=b z=a\no {e o} x=b z=a\n");
}

TEST_CASE("a class of ops is found among readers") {
  const auto lone = [](Draft& d) {
    d.result(d.op("Exp", {d.v("x")}));
    d.result(d.op("elementwise_unary", {d.v("x")}, {}, "f"));
    d.condition(d.never(d.op("elementwise_binary", {d.v("x"), d.any()}), 1));
  };
  // Pow reads a as its first input.
  CHECK(matches(lone, R"((float[2] a, float[2] b) => (float[2] u) {
    p = Exp(a)
    q = Softmax(a)
    r = Tanh(a)
    s = Exp(b)
    t = Sin(b)
    u = Pow(a, b)
  })") == "s,t {s t} x=b f=@t\n");
  CHECK(matches(lone, R"((float[2] a, float[2] b) => (float[2] q) {
    p = Exp(a)
    q = Softmax(a)
    r = Tanh(a)
  })") == "p,r {p r} x=a f=@r\n");
}

TEST_CASE("only the given permutations are tried; they may be shorter") {
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

TEST_CASE("numbers match constants within the precision of their type") {
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
  // Numbers that every float type represents exactly: no tolerance.
  const auto one = [](Draft& d) {
    d.result(d.op("Mul", {d.v("x"), d.num(1)}));
  };
  CHECK(matches(one, R"((float[2] a, double[2] b, bfloat16[2] c)
      => (float[2] p, float[2] q, double[2] r, bfloat16[2] s)
      <float k = {1}, float l = {1.0000001}, double m = {1.00000001},
       bfloat16 n = {1.0078125}> {
    p = Mul(a, k)
    q = Mul(a, l)
    r = Mul(b, m)
    s = Mul(c, n)
  })") == "p {p} x=a\n");
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
            graph) == "p {p} A=-1i x=a\nq {q} A=-1i x=a\nr {r} A=0i x=a\n");
  const auto open = [](Draft& d) {
    NodePattern p;
    p.type = "Softmax";
    p.inputs = {d.v("x")};
    p.open_attributes = true;
    d.result(d.output(d.made(p), 0));
  };
  CHECK(matches(open, graph) == "p {p} x=a\nq {q} x=a\nr {r} x=a\n");
}

TEST_CASE("the default perm of Transpose depends on the rank") {
  const auto with = [](std::optional<std::vector<std::int64_t>> perm) {
    return [perm](Draft& d) {
      Draft::Attributes attributes;
      if (perm) {
        attributes = {{.name = "perm", .kind = Kind::kInts, .ints = *perm}};
      }
      d.result(d.op("Transpose", {d.v("x")}, attributes));
    };
  };
  const char* graph = R"((float[2,3] a, float[2,3,4] b, float c)
      => (float[3,2] o, float[3,2] p, float[4,3,2] q, float[2,4,3] r, float s) {
    o = Transpose(a)
    p = Transpose <perm = [1,0]> (a)
    q = Transpose <perm = [2,1,0]> (b)
    r = Transpose <perm = [0,2,1]> (b)
    s = Transpose(c)
  })";
  CHECK(matches(with({{1, 0}}), graph) == "o {o} x=a\np {p} x=a\n");
  CHECK(matches(with({{2, 1, 0}}), graph) == "q {q} x=b\n");
  CHECK(matches(with({{0, 2, 1}}), graph) == "r {r} x=b\n");
  CHECK(matches(with(std::nullopt), graph) ==
        "o {o} x=a\np {p} x=a\nq {q} x=b\ns {s} x=c\n");
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
  // The same when several rules test the axis.
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

TEST_CASE("an attribute and a dimension may share a letter") {
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

TEST_CASE("a letter of both is a dimension, in either order") {
  // The attribute of the inner node is read after the shape of its result.
  const auto pattern = [](Draft& d) {
    const TermId split = d.op("Flatten", {d.v("x")},
                              {{.name = "axis",
                                .kind = Kind::kVariable,
                                .variable = d.variable("N", 1)}});
    d.result(d.op("Neg", {split}));
    d.global_fact(d.shape(split, "N _"));
    d.global_fact(d.shape(d.v("x"), "_ _ M"));
    d.global_fact(d.shape(d.v("x"), "M _ _"));
  };
  CHECK(matches(pattern, R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,1,2] a) => (float[2,2] y) <float[2,2] f> {
    f = Flatten <axis = 2> (a)
    y = Neg(f)
  })") == "y {f y} N=2 x=a M=2\n");
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

TEST_CASE("a fact about one axis counts from the front and from the end") {
  const auto of = [](std::int64_t axis, std::int64_t size) {
    return matches(
        [=](Draft& d) {
          d.result(d.op("Neg", {d.v("x")}));
          Fact fact{.kind = Fact::Kind::kDim, .subject = d.v("x")};
          fact.has_dims = true;
          fact.dims = {{Fact::DimPattern::Kind::kNumber, {}, size}};
          fact.number = axis;
          d.global_fact(d.fact(fact));
        },
        R"((float[2,3] a, float[3,2] b, float[3] c)
            => (float[2,3] y, float[3,2] z, float[3] w) {
          y = Neg(a)
          z = Neg(b)
          w = Neg(c)
        })");
  };
  CHECK(of(0, 2) == "y {y} x=a\n");
  CHECK(of(0, 3) == "z {z} x=b\nw {w} x=c\n");
  CHECK(of(1, 2) == "z {z} x=b\n");
  CHECK(of(-1, 3) == "y {y} x=a\nw {w} x=c\n");
  CHECK(of(-2, 2) == "y {y} x=a\n");
  CHECK(of(2, 3) == "");
  CHECK(of(-3, 3) == "");
}

TEST_CASE("a letter is the attribute again after its dimension is dropped") {
  const auto pattern = [](Draft& d) {
    const TermId x = d.v("x");
    const TermId relu = d.op("Relu", {x}), other = d.op("Relu", {d.v("z")});
    const TermId either =
        d.either({{relu, {d.shape(x, "N _")}, {}}, {other, {}, {}}}, 1);
    const TermId sub = d.op("Sub", {either, d.op("Neg", {x})});
    d.result(d.op("Flatten", {sub},
                  {{.name = "axis",
                    .kind = Kind::kVariable,
                    .variable = d.variable("N", 1)}}));
  };
  CHECK(matches(pattern, R"((float[2,3] a, float[2,3] b)
      => (float[6,1] y, float[6,1] z) {
    p = Relu(a)
    q = Neg(a)
    r = Sub(p, q)
    y = Flatten <axis = 2> (r)
    s = Relu(a)
    t = Neg(b)
    u = Sub(s, t)
    z = Flatten <axis = 2> (u)
  })") == "y {p q r y} x=a z=- N=2\nz {s t u z} x=b z=a N=2i\n");
}

TEST_CASE("alternatives in order; their facts only hold in them") {
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

TEST_CASE("an absent input, an optional one, a tail") {
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

}  // namespace
}  // namespace ruleengine::match
