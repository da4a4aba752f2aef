// CallSite: one use of one of the engine's own ops, as its meaning sees it:
// inputs and attributes by the names of the op's row (core/ops/dialect), and
// what is known of them. What a meaning asks, and the answer, becomes part of
// the name of the function body, so a meaning must not look at the call in any
// other way. Lives as long as its Body.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/body.h"
#include "core/ops/op_facts.h"

namespace ruleengine::ops {

class CallSite {
 public:
  CallSite(Body& body, const OpFacts& op, Body::Values inputs,
           std::span<const ir::Attribute> attributes)
      : body_(body),
        op_(op),
        inputs_(std::move(inputs)),
        attributes_(attributes) {}

  Body& body() const { return body_; }

  // Invalid where an optional input is absent.
  ir::ValueId operator[](std::string_view input) const;
  // Whether two inputs are one value.
  bool same(std::string_view a, std::string_view b) const;

  // As written, or the default of the op's row; 0 or {} where there is neither.
  // Defaults are not part of the name.
  std::int64_t int_of(std::string_view attribute) const;
  float float_of(std::string_view attribute) const;
  std::vector<std::int64_t> ints_of(std::string_view attribute) const;
  bool is_written(std::string_view attribute) const;

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

 private:
  const ir::Attribute* written(std::string_view attribute) const;
  std::size_t place_of(std::string_view input) const;
  const ir::Type* shape_of(std::string_view input) const;
  // None where the rank is unknown or too small.
  std::optional<ir::Dim> dim(std::string_view input, std::size_t place) const;

  Body& body_;
  const OpFacts& op_;
  Body::Values inputs_;
  std::span<const ir::Attribute> attributes_;
};

// The meaning of another op, as part of a longer body.
Body::Values write_meaning(Body& body, std::string_view domain,
                           std::string_view type, Body::Values inputs,
                           std::span<const ir::Attribute> attributes);

}  // namespace ruleengine::ops
