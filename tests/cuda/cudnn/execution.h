// Plans, as they run. Internal to tests/cuda/cudnn.
#pragma once

#include <cstdint>

#include "tests/cuda/cudnn/tensor.h"

namespace ruleengine::standin {

// Of each plan, which fills it with what is no number.
constexpr std::int64_t kWorkspaceBytes = 256;

// Throws GraphFault where a descriptor is to be final and has not what its kind
// needs.
void check_descriptor(const Descriptor& d);

// Adds the plan to the work of a stream. Throws GraphFault where the pack does
// not have what the plan needs.
void execute(void* stream, const Descriptor& plan, const Descriptor& pack);

}  // namespace ruleengine::standin
