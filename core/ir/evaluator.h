// Evaluator: computes one node whose inputs are constants. The kernels of the
// executor implement it (runtime/folding.h), so that a node folds to what it
// would compute when it runs. Constant data; any thread may ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/ir/attribute.h"
#include "core/ir/literal.h"
#include "core/ir/op.h"

namespace ruleengine::ir {

// A node by itself. It borrows what it points to.
struct Computation {
  Op op;
  std::int64_t opset = 0;  // of the standard, at which the node is written
  std::span<const Attribute> attributes;   // without subgraphs or references
  std::span<const Literal* const> inputs;  // nullptr: an empty slot
  std::size_t outputs = 1;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Whether it computes nodes of this op; the values may still be beyond it.
  virtual bool knows(const Op& op) const = 0;

  // Calls `give` with each output by its index, in order: a tensor with raw
  // bytes, which are valid until `give` returns, or as long as the inputs and
  // `owner` are. An error, without a call of `give`: inputs that the op
  // rejects, values for which runtimes give different results, or results that
  // take more than `limit` bytes to compute.
  using Give = std::function<void(std::size_t output, const Literal& tensor,
                                  const std::shared_ptr<const void>& owner)>;
  virtual Status evaluate(const Computation& what, ExternalData* external,
                          std::size_t limit, const Give& give) const = 0;
};

}  // namespace ruleengine::ir
