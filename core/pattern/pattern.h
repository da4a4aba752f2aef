// Pattern: what one rule looks for, as an immutable DAG of terms. A term
// describes a value of the graph, a node pattern a node. Both are interned:
// building the same one twice gives the same id, so a shared subpattern is one
// node however often it is named, and alternatives are branches that are never
// multiplied out. Patterns do not depend on Lua, on models or on each other;
// any number of threads may read one.
//
// Meaning (core/match implements it twice, in a fast and in a simple matcher):
// - Matching starts at a node that could produce the first result and goes
//   depth first: a node before its inputs, inputs and alternatives from left to
//   right; the first complete fit is taken. Of commutative inputs the written
//   order is tried first.
// - A later result, or a condition on a line of its own, is searched among the
//   readers of what is bound already, in ascending NodeId. Nodes of different
//   results are different nodes.
// - The matched node patterns that are not under `context` are consumed. An
//   output of a consumed node that is not a result may be read only by consumed
//   nodes, and may not be an output of a block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/id.h"
#include "core/base/result.h"
#include "core/ir/data_type.h"
#include "core/ir/op.h"
#include "core/ops/op_family.h"

namespace ruleengine::pattern {

using TermId = Id<struct TermTag>;
using NodePatternId = Id<struct NodePatternTag>;
using VariableId = Id<struct VariableTag>;
using FactId = Id<struct FactTag>;

enum class VariableKind : std::uint8_t {
  kUnused,  // declared, not used yet
  kValue,   // binds a value
  kScalar,  // binds an attribute's value, or a dimension; one namespace, so
            // that num_heads = H and shape "B H S D" mean the same H
  kList,    // a tail of inputs; or kValue/kNode inside `many`: a list, nearest
            // to the bottom of the chain first
  kNode,    // a tag: binds a node
  kSteps,   // a tag of `many`: a list with a record of each step, in the same
            // order
};

struct Variable {
  std::string name;
  VariableKind kind = VariableKind::kUnused;
  bool repeated = false;  // used inside a `many` step: arrives as a list
  // kSteps: what each record has, ascending. A name that is also used outside
  // of the step is bound once for all steps, and not among them.
  std::vector<VariableId> fields;
  int line = 0;  // of the rule file
};

enum class TermKind : std::uint8_t {
  kVariable,   // `variable`
  kAny,        // any present value
  kAbsent,     // an absent input
  kOutput,     // output `output` of `node`
  kNumbers,    // a constant equal to `numbers` within tolerance. `scalar`: one
               // element of any shape with product 1, else that many elements
               // in a 1-D constant
  kEither,     // `alternatives`, in order
  kMany,       // repeated `step` above `base`; kHole inside the step
  kHole,       // where the chain continues below; `output` is its number
  kTranspose,  // a 2-D constant whose transpose is `base` (a kVariable)
  kContext,    // `base` must exist and is not consumed
  kNever,      // `base` must not exist
  kRest,       // the remaining inputs of a node, bound to `variable` (may be
               // invalid: ignored); only as the last input
};

struct Alternative {
  TermId term;                     // kAbsent is allowed: `maybe(x)`
  std::vector<FactId> facts;       // stated in this alternative alone
  std::vector<TermId> conditions;  // contexts/nevers on a line of their own
};

struct Term {
  TermKind kind = TermKind::kAny;
  VariableId variable;
  NodePatternId node;
  std::uint32_t output = 0;
  std::vector<double> numbers;
  bool scalar = true;
  std::vector<Alternative> alternatives;
  TermId base, step;
  std::vector<VariableId> tags;  // kMany; not part of identity
  int line = 0;                  // not part of identity
};

// An attribute test. Attributes are read at the newest opset, with defaults.
struct AttributePattern {
  enum class Kind : std::uint8_t {
    kInt,
    kFloat,
    kString,
    kInts,
    kFloats,
    kStrings,
    kVariable,  // binds or equals
    kAny,
  };
  std::string name;
  Kind kind = Kind::kAny;
  std::int64_t i = 0;
  double f = 0;  // compared with relative tolerance 1e-6
  std::string s;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  VariableId variable;
};

struct NodePattern {
  std::string domain, type;
  // "Add", "com.microsoft::Gelu".
  std::string op_text() const { return ir::Op{domain, type, {}}.text(); }
  // Set by Builder where `type` is the name of a class of ops: any of them.
  // Their attributes are open, and those of them that commute match both ways.
  const ops::OpClass* op_class = nullptr;
  std::vector<TermId> inputs;                // trailing absent ones left out
  bool open_inputs = false;                  // further inputs may follow
  std::vector<AttributePattern> attributes;  // sorted by name
  bool open_attributes = false;  // others may differ from their default
  std::uint32_t output_count = 1;
  bool open_outputs = false;  // other outputs may be read
  // The assignments of the written inputs to input slots that are tried, in
  // order; empty: the identity, and the swap for commutative ops.
  std::vector<std::vector<std::uint32_t>> permutations;
  std::vector<VariableId> tags;  // not part of identity
  int line = 0;

