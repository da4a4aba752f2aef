// Judge: the single tests of a pattern on values and attributes: numbers with
// tolerance, equality of what one name stands for twice, facts. Both matchers
// ask here, so that they can only differ in how they search. Not thread-safe.
#ifndef RULEENGINE_CORE_MATCH_NAIVE_JUDGE_H_
#define RULEENGINE_CORE_MATCH_NAIVE_JUDGE_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/pattern/pattern.h"

namespace ruleengine::match {

// What a name of dimensions and attributes stands for so far. Told apart from
// an attribute that is not there, which is a value of its own.
struct Scalar {
  enum class Kind : std::uint8_t { kUnset, kDim, kAttribute, kMissing };
  Kind kind = Kind::kUnset;
  ir::Dim dim;
  const ir::Attribute* attribute = nullptr;

  static Scalar of(ir::Dim dim);
  static Scalar of(const ir::Attribute* attribute);  // nullptr: kMissing
};

// The letters of a fact: binds the letter, or says whether it is this one.
using Unify = std::function<bool(pattern::VariableId, ir::Dim)>;

class Judge {
 public:
  Judge(ir::Graph& graph, ir::Facts& facts) : graph_(graph), facts_(facts) {}

  // Floats of a constant are compared with a tolerance that its type can
  // resolve: relative 1e-5 for float and double, 2^-10 for float16, 2^-7 for
  // bfloat16, 2^-3 for what is smaller. Integers are compared exactly.
  bool numbers(ir::ValueId value, std::span<const double> wanted, bool scalar);
  // The one number of a constant, and how far from it a literal may be.
  struct Number {
    double value = 0, tolerance = 0;
  };
  std::optional<Number> number(ir::ValueId value);

  // The same value, or constants of equal bits; `transposed` ones stand for
  // their transpose.
  bool same(ir::ValueId a, bool a_transposed, ir::ValueId b, bool b_transposed);
  bool is_matrix_constant(ir::ValueId value);

  // A literal of the pattern against what stands there (nullptr: nothing).
  static bool literal(const pattern::AttributePattern& wanted,
                      const ir::Attribute* found);

  // `known` and `found` as one name: keeps a dimension rather than an
  // attribute, so that the order of asking does not matter.
  bool unify(Scalar& known, const Scalar& found);

  // Unknown rank or type: false.
  bool fact(const pattern::Fact& fact, ir::ValueId value, bool transposed,
            const Unify& unify);

 private:
  std::optional<std::vector<ir::Dim>> shape(ir::ValueId value, bool transposed);
  std::optional<ir::DataType> element_type(ir::ValueId value);
  const ir::Tensor* small_constant(ir::ValueId value, std::int64_t count);
  bool same_transposed(const ir::Tensor& a, const ir::Tensor& b);

  ir::Graph& graph_;
  ir::Facts& facts_;
};

}  // namespace ruleengine::match

#endif  // RULEENGINE_CORE_MATCH_NAIVE_JUDGE_H_
