// Random inputs that a model can be run on: sizes that are consistent, indices
// that lie in the tables that they are used on, masks of 0 and 1 with padding
// at the end of rows. Deterministic: the same model and options give the same
// inputs on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/drawing/input_drawing.h"
#include "runtime/drawing/input_sizes.h"
#include "runtime/executor.h"

namespace ruleengine::runtime {

struct InputOptions {
  std::uint64_t seed = 0;
  std::map<std::string, std::int64_t> dims;  // by name
  Sizes sizes = Sizes::kDistinct;
  Integers integers = Integers::kWide;
  // Of several sets of inputs: when they have this many bytes, a set counting
  // as kSetBytes at least, no other is drawn.
  static constexpr std::size_t kSetBytes = 4096;
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
  // Of several sets of inputs: for drawing and for the runs of the model. When
  // they have passed, no other set is looked for; the first one that is tried
  // runs to its end.
  double seconds = 10;
  // Of several sets of inputs: also tiny and huge floats, masks that hide whole
  // rows, masks of other numbers and sizes of 0. Not where a rewrite rests on
  // an assumption about the values.
  bool extremes = true;
  Deadline deadline;
};

// One value for each input without a default, by name. Fails where an input is
// not a tensor, has no known rank, or is beyond `memory`; kUsage where `dims`
// names something that is not a dimension of an input.
Result<Executor::Named> random_inputs(
    const ir::Model& model, const InputOptions& options,
    const std::shared_ptr<HostMemory>& memory);

// Calls `trial` with pairs of sizes and whole numbers, in `options`, until
// it succeeds, or fails as kLimit or kUsage or with another remedy than other
// inputs. Else fails as the first call did.
Status try_inputs(InputOptions options,
                  const std::function<Status(const InputOptions&)>& trial);

// The first of them that the model runs with, or the failure of try_inputs.
Result<Executor::Named> inputs_to_run(
    Executor& executor, const ir::Model& model, const InputOptions& options,
    const std::shared_ptr<HostMemory>& memory);

}  // namespace ruleengine::runtime
