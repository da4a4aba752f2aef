// What running a model costs, by the rows of its ops (core/ops/op_row.h): a
// measure of what a rewrite is worth, not of time.
#pragma once

#include <cstdint>

#include "core/ir/model.h"
#include "core/ops/sized_node.h"

namespace ruleengine::analysis {

struct Cost {
  double bytes = 0;     // that nodes read and write, weights as well
  double products = 0;  // multiply-adds of matrices, convolutions, attention
  std::uint64_t unknown = 0;  // nodes left out, since a shape is unknown
};

// Counts bodies of If, Loop and Scan once, those of functions for each call;
// the call of an op that has a row costs what the op does. What folds from
// constants costs nothing.
Cost cost_of(ir::Model& model, ops::Sizes& sizes);

}  // namespace ruleengine::analysis
