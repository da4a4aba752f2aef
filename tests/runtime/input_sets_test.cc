// The sets of inputs on which models are verified: what they show.
#include "runtime/drawing/input_sets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/text/parse.h"
#include "kernels/cpu.h"

namespace ruleengine::runtime {
namespace {

struct SetsOf {
  std::vector<InputSet> sets;
  DrawnSets drawn;

  const Tensor& input(std::size_t set, std::size_t i = 0) const {
    return sets[set].inputs[i].second.tensor();
  }
  // Of an input in sets of this kind.
  template <typename T>
  std::set<T> values(std::string_view kind, std::size_t i = 0) const {
    std::set<T> out;
    for (const InputSet& each : sets) {
      if (each.kind != kind) continue;
      const auto own = each.inputs[i].second.tensor().values<T>();
      out.insert(own.begin(), own.end());
    }
    return out;
  }
  std::set<std::int64_t> sizes(const std::string& name) const {
    std::set<std::int64_t> out;
    for (const InputSet& each : sets) out.insert(each.sizes.at(name));
    return out;
  }
  std::set<std::string> kinds() const {
    std::set<std::string> out;
    for (const InputSet& each : sets) out.insert(each.kind);
    return out;
  }
};

SetsOf sets_of(std::string_view text, const InputOptions& options = {}) {
  const auto model = text::parse_model(text);
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  SetsOf out;
  ExecutorOptions executor{.backends = {&kernels::cpu()}};
  executor.threads = 1;
  auto drawn = for_each_input_set(**model, std::move(executor), options,
                                  [&](const InputSet& set) -> Result<bool> {
                                    out.sets.push_back(set);
                                    return true;
                                  });
  REQUIRE_MESSAGE(drawn.ok(), (drawn ? "" : drawn.error().text()));
  out.drawn = *std::move(drawn);
  CHECK(out.drawn.sets == out.sets.size());
  return out;
}

TEST_CASE("indices into a computed table of a named size") {
  const auto sets = sets_of(
      "g (float[N,4] x, int64[M] i) => (float[M,4] y) {"
      " t = Relu(x) g = Gather(t, i) y = Neg(g) }");
  bool has_ends = false;
  for (std::size_t s = 0; s < sets.sets.size(); ++s) {
    const std::int64_t n = sets.input(s).dim(0);
    const auto i = sets.input(s, 1).values<std::int64_t>();
    for (const auto each : i) CHECK((each >= -n && each < n));
    const std::set<std::int64_t> all(i.begin(), i.end());
    has_ends = has_ends || (n > 1 && all.contains(-n) && all.contains(0) &&
                            all.contains(n - 1));
  }
  CHECK(has_ends);
  CHECK(sets.sizes("N").size() >= 3);
  CHECK(sets.sizes("M").size() >= 3);
}

TEST_CASE("a table whose size only a run tells") {
  const auto sets = sets_of(
      "g (float[2,9] x, int64[3] i) => (float[2,3] y)"
      " <float[9] c = {1,0,1,1,0,1,1,1,1}> {"
      " n = NonZero(c) axes = Constant <value = int64[1] {0}> ()"
      " k = Squeeze(n, axes) t = Gather <axis = 1> (x, k)"
      " y = Gather <axis = 1> (t, i) }");
  const auto all = sets.values<std::int64_t>("", 1);
  CHECK(*all.begin() == -7);
  CHECK(*all.rbegin() == 6);
}

TEST_CASE("whole numbers that are cast to floats are numbers") {
  const auto sets = sets_of(
      "g (int64[2,3] x) => (float[2,3] y) {"
      " c = Cast <to = 1> (x) y = Mul(c, c) }");
  const auto first = sets.input(0).values<std::int64_t>();
  CHECK(std::ranges::any_of(first, [](auto x) { return x != 0 && x != 1; }));
  const auto all = sets.values<std::int64_t>("");
  CHECK(*all.begin() < -3);
  CHECK(*all.rbegin() > 6);
}

TEST_CASE("numbers on both sides of what they are compared with") {
  const auto sets = sets_of(
      "g (int64[2,8] x) => (bool[2,8] y) <int64 end = {50256}> {"
      " one = Constant <value = int64 {1}> () z = Add(x, one)"
      " y = Equal(z, end) }");
  const auto all = sets.values<std::int64_t>("");
  CHECK(all.contains(50254));
  CHECK(all.contains(50255));
  CHECK(all.contains(50256));
}

TEST_CASE("a single number that is compared with several") {
  const auto sets = sets_of(
      "g (int64 x, float f) => (bool y, bool z, bool w)"
      " <int64 a = {50256}, int64 b = {7}, float c = {1000.0}> {"
      " y = Equal(x, a) z = Less(x, b) w = LessOrEqual(f, c) }");
  std::set<std::int64_t> all;
  std::set<float> floats;
  for (std::size_t i = 0; i < sets.sets.size(); ++i) {
    all.insert(sets.input(i, 0).data<std::int64_t>()[0]);
    floats.insert(sets.input(i, 1).data<float>()[0]);
  }
  for (const auto each : {6, 7, 8, 50255, 50256, 50257}) {
    CHECK(all.contains(each));
  }
  CHECK(floats.contains(1000));
  CHECK(*floats.rbegin() > 1000);
}

TEST_CASE("masks are masks at first, then other numbers") {
  const auto sets = sets_of(
      "g (int64[B,S] m, float[B,S] x) => (float[B,S] y)"
      " <float one = {1.0}, float low = {-10000.0}> {"
      " c = Cast <to = 1> (m) t = Sub(one, c) h = Mul(t, low)"
      " a = Add(x, h) y = Softmax(a) }");
  const auto all = sets.values<std::int64_t>("");
  CHECK(all == std::set<std::int64_t>{0, 1});
  CHECK(sets.kinds().contains("hidden rows"));
  CHECK(sets.values<std::int64_t>("numbers for masks").size() > 2);
  const auto few =
      sets_of("g (int64[B,S] m) => (bool[B,S] y) { y = Cast <to = 9> (m) }",
              {.extremes = false});
  CHECK_FALSE(few.kinds().contains("numbers for masks"));
}

TEST_CASE("beside an assumption every row shows its first place") {
  const auto sets = sets_of(
      R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[20,9] x, bool[20,9] m, bool[9] n) => (float[20,9] y)
      <float low = {-10000}> {
        a = And(m, n) w = Where(a, x, low) y = Softmax(w) })",
      {.extremes = false});
  REQUIRE(sets.sets.size() > 3);
  bool hides = false;
  for (std::size_t i = 0; i < sets.sets.size(); ++i) {
    const auto shown = sets.input(i, 1).values<std::uint8_t>();
    for (std::size_t row = 0; row < 20; ++row) CHECK(shown[9 * row] == 1);
    CHECK(sets.input(i, 2).values<std::uint8_t>()[0] == 1);
    hides = hides || std::ranges::count(shown, 0) > 0;
  }
  CHECK(hides);
}

