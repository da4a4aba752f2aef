// Checker: the single tests of a pattern on values and attributes: numbers with
// tolerance, equality of two values of one name, facts. Both matchers use it,
// so that they can only differ in how they search. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/graph.h"
#include "core/match/match.h"
#include "core/ops/newest_nodes.h"
#include "core/pattern/pattern.h"

namespace ruleengine::match {

// The value of a letter so far. "Unbound" differs from "an absent attribute",
// which is a value of its own.
struct Scalar {
  enum class Kind : std::uint8_t { kUnset, kDim, kAttribute, kMissing };
  Kind kind = Kind::kUnset;
  ir::Dim dim;
  const ir::Attribute* attribute = nullptr;

  static Scalar of(ir::Dim dim);
  static Scalar of(const ir::Attribute* attribute);  // nullptr: kMissing
};

// Binds a letter of a fact, or compares it with the dimension it is bound to.
using Unify = std::function<bool(pattern::VariableId, ir::Dim)>;

class Checker {
 public:
  Checker(ir::Graph& graph, ir::Facts& facts) : graph_(graph), facts_(facts) {}

  // Floats of a constant are compared with a tolerance that depends on the
  // type: relative 1e-5 for float and double, 2^-10 for float16, 2^-7 for
  // bfloat16, 2^-3 for smaller types. Integers are compared exactly.
  bool numbers(ir::ValueId value, std::span<const double> wanted, bool scalar);
  // The one number of a constant, and the tolerance for a literal.
  struct Number {
    double value = 0, tolerance = 0;
  };
  std::optional<Number> number(ir::ValueId value);

  // The same value, or constants with equal bits; `transposed` ones are
  // compared by their transpose.
  bool same(ir::ValueId a, bool a_transposed, ir::ValueId b, bool b_transposed);
  bool is_matrix_constant(ir::ValueId value);

  // Unifies two values of one name. Of a dimension and an attribute it keeps
  // the dimension, so that the result does not depend on the order.
  bool unify(Scalar& known, const Scalar& found);

  // False for an unknown rank or type.
  bool fact(const pattern::Fact& fact, ir::ValueId value, bool transposed,
            const Unify& unify);

 private:
  std::optional<std::vector<ir::Dim>> shape(ir::ValueId value, bool transposed);
  std::optional<ir::DataType> element_type(ir::ValueId value);
  const ir::Literal* small_constant(ir::ValueId value, std::int64_t count);
  bool same_transposed(const ir::Literal& a, const ir::Literal& b);

  ir::Graph& graph_;
  ir::Facts& facts_;
};

// Whether an attribute (nullptr: absent) is a pattern's literal; axes may be
// counted from either end.
bool is_literal(ops::NewestNodes& nodes, ir::NodeId node,
                const pattern::AttributePattern& wanted,
                const ir::Attribute* found);

// Collects the attributes that are not at their default and that no pattern
// names.
void collect_unnamed(ops::NewestNodes& nodes, const pattern::Pattern& pattern,
                     pattern::NodePatternId by, ir::NodeId node,
                     std::vector<Unnamed>& out);

// Sorts by node and name, and removes duplicates.
void sort_unnamed(std::vector<Unnamed>& all);

}  // namespace ruleengine::match
