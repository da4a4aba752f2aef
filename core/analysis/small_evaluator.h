// SmallEvaluator: folds what real exports compute from shapes and constants:
// data movement, arithmetic, comparisons, casts and reductions, on at most
// `limit` elements, far fewer where they come out of nothing. Larger stored
// constants fold only where nothing is computed: as views (Reshape and its kin)
// and lazily (Transpose, Concat). Sizes and indices from the model are checked
// before anything is allocated; whatever is out of bounds is refused. Results
// live in the Model's arena.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/analysis/evaluator.h"
#include "core/base/arena.h"

namespace ruleengine::analysis {

class SmallEvaluator final : public Evaluator {
 public:
  explicit SmallEvaluator(std::int64_t limit = 1 << 22) : limit_(limit) {}

  bool can_evaluate(const ir::Graph& graph, ir::NodeId node) const override;
  Result<std::vector<const ir::Literal*>> evaluate(
      ir::Graph& graph, ir::NodeId node,
      std::span<const ir::Literal* const> inputs) override;

  void set_limit(std::int64_t limit) { limit_ = limit; }
  // How many elements an op may have that computes them.
  std::int64_t limit_of(const ir::Op& op) const;

  // For functions of models with other imports than the model's.
  void set_opset(std::int64_t opset) { opset_ = opset; }

  // A tensor of an integer type or bool.
  const ir::Literal* make_ints(Arena& arena, ir::DataType dtype,
                               std::span<const std::int64_t> dims,
                               std::span<const std::int64_t> values) const;

 private:
  std::int64_t limit_;
  std::int64_t opset_ = 0;  // 0: the model's
};

}  // namespace ruleengine::analysis
