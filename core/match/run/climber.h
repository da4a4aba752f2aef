// Climber: goes from bound values up through their readers, to the values that
// may match a later result or a condition. Takes time linear in the readers on
// the way. Lives for one search.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "core/match/compile/code.h"
#include "core/match/run/readers.h"
#include "core/ops/newest_nodes.h"

namespace ruleengine::match {

// Whether a node that reads a value at these slots is one step up, as `row`
// says.
bool climbs(const Climb::Row& row, const Reader& reader, bool upgraded);

class Climber {
 public:
  // `get` reads a register.
  Climber(const Climb& climb, const ir::Graph& graph, ops::NewestNodes& view,
          Readers& readers, std::function<std::uint32_t(Reg)> get);

  // Unordered, perhaps with duplicates.
  std::vector<ir::ValueId> run();

 private:
  using Values = std::vector<ir::ValueId>;

  const Values& values(std::uint32_t row);
  Values work_out(const Climb::Row& row);
  Values up(const Climb::Row& row);
  Values chain(const Climb::Row& row);

  const Climb& climb_;
  const ir::Graph& graph_;
  ops::NewestNodes& view_;
  Readers& readers_;
  std::function<std::uint32_t(Reg)> get_;
  std::vector<Values> values_;  // by row
  std::vector<bool> known_;
  std::array<ir::ValueId, pattern::kMaxChainNesting> holes_;
};

}  // namespace ruleengine::match
