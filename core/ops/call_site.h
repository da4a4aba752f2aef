// CallSite: one use of one of the engine's own ops, as its meaning sees it:
// inputs and attributes by the names of the op's row (core/ops/dialect), and
// what is known of them. What a meaning asks, and the answer, becomes part of
// the name of the function body, so a meaning must not look at the call in any
// other way. Lives as long as its Body.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/body.h"
#include "core/ops/op_facts.h"

namespace ruleengine::ops {

// The outputs of a call.
struct CallOutputs {
  std::size_t count = 0;       // up to the last one that has a name
  std::uint32_t wanted = ~0u;  // a bit for each of the first 32
};
// Which are wanted: those that have a name, or only those that something reads.
enum class Wanted : std::uint8_t { kNamed, kRead };
CallOutputs outputs_of(const ir::Graph& graph, ir::NodeId call, Wanted wanted);

// How many inputs a meaning sees: those of the op, and all of the call where the
// last one stands for any number.
std::size_t input_count(const OpFacts& op, const ir::Graph& graph,
                        ir::NodeId call);
// Refuses a call with more inputs than the op has.
void refuse_surplus(Body& body, const OpFacts& op, const ir::Graph& graph,
                    ir::NodeId call);
// Refuses a call in a function body whose optional input is one of the
// function's that some of its callers omit: no node can say both.
void refuse_uncertain(Body& body, const OpFacts& op, const ir::Graph& graph,
                      ir::NodeId call);

class CallSite {
 public:
  CallSite(Body& body, const OpFacts& op, Body::Values inputs,
           std::span<const ir::Attribute> attributes, CallOutputs outputs)
      : body_(body),
        op_(op),
        inputs_(std::move(inputs)),
        attributes_(attributes),
        outputs_(outputs) {
    check();
  }

  Body& body() const { return body_; }
  // The op's, and the opset since which it has this form.
  std::string_view type() const { return op_.type; }
  int version() const { return op_.since_version; }
  // Up to the last one that is wanted.
  std::size_t output_count() const;
  // Whether the output is wanted; one that is not may be invalid.
  bool wants(std::size_t output) const;

  // Invalid where an optional input is absent.
  ir::ValueId operator[](std::string_view input) const;
  ir::ValueId input(std::size_t place) const {
    return place < inputs_.size() ? inputs_[place] : ir::ValueId();
  }
  // Whether two inputs are one value.
  bool same(std::string_view a, std::string_view b) const;

  // As written, or the default of the op's row; 0 or {} where there is neither.
  // Defaults are not part of the name.
  std::int64_t int_of(std::string_view attribute) const;
  float float_of(std::string_view attribute) const;
  std::vector<std::int64_t> ints_of(std::string_view attribute) const;
  std::string_view string_of(std::string_view attribute) const;
  std::vector<float> floats_of(std::string_view attribute) const;
  bool is_written(std::string_view attribute) const;
  // The attributes that are written, as they are, without these.
  Body::Attributes others(
      std::initializer_list<std::string_view> without) const;

  // What is known of an input's type; kUndefined, nothing or 0 where nothing
  // is. `place` counts axes from the end, from 1 on.
  ir::DataType elem(std::string_view input) const;
  std::optional<std::size_t> rank(std::string_view input) const;
  std::int64_t size(std::string_view input, std::size_t place) const;

  // The same without becoming part of the name: the caller notes what it
  // concludes.
  std::size_t rank_or(std::string_view input, std::size_t usual) const;
  std::int64_t quiet_size(std::string_view input, std::size_t place) const;
  // Whether two inputs provably have the same size at a place.
  bool same_size(std::string_view a, std::string_view b,
                 std::size_t place) const;
  // Whether a size at a place is provably at most that of another input.
  bool at_most(std::string_view a, std::string_view b, std::size_t place) const;
  ir::DataType quiet_elem(std::string_view input) const;
  std::int64_t quiet_int(std::string_view attribute) const;
  bool has_attribute(std::string_view name) const {
    return op_.attribute(name) != nullptr;
  }
  bool has_default(std::string_view attribute) const {
    const FormalAttribute* formal = op_.attribute(attribute);
    return formal != nullptr && formal->has_default;
  }

 private:
  // Refuses a call that lacks what its op requires, or has an attribute that
  // the op's row lacks: a newer release of another runtime may mean something
  // by it.
  void check() const;
  const ir::Attribute* written(std::string_view attribute) const;
  std::size_t place_of(std::string_view input) const;
  const ir::Type* shape_of(std::string_view input) const;
  // None where the rank is unknown or too small.
  std::optional<ir::Dim> dim(std::string_view input, std::size_t place) const;

  Body& body_;
  const OpFacts& op_;
  Body::Values inputs_;
  std::span<const ir::Attribute> attributes_;
  CallOutputs outputs_;
};

// The meaning of another op, as part of a longer body.
Body::Values write_meaning(Body& body, std::string_view domain,
                           std::string_view type, Body::Values inputs,
                           std::span<const ir::Attribute> attributes);

}  // namespace ruleengine::ops
