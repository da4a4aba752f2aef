// Maps and their windows, as the meanings of window ops write them. Internal to
// core/ops/dialect.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/ops/call_site.h"

namespace ruleengine::ops {

inline constexpr std::int64_t kNoShift[] = {0, 0};

using Pair = std::array<std::int64_t, 2>;

// Two numbers, none of which is below `least`.
Pair pair_of(const CallSite& call, std::string_view attribute,
             std::int64_t least);

// The sides of the windows, 'window_size' of a call.
struct Windows {
  explicit Windows(const CallSite& call);

  const Pair side;
  const std::int64_t positions;  // that a window has
};
ir::ValueId list_of(Body& body, const Pair& pair, std::string_view name);

// x in the shape that these lists give one after another.
ir::ValueId reshaped_to(Body& body, ir::ValueId x, Body::Values lists,
                        std::string_view name);
// 0, 1, ... below an entry of a list.
ir::ValueId places_below(Body& body, ir::ValueId sizes, std::int64_t axis);

// What `spatial` says of a map; `shift` is the effective one.
struct Spatial {
  ir::ValueId batch, size, padded, shift;
};
// Refuses what is known to be no map of such windows.
Spatial read_spatial(Body& body, const Windows& windows, ir::ValueId spatial);

// False where the map is known not to be rolled: `spatial` is known, or the
// partition that computes it has no shift.
bool is_rolled(const CallSite& call, ir::ValueId spatial);

}  // namespace ruleengine::ops
