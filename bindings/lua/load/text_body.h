// The body of an op as the text of a function (core/text/parse.h).
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/engine/op_bodies.h"
#include "core/ir/op.h"

namespace ruleengine::lua {

// Fails, with kind kRule, for a text that is wrong by itself.
Result<std::unique_ptr<engine::OpBody>> body_of_text(const ir::Op& op,
                                                     std::string text,
                                                     std::string place);

}  // namespace ruleengine::lua
