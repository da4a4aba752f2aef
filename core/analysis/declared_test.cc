// Declared types of inner values that the inputs contradict.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::ValueId;

struct Declaring : Builder {
  ValueId declared(ValueId v, std::vector<std::string> dims,
                   DataType elem = DataType::kFloat) {
    g.mutable_value(v).declared = type(elem, std::move(dims));
    return v;
  }
};

TEST_CASE_FIXTURE(Declaring, "a number where the inputs say a symbol") {
  const ValueId x = input({"B", "S", "64"});
  const ValueId past = input({"B", "P", "64"});
  const ValueId y = declared(add("Relu", {x}), {"2", "8", "64"});
  const ValueId all =
      declared(add("Concat", {past, y}, {i("axis", 1)}), {"2", "24", "64"});
  const ValueId wrong = declared(add("Relu", {all}), {"B", "S", "64"});
  const ValueId named = declared(add("Relu", {all}), {"B", "T", "64"});
  const ValueId shape = add("Shape", {y});
  Inference facts(g);
  CHECK(text(facts, y) == "float[B,S,64]");
  CHECK(text(facts, all) == "float[B,P + S,64]");
  CHECK(text(facts, wrong) == "float[B,P + S,64]");
  CHECK(elements(facts, shape) == "{B, S, 64}");
  // No input has the symbol T.
  CHECK(text(facts, named) == "float[B,P + S,64]");
  CHECK(facts.take_warnings().empty());
  CHECK_FALSE(facts.has_contradictions());
}

TEST_CASE_FIXTURE(Declaring, "a name that the inputs give to the same size") {
  const ValueId x = input({"S", "64"}), past = input({"P", "64"});
  input({"1", "T"});  // a mask
  const ValueId all =
      declared(add("Concat", {past, x}, {i("axis", 0)}), {"T", "64"});
  const ValueId own =
      declared(add("Concat", {past, x}, {i("axis", 0)}), {"S", "64"});
  Inference facts(g);
  CHECK(text(facts, all) == "float[T,64]");
  CHECK(text(facts, own) == "float[P + S,64]");
}

TEST_CASE_FIXTURE(Declaring, "an input of which a size has no name") {
  const ValueId x = input({"", "64"});
  const ValueId y = declared(add("Relu", {x}), {"8", "64"});
  Inference facts(g);
  CHECK(text(facts, y).starts_with("float[?"));
}

TEST_CASE_FIXTURE(Declaring,
                  "numbers of a stale file where nothing can be inferred") {
  const ValueId x = input({"S", "64"});
  const auto opaque = [&](ValueId v) {
    return declared(add("com.example::F", {v}), {"8", "64"});
  };
  const ValueId first = opaque(x);
  const ValueId stale = declared(add("Relu", {x}), {"8", "64"});
  const ValueId below = opaque(stale);
  // The result does not depend on which value is asked first.
  {
    Inference facts(g);
    CHECK(text(facts, first).starts_with("float[?"));
    CHECK(text(facts, below).starts_with("float[?"));
  }
  {
    Inference facts(g);
    CHECK(text(facts, stale) == "float[S,64]");
    CHECK(text(facts, first).starts_with("float[?"));
  }
  Inference facts(g);
  CHECK(facts.has_stale_sizes());
  CHECK(text(facts, add("Relu", {first})).starts_with("float[?"));
}

TEST_CASE_FIXTURE(Declaring, "numbers of a file without a stale one") {
  const ValueId x = input({"S", "64"});
  const ValueId first = declared(add("com.example::F", {x}), {"8", "64"});
  declared(add("Relu", {x}), {"S", "64"});
  Inference facts(g);
  CHECK(text(facts, first) == "float[8,64]");
  CHECK_FALSE(facts.has_stale_sizes());
}

TEST_CASE_FIXTURE(Declaring, "numbers that depend on data fill a gap") {
  const ValueId x = input({"S", "64"});
  const ValueId y = declared(add("NonZero", {x}), {"2", "7"}, DataType::kInt64);
  Inference facts(g);
  CHECK(text(facts, y) == "int64[2,7]");
}

TEST_CASE_FIXTURE(Declaring, "neither side of a contradiction is a fact") {
  const ValueId x = input({"B", "4"});
  const ValueId elem =
      declared(add("Relu", {x}), {"B", "4"}, DataType::kFloat16);
  const ValueId rank = declared(add("Relu", {x}), {"1", "B", "4"});
  const ValueId size = declared(add("Relu", {x}), {"B", "5"});
  const ValueId both =
      declared(add("Relu", {x}), {"1", "B", "4"}, DataType::kInt8);
  const ValueId below = add("Relu", {rank});
  // What the file declares further below is of the same wrong sizes.
  const ValueId wrong = declared(add("Relu", {below}), {"1", "B", "4"});
  const ValueId deeper = declared(add("Neg", {wrong}), {"1", "B", "4"});
  Inference facts(g);
  CHECK(text(facts, elem) == "undefined[B,4]");
  CHECK(text(facts, rank) == "float[?]");
  CHECK(text(facts, below) == "float[?]");
  CHECK(text(facts, deeper) == "float[?]");
  CHECK(text(facts, size).starts_with("float[B,?"));
  CHECK(facts.type(both) == nullptr);
  CHECK(facts.take_warnings().size() == 4);
  CHECK(facts.has_contradictions());
  CHECK(facts.contradiction(elem) ==
        "'" + std::string(g.name(elem)) +
            "' is declared as float16[B,4] but inferred as float[B,4]");
  CHECK(facts.contradiction(rank));
  CHECK(facts.contradiction(size));
  CHECK(facts.contradiction(both));
  CHECK_FALSE(facts.contradiction(below));
  CHECK_FALSE(facts.contradiction(x));
}

TEST_CASE_FIXTURE(Declaring, "a list that is declared longer than it is") {
  ir::Attribute f;
  f.name = "value_floats";
  f.kind = ir::AttributeKind::kFloats;
  const float values[] = {1, 2};
  f.floats = model.arena.copy(std::span<const float>(values));
  const ValueId floats = declared(add("Constant", {}, {f}), {"3"});
  const ValueId ints = declared(add("Constant", {}, {is("value_ints", {1, 2})}),
                                {"3"}, DataType::kInt64);
  Inference facts(g);
  CHECK(text(facts, floats).starts_with("float[?"));
  CHECK(text(facts, ints).starts_with("int64[?"));
  CHECK(facts.contradiction(floats));
  CHECK(facts.contradiction(ints));
}

}  // namespace
}  // namespace ruleengine::analysis
