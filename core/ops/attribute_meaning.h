// What the attributes and inputs of ops stand for beyond their kinds. Constant
// data; any thread may ask.
#pragma once

#include <string_view>

namespace ruleengine::ops {

// Whether an INT attribute of this name is an element type's number (DataType),
// as `to` of Cast is. So it is in all ops of ONNX and of the dialect.
bool names_element_type(std::string_view attribute);

// Whether an attribute or a formal input of this name is an axis or a list of
// them, which may be counted from the front or from the back.
bool names_axes(std::string_view name);
// Axes are those of the first input, but of these ops those of the result.
bool counts_axes_of_result(std::string_view domain, std::string_view type);
// Whether the axes in a list mean the same in any order.
bool takes_axes_in_any_order(std::string_view domain, std::string_view type);

}  // namespace ruleengine::ops
