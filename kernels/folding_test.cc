#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/graph_builder.h"

// How constants fold: through the kernels, and as views of large ones.
namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::ValueId;

struct FoldingFixture : Builder {
  Inference facts{g};
  std::string of(ValueId v) { return constant(facts, v); }
  template <typename T>
  ValueId data(DataType type, std::vector<std::int64_t> dims,
               std::vector<T> values) {
    return initializer(tensor<T>(type, std::move(dims), std::move(values)));
  }
};

TEST_CASE_FIXTURE(FoldingFixture, "movement") {
  const ValueId x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(of(add("Transpose", {x})) == "float[3][2]: 1 4 2 5 3 6");
  CHECK(of(add("Reshape", {x, ints({3, -1})})) == "float[3][2]: 1 2 3 4 5 6");
  CHECK(of(add("Gather", {x, ints({-1, 0})}, {i("axis", 1)})) ==
        "float[2][2]: 3 1 6 4");
  CHECK(of(add("Slice", {x, ints({-1}), ints({INT64_MIN}), ints({1}),
                         ints({-2})})) == "float[2][2]: 3 1 6 4");
  CHECK(of(add("Concat", {x, x}, {i("axis", 1)})) ==
        "float[2][6]: 1 2 3 1 2 3 4 5 6 4 5 6");
  CHECK(of(add("Expand", {floats({2, 1}, {1, 2}), ints({1, 3})})) ==
        "float[2][3]: 1 1 1 2 2 2");
  CHECK(of(add("Tile", {x, ints({1, 2})})) ==
        "float[2][6]: 1 2 3 1 2 3 4 5 6 4 5 6");
  const ValueId c = add("Less", {x, floats({}, {3})});
  CHECK(of(add("Where", {c, x, floats({1}, {0})})) ==
        "float[2][3]: 1 2 0 0 0 0");
  const ir::NodeId parts = node("Split", {x, ints({1, 2})}, {i("axis", 1)}, 2);
  CHECK(of(g.output(parts, 0)) == "float[2][1]: 1 4");
  CHECK(of(g.output(parts, 1)) == "float[2][2]: 2 3 5 6");
  CHECK(of(add("Trilu", {x}, {i("upper", 0)})) == "float[2][3]: 1 0 0 4 5 0");
  CHECK(of(add("Unsqueeze", {x, ints({0, -1})})) ==
        "float[1][2][3][1]: 1 2 3 4 5 6");
  CHECK(of(add("Flatten", {x}, {i("axis", 0)})) == "float[1][6]: 1 2 3 4 5 6");
}

TEST_CASE_FIXTURE(FoldingFixture, "arithmetic") {
  const ValueId x = floats({2}, {1, -7}), y = floats({}, {2});
  CHECK(of(add("Div", {x, y})) == "float[2]: 0.5 -3.5");
  CHECK(of(add("Mod", {x, y}, {i("fmod", 1)})) == "float[2]: 1 -1");
  CHECK(of(add("Pow", {x, ints({2})})) == "float[2]: 1 49");
  CHECK(of(add("Sqrt", {y})) == "float: 1.414214");
  const ValueId a = ints({7, -7}), b = ints({2});
  CHECK(of(add("Div", {a, b})) == "int64[2]: 3 -3");
  CHECK(of(add("Mod", {a, b})) == "int64[2]: 1 1");
  CHECK(of(add("Mod", {a, b}, {i("fmod", 1)})) == "int64[2]: 1 -1");
  CHECK(of(add("Pow", {a, b})) == "int64[2]: 49 49");
  CHECK(of(add("Max", {a, b, ints({3, 3})})) == "int64[2]: 7 3");
  CHECK(of(add("ReduceSum", {x}, {i("keepdims", 0)})) == "float: -6");
  CHECK(of(add("ReduceProd", {a, ints({0})})) == "int64[1]: -49");
  CHECK(of(add("Neg", {a})) == "int64[2]: -7 7");
  CHECK(of(add("Not", {add("Equal", {a, b})})) == "bool[2]: 1 1");
  CHECK(of(add("And", {add("Greater", {a, b}), add("LessOrEqual", {b, b})})) ==
        "bool[2]: 1 0");
}

