// The key of a cut. Internal to core/rewrite/region.
#pragma once

#include "core/rewrite/cut.h"

namespace ruleengine::rewrite {

// Sets the key of a cut, and whether both sides are the same.
void write_key(const Region& region, Cut& cut);

}  // namespace ruleengine::rewrite
