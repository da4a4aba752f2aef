// Sizes for the named dimensions of a model's inputs, on which the model may
// run: the equations that its ops demand (broadcasts, products, joints and
// constant shapes) are solved, and what they leave free gets small sizes.
// Equations that contradict earlier ones are left out. Deterministic. Borrows
// the model and its facts; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "runtime/drawing/input_demands.h"
#include "runtime/drawing/input_drawing.h"

namespace ruleengine::runtime {

// Sizes by guess, for models whose equations do not say enough.
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

class InputSizes {
 public:
  // `facts`: of the main graph; `given`: sizes by name.
  InputSizes(ir::Model& model, ir::Facts& facts,
             const std::map<std::string, std::int64_t>& given);

  // kUsage where a given name is not a dimension of an input.
  Status check() const;
  // Whether some size is free.
  bool has_names() const { return !leaves_.empty(); }
  // The dimensions of inputs that stand for themselves, in order.
  const std::vector<ir::Dim>& leaves() const { return leaves_; }

  SizeOf guess(Sizes sizes) const;

  // Sizes that fulfil as many demands as can be, with those of `fixed`, and on
  // which `zero` is 0. Each round has others, where the demands leave a choice.
  static constexpr std::size_t kLarge = 100;  // a round of sizes from 33 on
  SizeOf solve(std::size_t round, const SizeOf& fixed = {},
               ir::Dim zero = ir::Dim());
  // Expressions that are 0 at these sizes, each a leaf less the sum of two
  // others: what may hold for all sizes that the model runs on.
  std::vector<ir::Dim> sums(const SizeOf& at);

  std::map<std::string, std::int64_t> named(const SizeOf& sizes) const;

 private:
  void note_places(const ir::Type& type);
  SizeOf fixed_sizes(const SizeOf& fixed) const;

  ir::Model& model_;
  ir::Facts& facts_;
  std::map<std::string, std::int64_t> given_;
  std::vector<ir::Dim> leaves_;  // in the order in which they occur
  std::map<ir::Dim, std::int64_t> cache_places_, long_places_;
  bool has_tokens_ = false;
  std::optional<std::vector<SizeDemand>> demands_;  // once they are needed
};

}  // namespace ruleengine::runtime
