// What the attributes of ops stand for beyond their kinds. Constant data; any
// thread may ask.
#ifndef RULEENGINE_CORE_IR_ATTRIBUTE_MEANING_H_
#define RULEENGINE_CORE_IR_ATTRIBUTE_MEANING_H_

#include <string_view>

namespace ruleengine::ir {

// Whether an INT attribute of this name is an element type's number (DataType),
// as `to` of Cast is. So it is in all ops of ONNX and of the dialect.
bool names_element_type(std::string_view attribute);

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_ATTRIBUTE_MEANING_H_
