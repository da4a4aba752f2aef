// Compares our rules with the schema functions of the ONNX library on generated
// graphs.
#include "tests/support/agreement.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/support/graph_builder.h"

namespace ruleengine::analysis {
namespace {

using ir::ValueId;

// Random nodes over random shapes; most are valid.
class Generator {
 public:
  Generator(Builder& b, unsigned seed) : b_(b), random_(seed) {}

  void run(int count) {
    for (int i = 0; i < 4; ++i) values_.push_back(b_.input(shape(below(5))));
    for (int i = 0; i < count; ++i) step();
  }

 private:
  int below(int n) { return static_cast<int>(random_() % unsigned(n)); }
  ValueId any() { return values_[std::size_t(below(int(values_.size())))]; }
  std::string dim() {
    const char* dims[] = {"1", "2", "3", "6", "B", "S", "B*S", "S + 1", ""};
    return dims[below(9)];
  }
  std::vector<std::string> shape(int rank) {
    std::vector<std::string> out;
    for (int i = 0; i < rank; ++i) out.push_back(dim());
    return out;
  }
  std::vector<std::int64_t> some(int n, int from, int to) {
    std::vector<std::int64_t> out;
    for (int i = 0; i < n; ++i) out.push_back(from + below(to - from + 1));
    return out;
  }
  std::vector<std::int64_t> permutation(int n) {
    std::vector<std::int64_t> out;
    for (int i = 0; i < n; ++i) out.push_back(i);
    std::shuffle(out.begin(), out.end(), random_);
    return out;
  }

  void step() {
    const ValueId x = any(), y = any();
    const int axis = below(6) - 3, n = 1 + below(3);
    switch (below(19)) {
      case 0:
        return keep(b_.add("Add", {x, y}));
      case 1:
        return keep(b_.add("MatMul", {x, y}));
      case 2:
        return keep(
            b_.add("Transpose", {x}, {b_.is("perm", permutation(n + 1))}));
      case 3:
        return keep(b_.add("Reshape", {x, b_.ints(some(n, -1, 6))}));
      case 4:
        return keep(b_.add("Concat", {x, y}, {b_.i("axis", axis)}));
      case 5:
        return keep(b_.add("Unsqueeze", {x, b_.ints({axis})}));
      case 6:
        return keep(b_.add("Squeeze", {x, b_.ints({axis})}));
      case 7:
        return keep(b_.add("Flatten", {x}, {b_.i("axis", axis)}));
      case 8:
        return keep(b_.add("ReduceMean", {x, b_.ints({axis})},
                           {b_.i("keepdims", below(2))}));
      case 9:
        return keep(b_.add("Slice",
                           {x, b_.ints({below(9) - 4}), b_.ints({below(9) - 4}),
                            b_.ints({axis}), b_.ints({below(2) ? 1 : -1})}));
      case 10:
        return keep(b_.add("Gather", {x, b_.ints(some(n, 0, 2))},
                           {b_.i("axis", axis)}));
      case 11:
        return keep(b_.add("Expand", {x, b_.ints(some(n, 1, 3))}));
      case 12:
        return keep(b_.add("Pad", {x, b_.ints(some(2 * n, 0, 2))}));
      case 13:
        return keep(b_.add("Tile", {x, b_.ints(some(n, 1, 3))}));
      case 14:
        return keep(b_.add("Conv", {x, y}, {b_.is("strides", some(n, 1, 2))}));
      case 15:
        return keep(
            b_.add("Gemm", {x, y},
                   {b_.i("transA", below(2)), b_.i("transB", below(2))}));
      case 16:
        return keep(b_.add("Where", {b_.add("Greater", {x, y}), x, y}));
      case 17: {
        const ir::NodeId s =
            b_.node("Split", {x}, {b_.i("axis", axis)}, std::size_t(n));
        return keep(b_.g.output(s, 0));
      }
      default:
        return keep(b_.add("LayerNormalization", {x, y}, {b_.i("axis", axis)}));
    }
  }
  void keep(ValueId v) { values_.push_back(v); }

  Builder& b_;
  std::minstd_rand random_;
  std::vector<ValueId> values_;
};

TEST_CASE("our rules and the ONNX library's agree on generated graphs") {
  Agreement found;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Builder b(seed % 2 == 0 ? 17 : 13);
    Generator(b, seed).run(60);
    Solver solver(b.g, {});
    agree(solver, found);
  }
  CHECK(found.compared > 1500);
  for (const auto& line : found.wrong) FAIL_CHECK(line);
  for (const auto& line : found.weaker) FAIL_CHECK("weaker: ", line);
}

}  // namespace
}  // namespace ruleengine::analysis
