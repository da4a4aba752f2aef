// The bodies of attention in standard ops, at the opset of the Body. Internal
// to core/rewrite; nothing here fails.
#ifndef RULEENGINE_CORE_REWRITE_BODIES_ATTENTION_BODY_H_
#define RULEENGINE_CORE_REWRITE_BODIES_ATTENTION_BODY_H_

#include <span>
#include <string_view>

#include "core/rewrite/bodies/body.h"
#include "core/rewrite/bodies/variant.h"

namespace ruleengine::rewrite {

struct AttentionInputs {
  ir::ValueId q, k, v, mask;  // the mask is invalid where the variant has none
};

// softmax(cap(q k^T * scale) + causal + mask) v, part of a longer body.
ir::ValueId attend(Body& body, const AttentionVariant& v,
                   const AttentionInputs& in, std::string_view result);

// All of a body, with the names that the op's inputs and its output have.
void write_attention(Body& body, const AttentionVariant& v,
                     std::span<const std::string_view> formals,
                     std::string_view result,
                     std::span<const ir::Attribute> call);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_BODIES_ATTENTION_BODY_H_
