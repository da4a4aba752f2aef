#include "core/ir/dim.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace ruleengine::ir {
namespace {

struct Fixture {
  DimTable t;
  Dim B = t.symbol("B"), S = t.symbol("S"), two = Dim(2);
};

TEST_CASE_FIXTURE(Fixture, "equal expressions are one Dim") {
  CHECK(t.mul(B, S) == t.mul(S, B));
  const Dim twice = t.mul(two, t.mul(B, S));
  CHECK(t.exact_div(twice, two) == t.mul(B, S));
  CHECK(t.sub(t.add(B, S), S) == B);
  CHECK(t.sub(B, B) == Dim(0));
  CHECK(t.mul(B, Dim(0)) == Dim(0));
  CHECK(B != S);
  CHECK(t.symbol("B") == B);
  CHECK(t.fresh() != t.fresh());
}

TEST_CASE_FIXTURE(Fixture, "names that are expressions") {
  CHECK(t.symbol("B + 1") == t.add(B, Dim(1)));
  CHECK(t.symbol("2*B*S") == t.mul(two, t.mul(S, B)));
  CHECK(t.symbol("((S**2)//S)") == S);
  CHECK(t.symbol("((S//10)) - 1") == t.sub(t.floor_div(S, Dim(10)), Dim(1)));
  CHECK(t.symbol("Max(1, S)") == t.max(S, Dim(1)));
  CHECK(t.symbol("S/2") != t.floor_div(S, two));
  CHECK(t.symbol("4*S/2") == t.mul(two, S));
  for (const char* number : {"12", "-1", "3*1", "S - S + 1"}) {
    const Dim name = t.symbol(number);
    CHECK(t.is_single(name));
    CHECK(t.text(name) == number);
    const Dim more = t.add(name, S);
    CHECK(t.symbol(t.text(more)) == more);
  }
  CHECK(t.symbol("-S + B") == t.sub(B, S));
}

TEST_CASE_FIXTURE(Fixture, "names that are bound") {
  const Dim half = t.floor_div(t.add(S, Dim(1)), two);
  const Dim least = t.min(S, Dim(3)), most = t.max(t.mul(B, S), Dim(9));
  const Dim unknown = t.fresh();
  CHECK_FALSE(t.has_bound());
  t.bind("S", Dim(4));
  CHECK(t.has_bound());
  CHECK(t.bound(half) == two);
  CHECK(t.bound(least) == Dim(3));
  CHECK(t.bound(most) == t.max(t.mul(B, Dim(4)), Dim(9)));
  CHECK(t.bound(t.add(t.mul(B, S), B)) == t.mul(B, Dim(5)));
  CHECK(t.bound(B) == B);
  CHECK(t.bound(unknown) == unknown);
  CHECK(t.symbol("S - 1") == Dim(3));
}

TEST_CASE_FIXTURE(Fixture, "names that are not expressions") {
  for (const char* name :
       {"batch size", "batch-size", "Concatonnx::MatMul_270_dim_0", "a+", "(",
        "", "1x", "S//0", "))", "x**-1", "Concatkey.3_dim_0", "`", "max("}) {
    CAPTURE(name);
    CHECK(t.text(t.symbol(name)) == name);
    CHECK(t.symbol(name) == t.symbol(name));
  }
  CHECK(t.text(t.symbol(std::string(300, '('))) == std::string(300, '('));
  std::string deep(100, '(');
  deep += "S";
  deep.append(100, ')');
  CHECK(t.text(t.symbol(deep)) == deep);
}

TEST_CASE_FIXTURE(Fixture, "text reads back as the same Dim") {
  const Dim odd = t.symbol("batch size");
  const Dim q = t.floor_div(t.add(S, Dim(3)), Dim(2));
  for (Dim d : {B, t.mul(B, S), t.add(t.mul(B, S), Dim(1)), t.sub(Dim(1), S),
                t.floor_div(S, two), t.mul(two, t.floor_div(S, Dim(3))), q,
                t.mul(q, B), t.max(B, S), t.min(t.max(B, S), Dim(4)),
                t.mul(odd, S), t.mul(S, t.mul(S, S)), t.neg(t.mul(B, S)),
                t.floor_div(t.floor_div(B, S), t.add(S, two)),
                t.neg(t.floor_div(t.neg(S), B)), odd}) {
    CAPTURE(t.text(d));
    CHECK(t.symbol(t.text(d)) == d);
  }
  CHECK(t.text(t.add(Dim(1), t.mul(S, B))) == "B*S + 1");
  CHECK(t.text(t.sub(S, B)) == "S - B");
}

TEST_CASE_FIXTURE(Fixture, "exact division") {
  const Dim sum = t.add(B, S);
  CHECK(t.exact_div(t.mul(sum, t.sub(B, S)), sum) == t.sub(B, S));
  CHECK(t.exact_div(t.mul(t.mul(sum, sum), Dim(6)), t.mul(sum, two)) ==
        t.mul(Dim(3), sum));
  CHECK_FALSE(t.exact_div(B, two));
  CHECK_FALSE(t.exact_div(B, S));
  CHECK_FALSE(t.exact_div(t.add(sum, Dim(1)), sum));
  CHECK_FALSE(t.exact_div(B, Dim(0)));
  CHECK(t.exact_div(Dim(0), B) == Dim(0));
  CHECK(t.exact_div(Dim(-6), Dim(2)) == Dim(-3));
}

TEST_CASE_FIXTURE(Fixture, "floor division") {
  CHECK(t.floor_div(Dim(-7), two) == Dim(-4));
  CHECK(t.ceil_div(Dim(7), two) == Dim(4));
  CHECK(t.floor_div(t.add(t.mul(two, S), Dim(1)), two) == S);
  CHECK(t.floor_div(t.add(S, Dim(4)), two) == t.add(t.floor_div(S, two), two));
  CHECK(t.floor_div(t.mul(two, S), Dim(4)) == t.floor_div(S, two));
  CHECK(t.floor_div(t.floor_div(S, Dim(5)), two) == t.floor_div(S, Dim(10)));
  CHECK(t.floor_div(S, Dim(-2)) == t.floor_div(t.neg(S), two));
  CHECK(t.floor_div(t.mul(B, S), S) == B);
  CHECK(t.floor_div(S, Dim(0)) == t.floor_div(S, Dim(0)));
}

TEST_CASE_FIXTURE(Fixture, "minimum and maximum") {
  CHECK(t.max(S, t.add(S, Dim(1))) == t.add(S, Dim(1)));
  CHECK(t.min(S, t.add(S, B)) == S);
  CHECK(t.max(S, Dim(0)) == S);
  CHECK(t.max(S, Dim(-1)) == S);
  CHECK(t.max(t.max(B, S), two) == t.max(two, t.max(S, B)));
  CHECK(t.max(Dim(3), Dim(5)) == Dim(5));
  CHECK(t.quotient_of(t.floor_div(S, two)) == std::vector<Dim>{S, two});
  CHECK(t.quotient_of(t.add(t.floor_div(S, two), two)).empty());
}

TEST_CASE_FIXTURE(Fixture, "the value of a constant expression") {
  const auto value = [&](Dim d) {
    return t.value(d, [&](Dim leaf) { return leaf == B ? 3.0 : 10.0; });
  };
  CHECK(value(Dim(7)) == 7);
  CHECK(value(t.add(t.mul(B, t.mul(S, S)), Dim(-1))) == 299);
  CHECK(value(t.floor_div(S, B)) == 3);
  CHECK(value(t.add(t.min(S, Dim(4)), t.max(S, t.mul(two, B)))) == 14);
}

TEST_CASE_FIXTURE(Fixture,
                  "an expression that is too large may have any sign") {
  Dim a(0), b(0);
  for (int i = 0; i < 20; ++i) {
    a = t.add(a, t.symbol("a" + std::to_string(i)));
    b = t.add(b, t.symbol("b" + std::to_string(i)));
  }
  const Dim less = t.sub(a, b), more = t.sub(b, a);
  REQUIRE(t.is_fresh(less));
  CHECK(t.sub(a, b) == less);
  CHECK_FALSE(t.nonnegative(less));
  CHECK_FALSE(t.nonnegative(more));
  CHECK(t.max(a, b) != a);
  CHECK(t.nonnegative(t.add(a, b)));
  CHECK(t.nonnegative(t.max(less, S)));
}

TEST_CASE_FIXTURE(Fixture, "proofs") {
  CHECK(t.nonnegative(t.mul(B, S)));
  CHECK_FALSE(t.nonnegative(t.sub(S, Dim(1))));
  CHECK(t.nonnegative(t.sub(S, t.min(S, Dim(64)))));
  CHECK(t.nonnegative(t.sub(t.max(S, B), B)));
  CHECK(t.nonnegative(t.sub(S, t.floor_div(S, two))));
  CHECK(t.nonnegative(t.sub(S, t.floor_div(t.mul(Dim(4), S), Dim(5)))));
  CHECK(t.add(t.max(t.sub(S, two), Dim(0)), t.min(S, two)) == S);
  CHECK(t.add(t.min(S, B), t.max(t.sub(B, S), Dim(0))) == B);
  CHECK(t.add(t.max(t.sub(S, two), Dim(0)), t.min(S, Dim(3))) != S);
  const Dim whole = t.mul(Dim(8), t.floor_div(S, Dim(8)));
  CHECK(t.nonnegative(t.sub(S, whole)));
  CHECK(t.min(t.add(whole, Dim(7)), S) == S);
  CHECK_FALSE(t.nonnegative(t.sub(t.add(whole, Dim(6)), S)));
  CHECK_FALSE(t.nonnegative(t.sub(t.min(S, Dim(64)), S)));
  CHECK_FALSE(t.nonnegative(t.sub(B, t.floor_div(S, two))));
  CHECK(t.provably_different(S, t.add(S, Dim(1))));
  CHECK(t.provably_different(t.mul(Dim(4), B), Dim(6)));
  CHECK_FALSE(t.provably_different(t.mul(Dim(4), B), Dim(8)));
  CHECK_FALSE(t.provably_different(B, S));
  CHECK_FALSE(t.provably_different(B, B));
  CHECK(t.is_fresh(t.add(t.fresh(), S)));
  CHECK_FALSE(t.is_fresh(S));
}

TEST_CASE_FIXTURE(Fixture, "single, and rounded") {
  const Dim half = t.floor_div(S, two), unknown = t.fresh();
  CHECK(t.is_single(S));
  CHECK(t.is_single(unknown));
  for (const Dim d : {Dim(3), half, t.add(S, Dim(1)), t.mul(two, S),
                      t.mul(B, S), t.max(S, B)}) {
    CAPTURE(t.text(d));
    CHECK_FALSE(t.is_single(d));
  }
  for (const Dim d : {half, t.add(half, Dim(1)), t.mul(B, half), t.max(half, B),
                      t.floor_div(unknown, two)}) {
    CAPTURE(t.text(d));
    CHECK(t.is_rounded(d));
  }
  for (const Dim d : {Dim(3), S, unknown, t.mul(B, S), t.min(S, B)}) {
    CAPTURE(t.text(d));
    CHECK_FALSE(t.is_rounded(d));
  }
}

TEST_CASE_FIXTURE(Fixture, "leaves") {
  const Dim d = t.add(t.mul(B, t.floor_div(S, t.add(B, Dim(2)))), Dim(3));
  CHECK(t.leaves(d) == std::vector<Dim>{std::min(B, S), std::max(B, S)});
  CHECK(t.leaves(Dim(3)).empty());
}

TEST_CASE_FIXTURE(Fixture, "nothing overflows or grows without bound") {
  const Dim big(std::numeric_limits<std::int64_t>::max());
  CHECK(t.is_fresh(t.mul(big, two)));
  CHECK(t.mul(big, two) == t.mul(big, two));
  CHECK(t.is_fresh(t.add(t.mul(big, S), t.mul(big, S))));
  CHECK(t.add(t.neg(big), big) == Dim(0));
  Dim sum(0), power = S, nested = S, extremum = S, doubled = S;
  for (int i = 0; i < 500; ++i) {
    const Dim x = t.symbol("x" + std::to_string(i));
    sum = t.add(sum, x);
    power = t.mul(power, S);
    nested = t.floor_div(t.add(nested, Dim(1)), t.add(x, Dim(1)));
    extremum = t.max(extremum, x);
    doubled = t.floor_div(t.add(doubled, Dim(1)), t.add(doubled, x));
  }
  CHECK(t.text(sum).size() < 2000);
  CHECK(t.text(power).size() < 2000);
  CHECK(t.text(nested).size() < 2000);
  CHECK(t.text(doubled).size() < 20000);
  CHECK(t.text(extremum).size() < 2000);
}

TEST_CASE_FIXTURE(Fixture, "integers below those that a Dim holds") {
  constexpr std::int64_t kBelow = -(std::int64_t{1} << 62);
  for (const std::int64_t low :
       {std::numeric_limits<std::int64_t>::min(), kBelow - 7, kBelow}) {
    CHECK_FALSE(Dim::holds(low));
    CHECK(Dim(low).known());
    CHECK(Dim(low).size() == kBelow + 1);
    CHECK_FALSE(t.sub(B, Dim(low)).known());
  }
  CHECK(Dim::holds(kBelow + 1));
}

}  // namespace
}  // namespace ruleengine::ir
