// The bodies of the window ops in standard ops, at the opset of the Body. They
// hold for maps of every size: what of `spatial` is known only when the model
// runs is computed there. Internal to core/rewrite; nothing here fails.
#ifndef RULEENGINE_CORE_REWRITE_BODIES_WINDOW_BODY_H_
#define RULEENGINE_CORE_REWRITE_BODIES_WINDOW_BODY_H_

#include <span>

#include "core/rewrite/bodies/body.h"
#include "core/rewrite/bodies/variant.h"

namespace ruleengine::rewrite {

// Of the op that the Body is for: RelativePositionBias, SwinWindowPartition,
// SwinAttention or SwinWindowReverse.
void write_window_op(Body& body, const ir::Op& op, const WindowVariant& v,
                     std::span<const ir::Attribute> call);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_BODIES_WINDOW_BODY_H_
