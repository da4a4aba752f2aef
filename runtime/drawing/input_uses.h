// What a graph does with the elements of an input, as far as it shows: the
// tables that they index, the numbers that they are compared with, whether they
// are masks, sizes or numbers. Elements are followed through ops that move them
// or compute a line a * x + b of them, into bodies and functions. Nothing here
// fails: what is not understood is a number. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ir/facts.h"
#include "core/ir/model.h"

namespace ruleengine::runtime {

// Whether an op of the standard compares numbers.
bool is_comparison(std::string_view type);

// scale * x + shift, of an element x of an input.
struct Line {
  double scale = 1, shift = 0;

  // The x for which it is `y`.
  double inverse(double y) const { return (y - shift) / scale; }
};

// Elements that index a table.
struct TableUse {
  ir::ValueId data;  // of the main graph; invalid where `size` says all
  // The smallest size of these axes counts; the first one counts from the end
  // where it is negative; a count of 0 stands for all that follow.
  std::int64_t axis = 0, axes = 1;
  std::optional<std::int64_t> size;
  bool takes_negative = false;  // counted from the end of the axis
  Line line;
};

// Elements that are compared with a value of the main graph.
struct Meeting {
  ir::ValueId other;
  Line line;
};

struct InputUse {
  std::vector<TableUse> tables;
  std::vector<double> met;  // numbers at which some result changes
  std::vector<Meeting> meetings;
  bool is_mask = false;    // surely: a condition, or 1 - x
  bool hides = false;      // 1 hides, where 0 does for other masks
  bool is_pooled = false;  // multiplies other values, so perhaps a mask
  bool is_number = false;
  bool is_size = false;  // of a shape, or a count
};

// The use of `input`, an input of the main graph of `model`. `facts` are those
// of the main graph.
InputUse use_of(const ir::Model& model, ir::Facts& facts, ir::ValueId input);

}  // namespace ruleengine::runtime
