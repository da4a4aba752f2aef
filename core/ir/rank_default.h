// Defaults of attributes that depend on the rank of the node's first input, so
// that no schema can say them. The one place that knows them. Pure.
#ifndef RULEENGINE_CORE_IR_RANK_DEFAULT_H_
#define RULEENGINE_CORE_IR_RANK_DEFAULT_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ir/op_facts.h"
#include "core/ir/type.h"

namespace ruleengine::ir {

// What stands for the attribute `name` where it is not written; none: it has no
// such default, or the rank of `input` (nullptr: nothing is known) is not
// known.
std::optional<std::vector<std::int64_t>> rank_default(const OpFacts& op,
                                                      std::string_view name,
                                                      const Type* input);

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_RANK_DEFAULT_H_