  bool fits(std::string_view op_domain, std::string_view op_type) const;
  // Each op that fits.
  std::vector<ops::OpName> ops() const;
  bool shares_op(const NodePattern& other) const;
};

// A condition on the value of a term. It holds for an absent variable.
struct Fact {
  enum class Kind : std::uint8_t {
    kShape,  // dims as in `dims`, the rank equal (`ellipsis`: at least)
    kFits,   // broadcasts to `dims`: 1 or equal from the right, rank at most
    kRank,   // rank == number
    kDim,    // axis `number` (may be negative) is dims[0]
    kType,   // element type is one of `types`
    kConst,  // folds to a constant; with dims, of that shape
  };
  struct DimPattern {
    enum class Kind : std::uint8_t { kLetter, kNumber, kAny };
    Kind kind = Kind::kAny;
    VariableId letter;
    std::int64_t number = 0;
  };
  Kind kind = Kind::kShape;
  TermId subject;
  bool has_dims = false;  // kConst without a shape has none
  bool ellipsis = false;  // "..." in front
  std::vector<DimPattern> dims;
  std::int64_t number = 0;
  std::vector<ir::DataType> types;
  int line = 0;
};

class Pattern {
 public:
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Term>& terms() const { return terms_; }
  const std::vector<NodePattern>& nodes() const { return nodes_; }
  const std::vector<Fact>& facts() const { return facts_; }

  const Variable& operator[](VariableId id) const {
    return variables_[id.index()];
  }
  const Term& operator[](TermId id) const { return terms_[id.index()]; }
  const NodePattern& operator[](NodePatternId id) const {
    return nodes_[id.index()];
  }
  const Fact& operator[](FactId id) const { return facts_[id.index()]; }

  // What `match` returned, in order; these values are replaced.
  const std::vector<TermId>& results() const { return results_; }
  // Facts stated outside alternatives.
  const std::vector<FactId>& global_facts() const { return global_facts_; }
  // Contexts and nevers that stand alone outside alternatives.
  const std::vector<TermId>& conditions() const { return conditions_; }

 private:
  friend class Builder;
  std::vector<Variable> variables_;
  std::vector<Term> terms_;
  std::vector<NodePattern> nodes_;
  std::vector<Fact> facts_;
  std::vector<TermId> results_;
  std::vector<FactId> global_facts_;
  std::vector<TermId> conditions_;
};

// Patterns with more terms, or deeper nested terms, are rejected.
inline constexpr std::size_t kMaxTerms = 20'000;
inline constexpr std::size_t kMaxHeight = 1'000;

// Builds and checks one Pattern. Calls that name an impossible thing (an
// unknown op of a known domain, an attribute that the op lacks, too many
// inputs) return a Diagnostic of kind kRule without position: the caller adds
// file and line.
class Builder {
 public:
  // The variable of this name, made on first use. Use with two kinds is an
  // error at finish().
  VariableId variable(std::string_view name, int line);

  TermId value(VariableId variable, int line);  // kVariable
  TermId any();
  TermId absent();
  TermId numbers(std::vector<double> numbers, bool scalar);
  TermId either(std::vector<Alternative> alternatives, int line);
  TermId many(TermId step, TermId base, int line);
  // The place in a step where the chain continues below. Call it once for each
  // chain, before its step is built; the next many() takes it. Chains nest.
  TermId hole();
  TermId transpose(TermId variable_term, int line);
  TermId context(TermId base, int line);
  TermId never(TermId base, int line);
  TermId rest(VariableId variable, int line);  // variable may be invalid

  // Checks op, arity, attribute names and kinds against the newest schema.
  Result<NodePatternId> node(NodePattern node);
  TermId output(NodePatternId node, std::uint32_t index);
  Status tag(NodePatternId node, VariableId tag, int line);
  Status tag(TermId many, VariableId tag, int line);
  FactId fact(Fact fact);

  // Adds results, facts and conditions at top level. Then finish() checks the
  // pattern: rejected are a term that no result reaches, a name with two kinds,
  // a pattern that can never match (contradicting facts, an alternative after
  // one that always fits), results without a common value, a result that is a
  // bare variable, `rest` not last, and holes outside `many`. Each Diagnostic
  // gives the line.
  void result(TermId term);
  void global_fact(FactId fact);
  void condition(TermId term);
  Result<Pattern> finish();
  // The first error of calls that return no Diagnostic; finish() would return
  // it first.
  Status sound();
  // The line in the rule file of the latest error; 0 when not known.
  int error_line() const { return error_line_; }

  // The unfinished pattern. For checks of what `where` and `rewrite` read:
  // which variables only some ways of matching bind, and which none binds.
  const Pattern& draft() const { return pattern_; }

 private:
  TermId intern(Term term);
  Status name(VariableKind kind, VariableId tag, std::vector<VariableId>& tags,
              int line);
  void use(VariableId variable, VariableKind kind, int line);
  Diagnostic fail(int line, Diagnostic problem);
  void remember(int line, Diagnostic problem);  // keeps the first one

  Pattern pattern_;
  std::unordered_map<std::string, TermId> term_ids_;
  std::unordered_map<std::string, NodePatternId> node_ids_;
  std::unordered_map<std::string, VariableId> variable_ids_;
  std::unordered_map<std::string, FactId> fact_ids_;
  std::uint32_t open_chains_ = 0;  // holes that no many() has taken yet
  std::optional<Diagnostic> first_error_;
  int first_error_line_ = 0, error_line_ = 0;
};

// For each variable: does no, some or every way of matching bind it?
enum class Binding : std::uint8_t { kNever, kSometimes, kAlways };
std::vector<Binding> bindings(const Pattern& pattern);

}  // namespace ruleengine::pattern
