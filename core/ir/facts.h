// Facts: what is known about values beyond what the graph states: their
// inferred types, the constants they fold to, and their layout on the ranks of
// a group. The matcher, rules and checks ask through this interface;
// core/analysis implements it lazily and incrementally. Answers stay valid
// until the value's producer (or anything above it) is edited; pointers live as
// long as the Model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace ruleengine::ranks {
struct Layout;  // core/ranks/layout.h; only handed on here
}

namespace ruleengine::ir {

class Facts {
 public:
  virtual ~Facts() = default;

  // The declared type merged with the inferred one; nullptr when nothing is
  // known. Unknown axes of a known rank are fresh Dims.
  virtual const Type* type(ValueId value) = 0;

  // Is `value` constant: an initializer, a Constant node, or something that
  // folds from constants? If so, constant() returns it. Cheap: large data is
  // neither read nor computed.
  virtual bool is_constant(ValueId value) = 0;

  // The constant itself; nullptr when not constant, or when it is too large to
  // fold by computing (stored tensors are never too large).
  virtual const Literal* constant(ValueId value) = 0;

  // Whether two sizes are the same: equal expressions, or both declared or
  // inferred for the same axis of some value.
  virtual bool is_same_size(Dim a, Dim b) { return a == b; }

  // Elements of a small integer tensor as dimensions, symbolic ones included:
  // Concat(Shape(x)[0], [-1], [64]) gives {B, -1, 64}. None when some element
  // is not known. A scalar has one element.
  virtual std::optional<std::span<const Dim>> dims_of(ValueId value) = 0;

  // How the value lies on the ranks that run the graph together, proven or
  // assumed; nullptr: each rank may have a different value. It lives as long as
  // the Model.
  virtual const ranks::Layout* layout(ValueId) { return nullptr; }

  // Forget what was inferred about outputs of `node`, and of everything below
  // that was derived from it.
  virtual void invalidate(NodeId node) = 0;

  // Why every runtime would reject `node` (its inputs contradict its op); none
  // when no reason is known. For new nodes only: nodes of a file are accepted
  // as they are.
  virtual std::optional<std::string> refusal(NodeId) { return std::nullopt; }

  // The declared and the inferred type of `value`, as text, where they
  // contradict each other in the part that was asked for. Neither of them is
  // then a fact.
  virtual std::optional<std::string> contradiction(ValueId) {
    return std::nullopt;
  }
  virtual bool has_contradictions() { return false; }
  // Whether some inner size is declared as a number but varies with the inputs.
  virtual bool has_stale_sizes() { return false; }

  // A node whose type is wrong for some sizes of 0 that the model runs on, and
  // what must hold for it to be right.
  struct Doubt {
    NodeId node;
    std::string_view unless;
  };
  // One that some of `values` depend on.
  virtual std::optional<Doubt> doubt(std::span<const ValueId>) {
    return std::nullopt;
  }
  // Finds out about doubts. To call before the first edit.
  virtual void settle_doubts() {}

  // Warnings for the user since the last call, such as contradictions between
  // declared and inferred types; each is given once.
  virtual std::vector<std::string> take_warnings() = 0;
};

// For use where nothing is known or needed.
class NoFacts final : public Facts {
 public:
  const Type* type(ValueId) override { return nullptr; }
  bool is_constant(ValueId) override { return false; }
  const Literal* constant(ValueId) override { return nullptr; }
  std::optional<std::span<const Dim>> dims_of(ValueId) override {
    return std::nullopt;
  }
  void invalidate(NodeId) override {}
  std::vector<std::string> take_warnings() override { return {}; }
};

// Text that describes a value to a reader: "'scores' float[2,H,S,T]".
std::string describe(const Graph& graph, Facts& facts, ValueId value);

}  // namespace ruleengine::ir
