#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/match_words.h"

// Patterns of several nodes: closedness, chains, context, never, siblings.
namespace ruleengine::match {
namespace {

using testing::matches;
using Kind = AttributePattern::Kind;

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
  // Two reads by the same node of the match are inside.
  CHECK(matches(pattern, R"((float[2] a) => (float[2] y) {
    r = Relu(a)
    y = Add(r, r)
  })") == "y {r y} x=a b=r\n");
  // Readers in a subgraph count.
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

TEST_CASE("many: lists from the bottom up, shorter if the rest requires it") {
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

TEST_CASE("many: a record of each step with its bindings") {
  const auto pattern = [](Draft& d) {
    const TermId h = d.hole();
    const TermId step =
        d.either_of({d.op("Add", {h, d.v("mask")}),
                     d.op("Where", {d.v("mask"), h, d.v("fill")}, {}, "chosen"),
                     d.op("Mul", {h, d.v("c")})});
    d.result(d.op("Neg", {d.chain(step, d.op("Relu", {d.v("c")}), "steps")}));
  };
  // c is bound outside as well: once, and in no record.
  CHECK(matches(pattern, R"((float[2] a, float[2] p, bool[2] q, float[2] f)
      => (float[2] y) {
    r = Relu(a)
    s = Where(q, r, f)
    t = Mul(s, a)
    u = Add(t, p)
    y = Neg(u)
  })") ==
        "y {r s t u y} mask=[q p] fill=[f] chosen=[@s] c=a "
        "steps=[{q f @s} {- - -} {p - -}]\n");
  CHECK(matches(pattern,
                "(float[2] a) => (float[2] y) { r = Relu(a) "
                "y = Neg(r) }") ==
        "y {r y} mask=[] fill=[] chosen=[] c=a steps=[]\n");
}

TEST_CASE("many: records of two chains, of one inside another, of a branch") {
  const auto pattern = [](Draft& d) {
    const auto chain = [&](const char* op, TermId x, const char* name) {
      return d.chain(d.op(op, {d.hole(), d.v("b")}), x, name);
    };
    const TermId left = chain("Add", d.v("x"), "left");
    const TermId right = chain("Mul", d.v("z"), "right");
    d.result(d.op("Sub", {left, right}));
  };
  CHECK(matches(pattern, R"((float[2] a, float[2] p, float[2] q)
      => (float[2] y) {
    s = Add(a, p)
    t = Add(s, q)
    u = Mul(q, q)
    y = Sub(t, u)
  })") == "y {s t u y} x=a b=[q p q] left=[{p} {q}] z=q right=[{q}]\n");
  const auto nested = [](Draft& d) {
    const TermId outer = d.hole(), inner = d.hole();
    const TermId low = d.op("Add", {inner, d.v("b")});
    const TermId deep = d.chain(low, d.v("w"), "deep");
    const TermId step = d.op("Sub", {outer, deep});
    d.result(d.op("Neg", {d.chain(step, d.v("x"), "steps")}));
  };
  CHECK(matches(nested, R"((float[2] a, float[2] p, float[2] q)
      => (float[2] y) {
    i = Add(p, q)
    s = Sub(a, i)
    t = Sub(s, q)
    y = Neg(t)
  })") ==
        "y {i s t y} b=[[q]] w=[p q] deep=[[{q}] []] x=a "
        "steps=[{[q] p [{q}]} {[] q []}]\n");
  const auto branches = [](Draft& d) {
    const TermId add = d.op("Add", {d.hole(), d.v("b")});
    const TermId adds = d.chain(add, d.op("Abs", {d.v("x")}), "steps");
    const TermId sub = d.op("Sub", {d.hole(), d.v("c")});
    const TermId subs = d.chain(sub, d.op("Exp", {d.v("x")}), "steps");
    d.result(d.op("Neg", {d.either_of({adds, subs})}));
  };
  CHECK(matches(branches, R"((float[2] a, float[2] p) => (float[2] y) {
    e = Exp(a)
    s = Sub(e, p)
    y = Neg(s)
  })") == "y {e s y} b=[] x=a steps=[{- p}] c=[p]\n");
}

TEST_CASE("context must exist, and stays") {
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
  // Equal to another constant without transposition.
  const auto both = [](Draft& d) {
    const TermId w = d.v("w");
    d.result(d.op("Gemm", {d.v("x"), w, d.transpose(w, 1)}));
  };
  CHECK(matches(both, R"((float[4,2] a) => (float y)
      <float[2,3] c = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0},
       float[3,2] t = {1.0, 4.0, 2.0, 5.0, 3.0, 6.0},
       float[3,2] s = {1.0, 4.0, 2.0, 5.0, 3.0, 7.0},
       float[3,2] r = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> {
    p = Gemm(a, c, t)
    q = Gemm(a, t, c)
    u = Gemm(a, c, s)
    v = Gemm(a, c, r)
    y = Sum(p, q, u, v)
  })") == "p {p} w=c x=a\nq {q} w=t x=a\n");
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

TEST_CASE("a root that matches by two outputs matches once") {
  const auto pattern = [](Draft& d) {
    NodePattern p;
    p.type = "Dropout";
    p.inputs = {d.v("x")};
    p.output_count = 2;
    p.open_attributes = true;
    const auto n = d.made(p);
    NodePattern q = p;
    q.open_attributes = false;
    q.output_count = 1;
    q.open_outputs = true;
    const auto m = d.made(q);
    d.result(d.either_of({d.output(n, 1), d.output(m, 0)}));
  };
  CHECK(matches(pattern, R"((float[2] a) => (float[2] z) {
    y, n = Dropout(a)
    z = Neg(a)
  })") == "y {y} x=a\n");
}

TEST_CASE("under never nothing is consumed, so readers are allowed") {
  const auto pattern = [](Draft& d) {
    const TermId x = d.v("x");
    const TermId shared = d.op("Relu", {x});
    const TermId bad = d.op("Abs", {shared});
    const TermId sum = d.maybe(d.op("Add", {x, shared}), x);
    d.result(d.op("Sub", {sum, d.never(bad, 1)}));
  };
  // The Relu below the Abs has a reader that is not a node of the pattern.
  CHECK(matches(pattern, R"((float[2] a) => (float[2] y, float[2] z) {
    r = Relu(a)
    b = Abs(r)
    z = Neg(r)
    y = Sub(a, b)
  })") == "");
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
  // The sibling is found through a chain of any length and any alternatives.
  const auto chain = [](Draft& d) {
    const TermId x = d.v("x");
    const TermId hole = d.hole();
    const TermId step =
        d.either_of({d.op("Relu", {hole}), d.op("Abs", {hole})});
    d.result(d.op("Neg", {x}));
    d.result(d.op("Exp", {d.many(step, x, 1)}));
  };
  CHECK(matches(chain, R"((float[2] a) => (float[2] y, float[2] z) {
    y = Neg(a)
    p = Relu(a)
    q = Abs(p)
    r = Relu(q)
    z = Exp(r)
  })") == "y,z {y p q r z} x=a\n");
  // The sibling is found through two nodes, one of them commutative.
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

TEST_CASE("an earlier sibling changes if a later one requires it") {
  const auto pattern = [](Draft& d) {
    const TermId x = d.v("x");
    d.result(d.op("Neg", {x}));
    d.result(d.op("Sub", {x, d.v("b")}));
    d.result(d.op("Pow", {x, d.v("c")}));
    d.result(d.op("Div", {d.v("b"), d.v("c")}));
  };
  CHECK(matches(pattern, R"((float a, float p, float q, float r)
      => (float y, float s, float t, float u, float v) {
    y = Neg(a)
    s = Sub(a, p)
    t = Sub(a, q)
    u = Pow(a, r)
    v = Div(q, r)
  })") == "y,t,u,v {y t u v} x=a b=q c=r\n");
}

TEST_CASE("older opsets are read as the newest") {
  const auto squeeze = [](Draft& d) {
    d.result(d.op("Squeeze", {d.v("x"), d.numbers({1}, false)}));
  };
  CHECK(matches(squeeze, R"(<ir_version: 7, opset_import: ["" : 11]>
    g (float[2,1] a) => (float[2] y) {
      y = Squeeze <axes = [1]> (a)
    })") == "y {y} x=a\n");
  // An attribute that became an input counts as an input.
  const auto without = [](Draft& d) { d.result(d.op("Squeeze", {d.v("x")})); };
  CHECK(matches(without, R"(<ir_version: 7, opset_import: ["" : 11]>
    g (float[2,1] a) => (float[2] y, float[2] z) {
      y = Squeeze <axes = [1]> (a)
      z = Squeeze(a)
    })") == "z {z} x=a\n");
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

}  // namespace
}  // namespace ruleengine::match