TEST_CASE_FIXTURE(FoldingFixture, "narrow types round and wrap") {
  const auto half = [&](ValueId v) { return add("Cast", {v}, {i("to", 10)}); };
  const ValueId third =
      add("Div", {half(floats({}, {1})), half(floats({}, {3}))});
  CHECK(of(third) == "float16: 0.333252");
  CHECK(of(half(floats({2}, {65519, 65520}))) == "float16[2]: 65504 inf");
  CHECK(of(half(floats({1}, {6e-8f}))) ==
        "float16[1]: 0");  // printed with 6 digits
  CHECK(of(add("Cast", {floats({2}, {1.00390625f, 1.01171875f})},
               {i("to", 16)})) == "bfloat16[2]: 1 1.015625");  // ties to even
  const ValueId u = data<std::uint8_t>(DataType::kUint8, {2}, {250, 3});
  CHECK(of(add("Add", {u, u})) == "uint8[2]: 244 6");
  CHECK(of(add("Cast", {ints({-1, 300})}, {i("to", 2)})) == "uint8[2]: 255 44");
  CHECK(of(add("Cast", {floats({2}, {-1.9f, 1.9f})}, {i("to", 7)})) ==
        "int64[2]: -1 1");
  CHECK(of(add("Cast", {floats({2}, {0, 0.5f})}, {i("to", 9)})) ==
        "bool[2]: 0 1");
}

TEST_CASE_FIXTURE(FoldingFixture, "ops without a result are refused") {
  const ValueId low = ints({INT64_MIN}), zero = ints({0}), minus = ints({-1});
  const ValueId x = ints({1, 2, 3});
  CHECK(of(add("Div", {x, zero})) == "none");
  CHECK(of(add("Mod", {x, zero})) == "none");
  CHECK(of(add("Div", {low, minus})).starts_with("int64[1]: -92"));
  CHECK(of(add("Mod", {low, minus})) == "int64[1]: 0");
  CHECK(of(add("Abs", {low})).starts_with("int64[1]: -92"));
  CHECK(of(add("Gather", {x, ints({3})})) == "none");
  CHECK(of(add("Gather", {x, ints({INT64_MIN})})) == "none");
  CHECK(of(add("Slice", {x, zero, ints({2}), zero, zero})) == "none");
  CHECK(of(add("Cast", {floats({1}, {std::nanf("")})}, {i("to", 7)})) ==
        "none");
  CHECK(of(add("Cast", {floats({1}, {1e30f})}, {i("to", 6)})) == "none");
  CHECK(of(add("Reshape", {x, ints({2, -1})})) == "none");
  CHECK(of(add("Reshape", {x, ints({-1, -1})})) == "none");
  CHECK(of(add("Pow", {ints({-1, 0, 2}), minus})) == "none");
  CHECK(of(add("Pow", {ints({-1, 1, 2}), minus})) == "int64[3]: -1 1 0");
  CHECK(of(add("Add", {x, floats({1}, {1})})) == "none");
  CHECK(of(add("Concat", {x, floats({1}, {1})}, {i("axis", 0)})) == "none");
  CHECK(of(add("Add", {x, ints({1, 2})})) == "none");
}

TEST_CASE_FIXTURE(FoldingFixture,
                  "sizes that cannot be allocated are refused") {
  const ValueId huge = ints({std::int64_t{1} << 40, 1 << 20, 1 << 20});
  const ValueId one = floats({}, {1});
  const std::size_t before = model.arena.bytes();
  CHECK(of(add("ConstantOfShape", {huge})) == "none");
  CHECK(of(add("Expand", {one, huge})) == "none");
  CHECK(of(add("Tile", {floats({1}, {1}), ints({INT64_MAX})})) == "none");
  CHECK(of(add("Range", {scalar(0), scalar(INT64_MAX), scalar(1)})) == "none");
  CHECK(of(add("Range", {scalar(INT64_MIN), scalar(INT64_MAX), scalar(1)})) ==
        "none");
  CHECK(of(add("Range", {floats({}, {0}), floats({}, {1e30f}),
                         floats({}, {1e-30f})})) == "none");
  CHECK(of(add("ConstantOfShape", {ints({-1})})) == "none");
  // They are empty, however large the other sizes are.
  const ValueId wide = add("ConstantOfShape", {ints({INT64_MAX, 0})});
  CHECK(of(wide) == "float[9223372036854775807][0]:");
  CHECK(of(add("Concat", {wide, wide}, {i("axis", 1)})) ==
        "float[9223372036854775807][0]:");
  CHECK(of(add("Gather", {wide, ints({})}, {i("axis", 1)})) ==
        "float[9223372036854775807][0]:");
  CHECK(facts.is_constant(add("ConstantOfShape", {huge})));
  CHECK(model.arena.bytes() < before + (1 << 20));
}

