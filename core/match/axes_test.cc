// Axes in patterns match if counted from the front or from the back.
#include <doctest/doctest.h>

#include "tests/support/match_words.h"

namespace ruleengine::match {
namespace {

using testing::matches;

TEST_CASE("axes as inputs are counted from the front or from the back") {
  const auto one = [](const char* op, double axis) {
    return [op, axis](Draft& d) {
      d.result(d.op(op, {d.v("x"), d.numbers({axis}, false)},
                    {{.name = "keepdims"}}));
    };
  };
  const char* graph = R"((float[2,3,4] a, float[2,?] b) => (float[2,3] z)
      <int64[1] first = {0}, int64[1] two = {2}, int64[1] last = {-1},
       int64[1] far = {-3}> {
    p = ReduceMean <keepdims = 0> (a, two)
    q = ReduceMean <keepdims = 0> (a, last)
    r = ReduceMean <keepdims = 0> (a, far)
    s = ReduceMean <keepdims = 0> (b, two)
    t = ReduceMean <keepdims = 0> (b, last)
    z = Identity(p)
  })";
  CHECK(matches(one("ReduceMean", -1), graph) ==
        "p {p} x=a\nq {q} x=a\nt {t} x=b\n");
  CHECK(matches(one("reduction", 2), graph) ==
        "p {p} x=a\nq {q} x=a\ns {s} x=b\n");
  CHECK(matches(one("ReduceMean", 0), graph) == "r {r} x=a\n");
  // In older opsets the axes are an attribute.
  CHECK(matches(one("ReduceMean", -1), R"(<opset_import: ["" : 13]>
    agraph (float[2,3,4] a) => (float[2,3] p) {
    p = ReduceMean <axes = [2], keepdims = 0> (a)
    q = ReduceMean <axes = [1], keepdims = 0> (a)
  })") == "p {p} x=a\n");
  const auto several = [](Draft& d) {
    d.result(d.op("Squeeze", {d.v("x"), d.numbers({0, -1}, false)}));
  };
  CHECK(matches(several, R"((float[1,3,1] a) => (float[3] p)
      <int64[2] ends = {2, 0}, int64[2] other = {2, 2}> {
    p = Squeeze(a, ends)
    q = Squeeze(a, other)
  })") == "p {p} x=a\n");
  // Axes of Unsqueeze count in its result.
  const auto back = [](Draft& d) {
    d.result(d.op("Unsqueeze", {d.v("x"), d.numbers({-1}, false)}));
  };
  CHECK(matches(back, R"((float[3] a) => (float[3,1] p, float[1,3] q)
      <int64[1] one = {1}, int64[1] zero = {0}> {
    p = Unsqueeze(a, one)
    q = Unsqueeze(a, zero)
  })") == "p {p} x=a\n");
  // A number that is not an axis matches exactly.
  const auto split = [](Draft& d) {
    d.result(d.op("Expand", {d.v("x"), d.numbers({-1}, false)}));
  };
  CHECK(matches(split, R"((float[3] a) => (float[2] p) <int64[1] two = {2}> {
    p = Expand(a, two)
  })") == "");
}

TEST_CASE("axes are counted from either end inside of an either as well") {
  const char* graph = R"((float[2,3,4] a, float[2,?] b, int64[1] n)
      => (float[2,3] z) <int64[1] two = {2}, int64[1] last = {-1},
       int64[1] one = {1}> {
    p = ReduceMean <keepdims = 0> (a, two)
    q = ReduceMean <keepdims = 0> (a, last)
    r = ReduceMean <keepdims = 0> (a)
    s = ReduceMean <keepdims = 0> (b, two)
    t = ReduceMean <keepdims = 0> (b, one)
    u = ReduceMean <keepdims = 0> (a, n)
    z = Identity(p)
  })";
  const auto reduced = [](Draft& d, TermId axes) {
    return d.op("ReduceMean", {d.v("x"), axes}, {{.name = "keepdims"}});
  };
  const auto last = [](Draft& d) { return d.numbers({-1}, false); };
  const auto absent_too = [&](Draft& d) {
    d.result(reduced(d, d.maybe(last(d), d.absent())));
  };
  CHECK(matches(absent_too, graph) ==
        "p {p} x=a\nq {q} x=a\nr {r} x=a\nt {t} x=b\n");
  // In an either within an either, and beside a binding.
  const auto deep = [&](Draft& d) {
    const TermId inner = d.maybe(last(d), d.absent());
    d.result(reduced(d, d.either_of({d.numbers({0}, false), inner})));
  };
  CHECK(matches(deep, graph) == "p {p} x=a\nq {q} x=a\nr {r} x=a\nt {t} x=b\n");
  const auto bound = [&](Draft& d) {
    d.result(reduced(d, d.maybe(last(d), d.v("axes"))));
  };
  CHECK(matches(bound, graph) ==
        "p {p} axes=- x=a\nq {q} axes=- x=a\ns {s} axes=two x=b\n"
        "t {t} axes=- x=b\nu {u} axes=n x=a\n");
  // The node itself is in a branch.
  const auto branch = [&](Draft& d) {
    const TermId mean = reduced(d, last(d));
    d.result(d.op("Identity", {d.maybe(mean, d.v("y"))}));
  };
  CHECK(matches(branch, graph) == "z {p z} x=a y=-\n");
  // One term at two places is one value; each place may count differently.
  const auto twice = [&](Draft& d) {
    const TermId axes = d.maybe(last(d), d.absent());
    d.result(
        d.op("Sub", {reduced(d, axes), d.op("Squeeze", {d.v("y"), axes})}));
  };
  CHECK(matches(twice, R"((float[2,3] a, float[2,1] b) => (float[2] z)
      <int64[1] one = {1}, int64[1] last = {-1}> {
    p = ReduceMean <keepdims = 0> (a, one)
    q = Squeeze(b, one)
    z = Sub(p, q)
    r = ReduceMean <keepdims = 0> (a, last)
    s = Squeeze(b, last)
    w = Sub(r, s)
  })") == "w {r s w} x=a y=b\n");
}

}  // namespace
}  // namespace ruleengine::match
