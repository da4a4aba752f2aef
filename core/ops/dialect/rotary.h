// Rotary position embeddings of heads. Internal to core/ops/dialect.
#pragma once

#include <cstdint>

#include "core/ops/call_site.h"

namespace ruleengine::ops {

// Pairs of x, [B,heads,S,D], turned by the angles of their rows' positions,
// [B,S]: of the first `turned` of D numbers, or of all if that is 0.
struct Rotation {
  ir::ValueId cosines, sines, positions;
  bool is_interleaved = false;
  std::int64_t turned = 0;
};
ir::ValueId rotated(Body& body, ir::ValueId x, const Rotation& r);

// How many numbers of a head of `size` the call's input 'cos_cache' turns; 0
// for all, and where the size of that input is not known.
std::int64_t turned_by(const CallSite& call, std::int64_t size);

}  // namespace ruleengine::ops
