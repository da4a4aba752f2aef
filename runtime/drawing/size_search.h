// The search for sizes that fulfil what ops demand: linear equations are
// solved, and the sizes that they leave free are changed until the other
// demands hold. Internal to runtime/drawing/input_sizes.cc. Deterministic.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "runtime/drawing/input_demands.h"
#include "runtime/drawing/input_drawing.h"

namespace ruleengine::runtime {

// Linear equations, solved one after the other: some leaves as lines of others.
// Borrows its arguments.
class SizeLines {
 public:
  // `fixed`: leaves whose sizes are given; `leaves`: all that have sizes.
  SizeLines(const ir::DimTable& dims, const SizeOf& fixed,
            const std::vector<ir::Dim>& leaves)
      : dims_(dims), fixed_(fixed), leaves_(leaves) {}

  // That `difference` is 0. False where it is not linear, or has no leaf that
  // can be solved for.
  bool add(ir::Dim difference);
  bool is_solved(ir::Dim leaf) const { return solved_.contains(leaf); }
  // The sizes of all leaves from those that are free; -1 where one is below 0.
  SizeOf complete(const SizeOf& free) const;
  // The free leaves that `d` depends on.
  void free_of(ir::Dim d, std::set<ir::Dim>& out) const;

 private:
  // A sum of leaves and 1 (under the key Dim()), each with a factor.
  using Line = std::map<ir::Dim, double>;
  std::optional<Line> line_of(ir::Dim d) const;
  void reduce(Line& line) const;
  static void replace(Line& line, ir::Dim leaf, const Line& by);

  const ir::DimTable& dims_;
  const SizeOf& fixed_;
  const std::vector<ir::Dim>& leaves_;
  std::map<ir::Dim, Line> solved_;
};

// Sizes of all leaves on which as many demands hold as can be. `start` has one
// for each free leaf.
SizeOf search_sizes(const ir::DimTable& dims, const SizeOf& fixed,
                    const SizeLines& lines, const std::vector<SizeDemand>& rest,
                    const SizeOf& start);

}  // namespace ruleengine::runtime
