// Facts: what is known about values beyond the graph's own lines: their
// inferred types, the constants they fold to, how they
// lie on the ranks of a group. The matcher, rules and checks
// ask through this interface; core/analysis implements it lazily and
// incrementally. Answers stay valid until the value's producer (or anything
// above it) is edited; pointers live as long as the Model.
#ifndef RULEENGINE_CORE_IR_FACTS_H_
#define RULEENGINE_CORE_IR_FACTS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/layout.h"

namespace ruleengine::ir {

class Facts {
 public:
  virtual ~Facts() = default;

  // The declared type merged with the inferred one; nullptr when nothing is
  // known. Unknown axes of a known rank are fresh Dims.
  virtual const Type* type(ValueId value) = 0;

  // Is `value` constant: an initializer, a Constant node, or something that
  // folds from constants? Then constant() gives it. Cheap: large data is not
  // read and not computed.
  virtual bool is_constant(ValueId value) = 0;

  // The constant itself; nullptr when not constant, or when it is too large to
  // fold by computing (stored tensors are never too large).
  virtual const Tensor* constant(ValueId value) = 0;

  // Elements of a small integer tensor as dimensions, symbolic ones included:
  // for Concat(Shape(x)[0], [-1], [64]) gives {B, -1, 64}. Empty optional when
  // it is not known element by element. A scalar has one element.
  virtual std::optional<std::span<const Dim>> dims_of(ValueId value) = 0;

  // How the value lies on the ranks of a group, as far as collectives say;
  // none: each rank has a value of its own, for all we know. So it may with
  // inputs and with constants, which are weights of that rank.
  virtual std::optional<Layout> layout(ValueId) { return std::nullopt; }

  // Forget what was inferred about outputs of `node`, and of everything below
  // that was derived from it.
  virtual void invalidate(NodeId node) = 0;

  // Why no runtime would take `node`, whose inputs contradict its op; none when
  // nothing is known against it. For new nodes: files are read as they are.
  virtual std::optional<std::string> refusal(NodeId) { return std::nullopt; }

  // What is declared of `value` and what was inferred of it, as text, where the
  // two contradict each other as far as was asked; neither is a fact then.
  virtual std::optional<std::string> contradiction(ValueId) {
    return std::nullopt;
  }
  virtual bool has_contradictions() { return false; }
  // Whether some size is declared inside as a number and varies with the inputs.
  virtual bool has_stale_sizes() { return false; }

  // What there is to say to the user since the last call, such as
  // contradictions between declared and inferred types; each once.
  virtual std::vector<std::string> take_warnings() = 0;
};

// Where nothing is known, and nobody asks.
class NoFacts final : public Facts {
 public:
  const Type* type(ValueId) override { return nullptr; }
  bool is_constant(ValueId) override { return false; }
  const Tensor* constant(ValueId) override { return nullptr; }
  std::optional<std::span<const Dim>> dims_of(ValueId) override {
    return std::nullopt;
  }
  void invalidate(NodeId) override {}
  std::vector<std::string> take_warnings() override { return {}; }
};

}  // namespace ruleengine::ir

#endif  // RULEENGINE_CORE_IR_FACTS_H_