TEST_CASE("sizes that the ops demand of each other") {
  const auto sets = sets_of(
      "g (float[B,T] x, float[B,P] p, float[B,S] s) => (float[B,T] y) {"
      " c = Concat <axis = 1> (p, s) y = Add(x, c) }");
  for (const auto* name : {"B", "T", "P", "S"}) {
    CAPTURE(name);
    CHECK(sets.sizes(name).size() >= 2);
  }
  for (const InputSet& each : sets.sets) {
    CHECK((each.sizes.at("T") == each.sizes.at("P") + each.sizes.at("S") ||
           each.sizes.at("T") == 1 || each.sizes.at("T") == 0));
  }
}

TEST_CASE("sizes that a Reshape fixes") {
  const auto sets = sets_of(
      "g (float[B,S] x) => (float[7,11] y)"
      " <int64[2] to = {7, 11}> { y = Reshape(x, to) }");
  REQUIRE(sets.drawn.sets > 0);
  const auto many = sets_of(
      "g (float[B,S] x) => (float[B,?,6] y)"
      " <int64[3] to = {0, -1, 6}> { y = Reshape(x, to) }");
  REQUIRE(many.drawn.sets > 0);
  CHECK(many.sizes("S").size() >= 2);
}

TEST_CASE("branches that an input decides") {
  constexpr std::string_view kBranches =
      " z = If(c) <then_branch = t () => (float[4] a) { a = Neg(x) },"
      " else_branch = e () => (float[4] b) { b = Identity(x) }> ";
  for (const std::string_view head :
       {"g (float[4] x, bool c) => (float[4] z) {",
        "g (float[4] x, int64 i) => (float[4] z) <int64 k = {77}> {"
        " c = Equal(i, k)",
        "g (float[4] x) => (float[4] z) <float big = {1000000.0}> {"
        " m = ReduceMax <keepdims = 0> (x) c = Greater(m, big)",
        "g (float[4] x, float[N] w) => (float[4] z) <int64 k = {40}> {"
        " s = Size(w) c = Greater(s, k)",
        "g (float[4] x, int64 i, int64[2] j) => (float[4] z)"
        " <int64 k = {100}, int64 l = {-50}> { a = Greater(i, k)"
        " s = ReduceMin <keepdims = 0> (j) b = Less(s, l) c = And(a, b)",
        "g (float[4] x, int64 i, int64 j) => (float[4] z) { c = Equal(i, j)",
        "g (float[4] x, float[3] w) => (float[4] z) <float k = {5000.0}> {"
        " s = ReduceSum <keepdims = 0> (w) c = Less(k, s)",
        "g (float[4] x, int64[B,S] m) => (float[4] z) <int64 k = {0}> {"
        " s = ReduceSum <keepdims = 0> (m) c = Equal(s, k)",
        "g (float[4] x, bool[5] w) => (float[4] z) {"
        " n = Cast <to = 1> (w) m = ReduceMax <keepdims = 0> (n)"
        " c = Cast <to = 9> (m)"}) {
    CAPTURE(head);
    const auto sets = sets_of(std::string(head) + std::string(kBranches) + "}");
    CHECK(sets.drawn.notes.empty());
    bool same = false, other = false;
    for (const InputSet& each : sets.sets) {
      const auto x = each.inputs[0].second.tensor().values<float>();
      const auto z = each.outputs[0].second.tensor().values<float>();
      if (x[0] == 0) continue;
      (x[0] == z[0] ? same : other) = true;
    }
    CHECK(same);
    CHECK(other);
  }
}