TEST_CASE_FIXTURE(FoldingFixture,
                  "the memory for large computed constants is limited") {
  int folded = 0;
  for (int n = 0; n < 2000; ++n) {
    const ValueId large = add("ConstantOfShape", {ints({1 << 16})});
    folded += facts.constant(large) != nullptr;
  }
  CHECK(folded > 500);
  CHECK(folded < 1500);
  CHECK(of(add("Add", {ints({1}), ints({2})})) == "int64[1]: 3");
}

TEST_CASE_FIXTURE(FoldingFixture, "large constants fold without being read") {
  // The 4 MiB do not exist: reading them would fail.
  ir::Literal t;
  t.dtype = DataType::kFloat;
  t.storage = ir::Storage::kExternal;
  const std::int64_t dims[] = {1024, 1024};
  t.dims = model.arena.copy(std::span<const std::int64_t>(dims));
  t.external = {.location = "absent"};
  const ValueId w = initializer(model.arena.make<ir::Literal>(t));
  const ir::Literal* flat =
      facts.constant(add("Reshape", {w, ints({-1, 512})}));
  REQUIRE(flat != nullptr);
  CHECK(flat->storage == ir::Storage::kExternal);
  CHECK(flat->dims[0] == 2048);
  const ValueId turned = add("Transpose", {w}, {is("perm", {1, 0})});
  const ir::Literal* lazy = facts.constant(turned);
  REQUIRE(lazy != nullptr);
  CHECK(lazy->storage == ir::Storage::kLazy);
  CHECK(lazy->lazy->parts[0].transpose);
  CHECK(facts.constant(add("Transpose", {turned})) == facts.constant(w));
  const ir::Literal* joined =
      facts.constant(add("Concat", {w, turned}, {i("axis", 1)}));
  REQUIRE(joined != nullptr);
  CHECK(joined->dims[1] == 2048);
  CHECK(joined->lazy->axis == 1);
  CHECK(joined->lazy->parts.size() == 2);
  // The parts of a Concat are the original constants.
  const ValueId both = add("Concat", {w, turned}, {i("axis", 1)});
  const ir::NodeId parts =
      node("Split", {both, ints({1024, 1024})}, {i("axis", 1)}, 2);
  CHECK(facts.constant(g.output(parts, 0)) == facts.constant(w));
  CHECK(facts.constant(add("Transpose", {g.output(parts, 1)})) ==
        facts.constant(w));
  const ValueId back = add("Transpose", {both}, {is("perm", {1, 0})});
  const ValueId rows = add("Slice", {back, ints({1024}), ints({2048})});
  CHECK(facts.constant(rows) == facts.constant(w));
  const ir::Literal* cut =
      facts.constant(add("Slice", {w, ints({24}), ints({1024})}));
  REQUIRE(cut != nullptr);
  CHECK(cut->lazy->parts[0].begin == 24);
  CHECK(cut->lazy->parts[0].count == 1000);
  CHECK(facts.constant(add("Mul", {w, w})) == nullptr);
  CHECK(facts.is_constant(add("Mul", {w, w})));
}

TEST_CASE_FIXTURE(FoldingFixture,
                  "slices of large constants are cut when they are read") {
  // Each element is its index: 300 * row + column.
  std::vector<float> values(300 * 300);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  const ValueId w = data(DataType::kFloat, {300, 300}, values);
  const ValueId t = add("Transpose", {w}, {is("perm", {1, 0})});
  // 300 x 600: w beside its transpose.
  const ValueId wide = add("Concat", {w, t}, {i("axis", 1)});
  const auto check = [&](ValueId sliced, int rows, int columns, auto at) {
    const ir::Literal* tensor = facts.constant(sliced);
    REQUIRE(tensor != nullptr);
    CHECK(tensor->storage == ir::Storage::kLazy);
    const auto read = ir::to_doubles(*tensor, nullptr, 1 << 20);
    REQUIRE(read);
    REQUIRE(read->size() == static_cast<std::size_t>(rows * columns));
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        REQUIRE((*read)[static_cast<std::size_t>(r * columns + c)] == at(r, c));
      }
    }
  };
  const auto box = [&](ValueId x, int r0, int r1, int c0, int c1) {
    return add("Slice", {x, ints({r0, c0}), ints({r1, c1}), ints({0, 1})});
  };
  check(box(w, 2, 290, 5, 299), 288, 294,
        [](int r, int c) { return 300 * (r + 2) + c + 5; });
  check(box(t, 2, 290, 5, 299), 288, 294,
        [](int r, int c) { return 300 * (c + 5) + r + 2; });
  check(box(wide, 10, 260, 150, 500), 250, 350, [](int r, int c) {
    const int row = r + 10, column = c + 150;
    return column < 300 ? 300 * row + column : 300 * (column - 300) + row;
  });
  // A slice of a slice along the same axis, then transposed.
  const ValueId once = box(wide, 0, 300, 20, 520);
  const ValueId twice = box(once, 30, 290, 100, 420);
  check(add("Transpose", {twice}, {is("perm", {1, 0})}), 320, 260,
        [](int r, int c) {
          const int row = c + 30, column = r + 120;
          return column < 300 ? 300 * row + column : 300 * (column - 300) + row;
        });
  const ir::NodeId parts =
      node("Split", {wide, ints({30, 270, 300})}, {i("axis", 1)}, 3);
  check(g.output(parts, 1), 300, 270,
        [](int r, int c) { return 300 * r + c + 30; });
  // A few elements of a large constant.
  CHECK(of(box(wide, 7, 8, 299, 301)) == "float[1][2]: 2399 7");
}

