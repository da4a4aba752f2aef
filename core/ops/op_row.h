// OpRow: all that the engine knows of one op beyond the standard's schemas, in
// one place: core/ops/standard/<family>.cc or core/ops/dialect/<family>.cc. The
// functions of a row are pure: they look at the node and at what is known
// around it. Within a family's file they bear the op's name, as overloads.
// Constant data; any thread may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/small_vector.h"
#include "core/ir/model.h"
#include "core/ops/node_view.h"
#include "core/ops/op_facts.h"
#include "core/ops/op_family.h"

namespace ruleengine::ops {

struct Port;      // core/ops/axis_flow.h
class SizedNode;  // core/ops/sized_node.h

// A bit for each input, the lowest for the first.
using Inputs = std::uint32_t;
inline constexpr Inputs kAll = ~0u;

using Dims = SmallVector<ir::Dim, 6>;

// A type in the making. Axes may be kUnknown.
struct Inferred {
  ir::DataType elem = ir::DataType::kUndefined;
  bool ranked = false;
  Dims dims;
  const ir::Type* whole = nullptr;  // instead: this one (not a tensor)

  void set_dims(std::span<const ir::Dim> d) {
    ranked = true;
    dims.assign(d);
  }
};
using Outputs = std::span<Inferred>;

// How the types of the outputs follow from the inputs. It fills what it knows;
// false when the op's form is beyond it (then the schema is asked).
struct TypeRule {
  bool (*infer)(const NodeView&, Outputs) = nullptr;
  Inputs values = 0;  // those whose elements it reads
};

// In row-major order; an empty optional when they are not known one by one. The
// caller checks their number against the type.
using MaybeElements = std::optional<std::vector<ir::Dim>>;

struct ElementRule {
  MaybeElements (*follow)(const NodeView&, std::size_t output) = nullptr;
  Inputs values = 0;  // those whose elements it reads
  Inputs types = 0;   // those whose types it reads
};

// One tensor for each output, or empty.
using Literals = std::vector<const ir::Literal*>;

// The outputs as views of constant inputs: other shapes, parts and joints,
// which are put together where they are read, so nothing is computed however
// large they are. Empty where that cannot be. All inputs are constant,
// and the first one is there if the op takes any.
using Views = Literals (*)(const NodeView&);

// How the node treats one axis of an operand: see core/ops/axis_flow.h. False
// when it mixes positions, or may mix them.
class Flow;  // core/ops/rules/flow.h
using AxisRule = bool (*)(Flow&, Port, int axis);

struct Roles {
  bool commutative = false;            // the inputs may be given in any order
  bool broadcasts = false;             // as large as all inputs together
  bool counts_axes_of_result = false;  // by its axes, not those of the input
  bool folds = false;                  // computed where its inputs are constant
  bool folds_whole = false;  // however large, since nothing is computed
  bool total = false;        // floats give floats, whatever their values are
  bool makes = false;        // out of nothing: what it folds to is no weight
  bool linear = false;       // of a residual it makes a residual again
  bool sum = false;          // Add, Sub and Sum
  bool settings = false;     // inputs after the first are like attributes
  bool normalizing = false;  // a norm over the last axes, or part of one
  bool quantizes = false;    // QuantizeLinear
  bool dequantizes = false;  // its inverse
  bool attention = false;
  bool collective = false;
  bool free = false;      // reads and writes no memory, as a view
  bool measures = false;  // its result depends on the shape of its input alone
  // The result has as many axes as the first input, of other sizes. Only of ops
  // for which the ONNX library may find too few.
  bool keeps_rank = false;
  bool picks = false;    // reads of an input no more than it writes
  bool moves = false;    // each element of the result is one of the first input
  bool joins = false;    // each is an element of one of several inputs
  bool indexes = false;  // the second input has indices into the first
  bool bounds = false;   // may limit the values of its input
  bool passes_quantizers = false;  // runtimes move quantizers across it
  bool integers = false;  // runtimes compute it on integers between quantizers
};

// The two matrices that a product multiplies, by their slots.
struct Factors {
  bool known = false;  // whether the op is such a product
  std::uint8_t left = 0, right = 1;
  bool integers = false;  // whether it always computes on integers
};

// Writes nodes of the standard that compute the outputs of a call, and returns
// those; or refuses (core/ops/body.h).
class CallSite;  // core/ops/call_site.h
using Meaning = std::vector<ir::ValueId> (*)(const CallSite&);

struct OpRow {
  std::string_view domain;  // "" for the standard one
  std::string_view type;
  // Inputs, outputs and attributes of an op of ours; those of the standard's
  // come from its schemas, and of some ops no more than roles are known.
  OpFacts facts;
  OpFamily family = OpFamily::kOther;
  Roles roles;
  Factors factors;
  Inputs types_only = 0;  // inputs of which the node needs the type alone
  TypeRule types;
  ElementRule elements;
  Views views = nullptr;
  AxisRule axes = nullptr;
  // Of a norm: the output that is the sum which it normalizes; 0: none is.
  std::uint8_t sum_output = 0;
  // The default of an attribute where it depends on the rank of the first
  // input, which a schema cannot express.
  NodeView::MaybeInts (*rank_default)(std::string_view attribute,
                                      std::size_t rank) = nullptr;
  // Multiply-adds of matrices, convolutions and attention; none of other ops.
  double (*products)(const SizedNode&) = nullptr;
  std::string_view formula;  // of an op of ours, in a line
  Meaning meaning = nullptr;
};

// nullptr when nothing is known.
const OpRow* find_row(std::string_view domain, std::string_view type);
inline const OpRow* find_row(const ir::Op& op) {
  return find_row(op.domain, op.type);
}
// Sorted by domain and type.
std::span<const OpRow* const> all_rows();

// nullptr where the op has none.
inline Meaning meaning_of(std::string_view domain, std::string_view type) {
  const OpRow* row = find_row(domain, type);
  return row == nullptr ? nullptr : row->meaning;
}

// The roles of an op of which nothing is known are none.
Roles roles_of(std::string_view domain, std::string_view type);
inline Roles roles_of(const ir::Op& op) { return roles_of(op.domain, op.type); }

}  // namespace ruleengine::ops