TEST_CASE("a branch that nothing takes is said") {
  const auto sets = sets_of(
      "g (float[4] x) => (float[4] z) <float none = {-1.0}> {"
      " a = Abs(x) m = ReduceMax <keepdims = 0> (a) c = Less(m, none)"
      " z = If(c) <then_branch = t () => (float[4] a) { a = Neg(x) },"
      " else_branch = e () => (float[4] b) { b = Identity(x) }> }");
  REQUIRE(sets.drawn.notes.size() == 1);
  CHECK(sets.drawn.notes[0].find("the then branch of ") == 0);
}

TEST_CASE("where ordinary floats give NaN alone") {
  for (const auto* op : {"Log", "Acosh", "Asin"}) {
    CAPTURE(op);
    const auto sets = sets_of(
        "g (float[1] x) => (float[1] y) { y = " + std::string(op) + "(x) }");
    CHECK(std::ranges::any_of(sets.sets, [](const InputSet& each) {
      return std::isfinite(each.outputs[0].second.tensor().data<float>()[0]);
    }));
  }
}

TEST_CASE("where only floats beyond a number give some") {
  for (const auto* from : {"Log(d)", "Sqrt(d)"}) {
    CAPTURE(from);
    const auto sets = sets_of(
        "g (float[2,3] x) => (float[2,3] y) <float k = {10000.0}> {"
        " d = Sub(x, k) y = " +
        std::string(from) + " }");
    CHECK(std::ranges::any_of(sets.sets, [](const InputSet& each) {
      const auto y = each.outputs[0].second.tensor().values<float>();
      return std::ranges::all_of(y, [](float v) { return std::isfinite(v); });
    }));
  }
}

TEST_CASE("floats of several magnitudes, and fewer without extremes") {
  constexpr std::string_view kText =
      "g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }";
  const auto all = sets_of(kText).kinds();
  CHECK(all.contains("small floats"));
  CHECK(all.contains("large floats"));
  CHECK(all.contains("tiny floats"));
  const auto few = sets_of(kText, {.extremes = false});
  CHECK_FALSE(few.kinds().contains("large floats"));
  CHECK_FALSE(few.sizes("N").contains(0));
}

TEST_CASE("complex numbers") {
  const auto sets = sets_of(
      "g (complex64[2,3] x) => (complex64[3,2] y) { y = Transpose(x) }");
  REQUIRE(sets.drawn.sets > 1);
  const auto* x = sets.input(0).data<float>();
  CHECK(x[0] != x[1]);
}

TEST_CASE("sizes of the user, and names that no input has") {
  const auto sets =
      sets_of("g (float[N,M] x) => (float[N,M] y) { y = Relu(x) }",
              {.dims = {{"N", 6}}});
  CHECK(sets.sizes("N") == std::set<std::int64_t>{6});
  CHECK(sets.sizes("M").size() >= 3);
  const auto model =
      text::parse_model("g (float[N] x) => (float[N] y) { y = Relu(x) }");
  const auto drawn = for_each_input_set(
      **model, {.backends = {&kernels::cpu()}}, {.dims = {{"T", 1}}},
      [](const InputSet&) -> Result<bool> { return true; });
  REQUIRE_FALSE(drawn.ok());
  CHECK(drawn.error().kind == ErrorKind::kUsage);
}

TEST_CASE("a model that cannot run, and one that is never done") {
  const auto none = sets_of(
      "<ir_version: 8, opset_import: [\"\" : 17, \"acme\" : 1]>"
      " g (float[4] x) => (float[4] y) { y = acme.Secret(x) }");
  CHECK(none.drawn.sets == 0);
  CHECK(none.drawn.unverified.find("acme.Secret") != std::string::npos);
  const auto one =
      sets_of("g (float[N] x) => (float[N] y) { y = Relu(x) }", {.seconds = 0});
  CHECK(one.drawn.sets == 1);
}

TEST_CASE("the same sets each time, until the caller has enough") {
  constexpr std::string_view kText =
      "g (float[N,4] x, int64[M] i) => (float[M,4] y) { y = Gather(x, i) }";
  const auto a = sets_of(kText), b = sets_of(kText);
  REQUIRE(a.sets.size() == b.sets.size());
  for (std::size_t i = 0; i < a.sets.size(); ++i) {
    CHECK(std::ranges::equal(a.input(i).bytes(), b.input(i).bytes()));
  }
  const auto model = text::parse_model(kText);
  std::size_t count = 0;
  const auto drawn = for_each_input_set(
      **model, {.backends = {&kernels::cpu()}}, {},
      [&](const InputSet&) -> Result<bool> { return ++count < 3; });
  REQUIRE(drawn.ok());
  CHECK(drawn->sets == 3);
}

}  // namespace
}  // namespace ruleengine::runtime
