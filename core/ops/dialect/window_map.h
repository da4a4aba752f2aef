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

// Writes pieces of arithmetic with lists of sizes.
class Windows {
 public:
  explicit Windows(const CallSite& call);

  const Pair& side() const { return side_; }
  // How many positions a window has.
  std::int64_t positions() const { return side_[0] * side_[1]; }

  // Two numbers, none of which is below `least`.
  Pair pair(std::string_view attribute, std::int64_t least) const;

  ir::ValueId side_list() const;
  // Entries [from, to) of a list of integers.
  ir::ValueId part(ir::ValueId list, std::int64_t from, std::int64_t to,
                   std::string_view name) const;
  ir::ValueId join(Body::Values lists, std::string_view name) const;
  ir::ValueId reshape(ir::ValueId x, Body::Values sizes,
                      std::string_view name) const;
  ir::ValueId transpose(ir::ValueId x, const std::vector<std::int64_t>& perm,
                        std::string_view name) const;
  // 0, 1, ... below an entry of a list.
  ir::ValueId places(ir::ValueId sizes, std::int64_t axis) const;

 private:
  const CallSite& call_;
  Body& body_;
  Pair side_;
};

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
