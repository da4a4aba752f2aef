// Defaults of attributes that depend on the rank of the node's first input,
// which a schema cannot express: the row of the op knows them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ir/type.h"
#include "core/ops/op_facts.h"

namespace ruleengine::ops {

// The default of the attribute `name`; none when it has no such default, or
// when the rank of `input` is unknown (nullptr: nothing is known).
std::optional<std::vector<std::int64_t>> rank_default(const OpFacts& op,
                                                      std::string_view name,
                                                      const ir::Type* input);

}  // namespace ruleengine::ops
