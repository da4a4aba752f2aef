// Random inputs that a model can be run on: sizes that are consistent, indices
// that lie in the tables that they are used on, masks of 0 and 1 with padding
// at the end of rows. Deterministic: the same model and options give the same
// inputs on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "runtime/drawing/input_drawing.h"
#include "runtime/drawing/input_sizes.h"
#include "runtime/drawing/input_uses.h"
#include "runtime/executor.h"

namespace ruleengine::runtime {

struct InputOptions {
  std::uint64_t seed = 0;
  std::map<std::string, std::int64_t> dims;  // by name
  Sizes sizes = Sizes::kDistinct;
  Integers integers = Integers::kWide;
  Deadline deadline;
};

// Draws for one model, and keeps what it found out about it. The model must
// outlive it and not change.
class InputSource {
 public:
  InputSource(const ir::Model& model,
              const std::map<std::string, std::int64_t>& dims);
  ~InputSource();

  // A copy with the same ids, in which facts are stored.
  ir::Model& model() const { return *copy_; }
  ir::Facts& facts() const { return *facts_; }
  InputSizes& sizes() { return sizes_; }
  const std::vector<InputUse>& uses();  // by input

  // Sizes that the ops of the model demand: InputSizes::solve.
  SizeOf solved(std::size_t round, const SizeOf& fixed = {},
                ir::Dim zero = ir::Dim());

  // Values of the main graph whose shapes or elements say what inputs may be,
  // and are not known at these sizes.
  std::vector<ir::ValueId> open(const SizeOf& sizes);
  // What such values are in a run at the sizes that domains() is asked for
  // next; replaces what was learned before.
  void learn(std::map<ir::ValueId, Tensor> values) {
    learned_ = std::move(values);
  }

  std::vector<Domain> domains(const SizeOf& sizes);
  Result<Executor::Named> draw(const SizeOf& sizes, const Drawn& how,
                               const std::shared_ptr<Memory>& memory);

 private:
  std::optional<std::int64_t> size_of(const TableUse& table,
                                      const SizeOf& sizes);
  Domain domain(const InputUse& use, const SizeOf& sizes);

  std::shared_ptr<ir::Model> copy_;
  std::unique_ptr<ir::Facts> facts_;
  InputSizes sizes_;
  std::vector<InputUse> uses_;
  bool has_uses_ = false, has_demands_ = false;
  std::map<ir::ValueId, Tensor> learned_;
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