TEST_CASE_FIXTURE(FoldingFixture, "values that are constant fold") {
  const auto filled = [&](std::int64_t rows, std::int64_t columns) {
    ir::Literal t;
    t.dtype = DataType::kFloat;
    t.dims = model.arena.copy(
        std::span<const std::int64_t>(std::array{rows, columns}));
    t.bytes = model.arena.array<std::byte>(
        static_cast<std::size_t>(rows * columns) * 4);
    return initializer(model.arena.make<ir::Literal>(t));
  };
  // Above 2^16 elements. A mask of one number still stays a node.
  const ValueId w = filled(258, 258);
  const ValueId product = add("Mul", {w, w});
  CHECK(facts.is_constant(product));
  CHECK(facts.constant(product) != nullptr);
  const ValueId mask = add("Expand", {floats({1}, {1}), ints({258, 258})});
  CHECK_FALSE(facts.is_constant(mask));
  CHECK(facts.constant(mask) == nullptr);
  CHECK(facts.take_warnings().empty());
  // Above 2^22 elements: computed where it is read.
  const ValueId large = filled(2049, 2048);
  const ValueId half = add("Cast", {large}, {i("to", 10)});
  for (const ValueId v :
       {half, add("Reshape", {half, ints({-1})}), add("Transpose", {large}),
        add("ReduceSum", {large, ints({0})}),
        add("Concat", {large, large}, {i("axis", 0)}),
        add("Slice", {large, ints({0}), ints({9})})}) {
    CHECK(facts.is_constant(v));
    CHECK(facts.constant(v) != nullptr);
  }
  CHECK(facts.constant(half)->storage == ir::Storage::kComputed);
  CHECK(facts.take_warnings().empty());
  // Whether integers fail is known when they are computed, which is too late.
  const ValueId whole = add("Cast", {large}, {i("to", 7)});
  CHECK_FALSE(facts.is_constant(whole));
  CHECK(facts.constant(whole) == nullptr);
  CHECK(facts.take_warnings().size() == 1);
}

TEST_CASE_FIXTURE(FoldingFixture, "large constants are computed when read") {
  Inference few(g, {.fold_limit = 4});
  const ValueId x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const ValueId y =
      add("Mul", {x, add("Unsqueeze", {floats({2}, {1, -1}), ints({1})})});
  const ir::Literal* product = few.constant(y);
  REQUIRE(product != nullptr);
  CHECK(product->storage == ir::Storage::kComputed);
  CHECK(constant(few, y) == "float[2][3]: 1 2 3 -4 -5 -6");
  CHECK(constant(few, add("Transpose", {y})) == "float[3][2]: 1 -4 2 -5 3 -6");
  const ValueId flat = add("Reshape", {y, ints({6})});
  CHECK(constant(few, flat) == "float[6]: 1 2 3 -4 -5 -6");
  CHECK(constant(few, add("Slice", {flat, ints({2}), ints({4})})) ==
        "float[2]: 3 -4");
  CHECK(constant(few, add("ReduceMax", {y}, {i("keepdims", 0)})) == "float: 3");
  CHECK(constant(few, add("Concat", {y, x}, {i("axis", 1)})) ==
        "float[2][6]: 1 2 3 1 2 3 -4 -5 -6 4 5 6");
  // No kernel takes the type, which is found out before anything reads it.
  CHECK(few.constant(add("BitwiseNot", {x})) == nullptr);
  // An opset in which the axes are an attribute.
  Builder old(12);
  Inference facts_of_old(old.g, {.fold_limit = 4});
  const ValueId sum =
      old.add("ReduceSum", {old.floats({2, 3}, {1, 2, 3, 4, 5, 6})},
              {old.is("axes", {0}), old.i("keepdims", 0)});
  CHECK(old.constant(facts_of_old, sum) == "float[3]: 5 7 9");
}

