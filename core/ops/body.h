// Body: the place to which the meaning of an op is written, node by node, in
// ops of the standard. A meaning is written once, and there are two places for
// it: a function body that all calls of a variant share (core/ops/
// function_body.h), and the graph around the call itself, where everything that
// is known of the call is computed at once (core/rewrite/inline.h).
//
// Nodes are given in their newest form; the Body writes them at its own opset.
// Nothing fails at once: the first refusal is kept, and after it the values
// that are returned mean nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/arena.h"
#include "core/ir/attribute.h"
#include "core/ir/graph.h"
#include "core/ir/type.h"

namespace ruleengine::ops {

// Why a meaning cannot be written for this call, and the value at fault, as
// text; "" where none is.
struct Refusal {
  std::string reason, value;

  std::string text() const {
    return value.empty() ? reason : reason + ": " + value;
  }
};

class Body {
 public:
  using Values = std::vector<ir::ValueId>;
  using Attributes = std::vector<ir::Attribute>;

  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;

  // A node of the standard. `names` are what its outputs are called where
  // nothing else gives them a name; absent inputs are invalid values.
  virtual Values nodes(std::string_view type, Values inputs,
                       const std::vector<std::string>& names,
                       Attributes attributes) = 0;
  ir::ValueId node(std::string_view type, Values inputs, std::string_view name,
                   Attributes attributes = {});

  // Another op of the engine's own, that has a meaning.
  virtual Values call(std::string_view domain, std::string_view type,
                      Values inputs, Attributes attributes) = 0;

  // Constants: int64 (a scalar when `scalar`), floats, and one number of a
  // float type: `elem`, or that of `like`.
  ir::ValueId integers(const std::vector<std::int64_t>& data,
                       std::string_view name, bool scalar = false);
  ir::ValueId floats(const std::vector<float>& data, std::string_view name);
  ir::ValueId number(double value, ir::ValueId like, std::string_view name);
  ir::ValueId number(double value, ir::DataType elem, std::string_view name);

  // The size of an axis of x as a scalar, and 0, 1, ... below a scalar.
  ir::ValueId size_of(ir::ValueId x, std::int64_t axis, std::string_view name);
  ir::ValueId places_below(ir::ValueId length);

  // The size of an axis as a list of one.
  ir::ValueId length_of(ir::ValueId x, std::int64_t axis,
                        std::string_view name);

  ir::ValueId reshaped(ir::ValueId x, const std::vector<std::int64_t>& sizes,
                       std::string_view sizes_name, std::string_view name);
  ir::ValueId transposed(ir::ValueId x, const std::vector<std::int64_t>& perm,
                         std::string_view name);
  ir::ValueId unsqueezed(ir::ValueId x, const std::vector<std::int64_t>& axes,
                         std::string_view name);
  ir::ValueId joined(Values parts, std::string_view name,
                     std::int64_t axis = 0);
  // x at one place of an axis, without that axis.
  ir::ValueId one_of(ir::ValueId x, std::int64_t place, std::int64_t axis,
                     std::string_view name);
  // x from `begin` on up to `end`, both lists of one, along an axis.
  ir::ValueId sliced(ir::ValueId x, ir::ValueId begin, ir::ValueId end,
                     std::int64_t axis, std::string_view name);
  // Entries [from, to) of a list.
  ir::ValueId entries(ir::ValueId list, std::int64_t from, std::int64_t to,
                      std::string_view name);
  // x + more, or x where there is no more.
  ir::ValueId plus(ir::ValueId x, ir::ValueId more, std::string_view name);

  // A cast to a type, and to the float type of `like`.
  ir::ValueId cast(ir::ValueId x, ir::DataType elem, std::string_view name);
  ir::ValueId like(ir::ValueId x, ir::ValueId like, std::string_view name);

  ir::Attribute ints(std::string_view name,
                     const std::vector<std::int64_t>& data);
  static ir::Attribute integer(std::string_view name, std::int64_t value);
  static ir::Attribute real(std::string_view name, float value);
  // `value` must live as long as the program.
  static ir::Attribute text(std::string_view name, std::string_view value);

  // The version of the standard in which the nodes are written.
  virtual std::int64_t opset() const = 0;
  // Whether calls with inputs of other types and sizes share it.
  virtual bool is_shared() const = 0;
  // Whether the engine's own executor runs the nodes: they need not be in a
  // form that other runtimes can read.
  virtual bool runs_here() const { return false; }

  // What is known of a value; nullptr, nothing or invalid where it is not, as
  // for most values of a function body.
  virtual const ir::Type* type(ir::ValueId value) = 0;
  virtual std::optional<std::vector<std::int64_t>> elements(
      ir::ValueId value) = 0;
  // Whether two inputs of the call are one value.
  virtual bool same(ir::ValueId a, ir::ValueId b) const { return a == b; }
  // Whether all elements are known to be 0, or 1.
  bool is_zero(ir::ValueId list) { return is_all(list, 0); }
  bool is_one(ir::ValueId list) { return is_all(list, 1); }
  // The node of the graph around the call that computes the value.
  virtual ir::NodeId producer(ir::ValueId value) = 0;
  virtual const ir::Graph& host() const = 0;

  // Says the rank of a value, of which nothing may be known.
  virtual void set_rank(ir::ValueId, std::size_t) {}

  // An answer about the call on which the nodes depend. Calls with equal
  // answers share a function body, so the answers are its name.
  virtual void note(const std::string& answer) = 0;

  // The first one is kept.
  void refuse(std::string reason, ir::ValueId culprit = {});
  const std::optional<Refusal>& refusal() const { return refusal_; }

 protected:
  bool is_all(ir::ValueId list, std::int64_t number);

  virtual ir::ValueId constant(const ir::Literal& tensor,
                               std::string_view name) = 0;
  // Tensors and attributes of the body live here.
  virtual Arena& arena() = 0;
  virtual std::string describe(ir::ValueId value) = 0;

  std::optional<Refusal> refusal_;
};

}  // namespace ruleengine::ops
