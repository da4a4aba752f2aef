// Random inputs that a model can be run on: sizes that are consistent, indices
// that lie in the tables that they are used on, masks of 0 and 1 with padding
// at the end of rows. Deterministic: the same model and options give the same
// inputs on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/executor.h"

namespace ruleengine::runtime {

// Sizes of the named dimensions that the caller did not set.
enum class Sizes : std::uint8_t {
  kDistinct,  // 2, 3, 5, ... in the order in which they occur
  kEqual,     // 4 each
  // As decoders with a cache of keys and values have them, by place: batch 2,
  // 3 new tokens, 5 cached ones (axis 2 of four), 8 in the mask over both.
  kCache,
  kLong,  // 512 each, the first axis 1
  kOne,
  kZero,
};

// Whole numbers that index no table.
enum class Integers : std::uint8_t {
  kWide,   // -3 to 6
  kSmall,  // 0 to 3
  kBits,   // 0 or 1
  kOnes,
};

// Floats: random around 0, or values that overflow or vanish easily. `kHidden`
// are ordinary floats with masks that hide whole rows.
enum class Floats : std::uint8_t { kNormal, kLarge, kTiny, kHidden };

struct InputOptions {
  std::uint64_t seed = 0;
  std::map<std::string, std::int64_t> dims;  // by name
  Sizes sizes = Sizes::kDistinct;
  Integers integers = Integers::kWide;
  Floats floats = Floats::kNormal;
  Deadline deadline;
};

// One value for each input without a default, by name. Fails where an input is
// not a tensor, has no known rank, or is beyond `memory`; kUsage where `dims`
// names something that is not a dimension of an input.
Result<Executor::Named> random_inputs(const ir::Model& model,
                                      const InputOptions& options,
                                      const std::shared_ptr<Memory>& memory);

// Sizes and whole numbers to try, the likeliest first.
inline constexpr Sizes kSizesToTry[] = {
    Sizes::kDistinct, Sizes::kCache, Sizes::kEqual, Sizes::kOne, Sizes::kLong};
inline constexpr Integers kIntegersToTry[] = {Integers::kWide, Integers::kSmall,
                                              Integers::kBits, Integers::kOnes};

// Calls `trial` with each pair of sizes and whole numbers, in `options`, until
// it succeeds, or fails as kLimit or kUsage or with another remedy than other
// inputs. Else fails as the first call did.
Status try_inputs(InputOptions options,
                  const std::function<Status(const InputOptions&)>& trial);

// The first of them that the model runs with, or the failure of try_inputs.
Result<Executor::Named> inputs_to_run(Executor& executor,
                                      const ir::Model& model,
                                      const InputOptions& options,
                                      const std::shared_ptr<Memory>& memory);

}  // namespace ruleengine::runtime
