// Converts a node that a rule built in newest-opset form to the opset of the
// graph. Internal to core/rewrite.
#pragma once

#include <optional>

#include "core/rewrite/edit.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {

// Changes `spec` in place; a rejection if that opset cannot express it.
std::optional<Rejection> to_older_form(EditState& state, NodeSpec& spec);

}  // namespace ruleengine::rewrite