TEST_CASE_FIXTURE(FoldingFixture, "long expressions are read") {
  Inference few(g, {.fold_limit = 4});
  ValueId v = floats({5}, {1, 2, 3, 4, 5});
  for (int i = 0; i < 255; ++i) v = add("Neg", {v});
  CHECK(constant(few, v) == "float[5]: -1 -2 -3 -4 -5");
}

TEST_CASE_FIXTURE(FoldingFixture, "where runtimes differ nothing folds") {
  const ValueId none = floats({0}, {});
  CHECK(of(add("ReduceMax", {none})) == "none");
  CHECK(of(add("ReduceMean", {none})) == "none");
  const ValueId x = ints({1, 2, 3});
  CHECK(of(add("Slice", {x, ints({-1}), ints({INT64_MAX}), ints({0}),
                         ints({-1})})) == "none");
  CHECK(of(add("BitShift", {data<std::uint8_t>(DataType::kUint8, {1}, {1}),
                            data<std::uint8_t>(DataType::kUint8, {1}, {9})})) ==
        "none");
  CHECK(of(add("Cast", {floats({1}, {100})}, {i("to", 22)})) == "none");
  CHECK(of(add("Cast", {floats({1}, {7})}, {i("to", 22)})) == "int4[1]: 7");
}

TEST_CASE_FIXTURE(FoldingFixture, "what is computed when read is limited") {
  Inference few(g, {.fold_limit = 4});
  ValueId v = floats({5}, {1, 1, 1, 1, 1});
  int deferred = 0;
  for (; deferred < 1000; ++deferred) {
    v = add("Add", {v, v});
    if (few.constant(v) == nullptr) break;
  }
  // Each reads the one before it twice.
  CHECK(deferred == 8);
  CHECK(facts.constant(v) != nullptr);
}

TEST_CASE_FIXTURE(FoldingFixture, "every form of Constant") {
  ir::Attribute f;
  f.name = "value_floats";
  f.kind = ir::AttributeKind::kFloats;
  const float values[] = {1, 2.5f};
  f.floats = model.arena.copy(std::span<const float>(values));
  ir::Attribute s;
  s.name = "value_string";
  s.kind = ir::AttributeKind::kString;
  s.s = "text";
  CHECK(of(add("Constant", {}, {f})) == "float[2]: 1 2.5");
  CHECK(of(add("Constant", {}, {i("value_int", 3)})) == "int64: 3");
  CHECK(of(add("Constant", {}, {is("value_ints", {3, 4})})) == "int64[2]: 3 4");
  CHECK(text(facts, add("Constant", {}, {s})) == "string");
  CHECK(facts.constant(add("Constant", {}, {s}))->strings[0] == "text");
  CHECK(of(add("Constant", {})) == "none");
}

TEST_CASE_FIXTURE(FoldingFixture, "without an evaluator nothing is computed") {
  model.evaluator = nullptr;
  const ValueId x = ints({1, 2});
  CHECK_FALSE(facts.is_constant(add("Add", {x, x})));
  CHECK(of(add("Reshape", {x, ints({2, 1})})) == "int64[2][1]: 1 2");
}

TEST_CASE_FIXTURE(FoldingFixture, "products fold, random numbers stay") {
  const ValueId x = floats({2, 2}, {1, 2, 3, 4});
  CHECK_FALSE(facts.is_constant(add("RandomNormalLike", {x})));
  CHECK(of(add("MatMul", {x, x})) == "float[2][2]: 7 10 15 22");
}

TEST_CASE_FIXTURE(FoldingFixture, "updates of one place do not fold") {
  const ValueId x = floats({3}, {1, 2, 3}), y = floats({2}, {5, 6});
  ir::Attribute sums;
  sums.name = "reduction";
  sums.kind = ir::AttributeKind::kString;
  sums.s = "add";
  const auto column = [&](std::vector<std::int64_t> at) {
    return add("Unsqueeze", {ints(std::move(at)), ints({1})});
  };
  CHECK(of(add("ScatterND", {x, column({2, 0}), y})) == "float[3]: 6 2 5");
  CHECK_FALSE(facts.constant(add("ScatterND", {x, column({1, 1}), y})));
  CHECK(of(add("ScatterND", {x, column({1, 1}), y}, {sums})) ==
        "float[3]: 1 13 3");
  CHECK(of(add("ScatterElements", {x, ints({2, 0}), y})) == "float[3]: 6 2 5");
  CHECK_FALSE(facts.constant(add("ScatterElements", {x, ints({1, -2}), y})));
}

}  // namespace
}  // namespace ruleengine::analysis
