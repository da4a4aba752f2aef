// What the attributes and inputs of ops stand for beyond their kinds. Constant
// data; any thread may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ir/type.h"
#include "core/ops/op_facts.h"

namespace ruleengine::ops {

// Whether an INT attribute of this name is an element type's number (DataType),
// as `to` of Cast is. So it is in all ops of ONNX and of the dialect.
bool names_element_type(std::string_view attribute);

// Whether an attribute or a formal input of this name is an axis or a list of
// them, which may be counted from the front or from the back.
bool names_axes(std::string_view name);

// The default of the attribute `name` where it depends on the rank of the
// node's first input, which a schema cannot express; none when it has no such
// default, or when the rank of `input` is unknown (nullptr: nothing is known).
std::optional<std::vector<std::int64_t>> rank_default(const OpFacts& op,
                                                      std::string_view name,
                                                      const ir::Type* input);

}  // namespace ruleengine::ops
