// Plans as text, as cuDNN writes and reads them. Internal to tests/cuda/cudnn.
#pragma once

#include <string>
#include <string_view>

#include "tests/cuda/cudnn/descriptor.h"

namespace ruleengine::standin {

// JSON of a descriptor and all of its parts, without addresses.
std::string saved(const Descriptor& d);
// Throws GraphFault where the text is not that of one.
Part restored(std::string_view text);

}  // namespace ruleengine::standin
