// The ops that the engine knows besides the standard's, and the classes of ops
// that patterns name.
#pragma once

#include "core/ops/op_family.h"
#include "core/ops/row_text.h"

namespace ruleengine::api {

using ops::all_rows, ops::has_text, ops::op_classes, ops::signature;
using ops::OpClass, ops::OpName, ops::OpRow;

}  // namespace ruleengine::api
