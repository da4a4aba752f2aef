// Random tensors for the inputs of a model, of given sizes and from given
// domains. Deterministic: the same arguments give the same tensors on every
// machine; each input has numbers of its own, whatever the others are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/drawing/sizes_at.h"
#include "runtime/executor.h"

namespace ruleengine::runtime {

// How far whole numbers reach. Each is more careful than the one before.
enum class Integers : std::uint8_t {
  kHuge,      // as kAnywhere, and up to the ends of their type; sizes to 12
  kAnywhere,  // as kWide; indices also count from the end
  kWide,      // -3 to 6; indices into all of a table
  kSmall,     // 0 to 3
  kBits,      // 0 or 1
  kOnes,      // 1; indices are 0
};

// What the elements of an input may be.
struct Domain {
  // Of indices: the first and the last; `last` is -1 where no table is indexed.
  std::int64_t first = 0, last = -1;
  bool is_guess = false;    // the size of the table is not known
  std::vector<double> met;  // numbers at which some result changes
  bool is_mask = false;
  bool hides = false;      // a mask of which 1 hides
  bool is_number = false;  // beside a mask
  bool is_size = false;

  bool has_table() const { return last >= 0; }
};

enum class Signs : std::uint8_t { kAny, kPositive, kUnit };

struct Drawn {
  std::uint64_t seed = 0;
  Integers integers = Integers::kWide;
  double scale = 1, center = 0;  // of floats
  Signs signs = Signs::kAny;
  bool hides_rows = false;  // masks hide every other row
  // Masks show the first of each row, so that no row is hidden by several.
  bool shows_first = false;
  bool numbers_for_masks = false;  // where an input is also a number
  bool numbers_for_all = false;    // also where it is a mask alone
  bool far = false;                // whole numbers also far from 0
  bool ends = false;               // the first elements are the ends of a table
  bool meets = false;              // floats at all numbers that they meet
  // The first floats are 0, whole, halfway between whole numbers, and the same.
  // Not all: results of exact numbers hardly move by noise.
  bool exact = false;
  bool specials = false;  // some floats are infinite or NaN
  // From 1: the first elements are, in turn, each number that they meet and
  // those beside it. Where elements are few, more turns show all of them.
  std::size_t turn = 0;
  bool same = false;  // all elements of a tensor are the same
  Deadline deadline;
};

// Of the inputs of a model.
struct InputPlan {
  const ir::Model& model;
  const SizeOf& sizes;
  const std::vector<Domain>& domains;     // one for each input
  const std::vector<std::string>& words;  // strings that the model knows
};

// One value for each input without a default, by name. Fails where an input is
// not a tensor, has no known rank, or is beyond `memory`.
Result<Executor::Named> draw_inputs(const InputPlan& plan, const Drawn& how,
                                    const std::shared_ptr<HostMemory>& memory);

}  // namespace ruleengine::runtime
