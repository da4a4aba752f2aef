// Layout: how a value is distributed over the ranks that run one program
// together. A model with collectives is the program of one rank; all ranks run
// the same program on values of their own.
#ifndef RULEENGINE_CORE_IR_LAYOUT_H_
#define RULEENGINE_CORE_IR_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <span>

namespace ruleengine::ir {

enum class Placement : std::uint8_t {
  kReplicated,  // all ranks of the group have the same value
  kSharded,     // each rank has an equal part along `axis`, in group order
};

struct Layout {
  Placement placement = Placement::kReplicated;
  int axis = 0;                         // of kSharded, from the front
  std::span<const std::int64_t> group;  // lives as long as the Model

  bool operator==(const Layout& other) const {
    return placement == other.placement && axis == other.axis &&
           std::ranges::equal(group, other.group);
  }
};

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_LAYOUT_H_
