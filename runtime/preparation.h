// Kernels: how an op is computed, in two phases. `prepare` reads what is known
// of a node before it runs, once, and gives an Op; the Op runs as often as the
// node does. What prepare does not know stays for the run. Both throw Failure
// where the node cannot be computed; prepare may also decline a node, for which
// another kernel or the meaning of the op is then asked.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/call.h"

namespace ruleengine::runtime {

// Thrown by prepare: the kernel is not for this node.
struct Declined {
  std::string reason;
};
[[noreturn]] inline void decline(std::string reason) {
  throw Declined{std::move(reason)};
}

// The types of the values of a graph that is to run.
class ValueTypes {
 public:
  virtual ~ValueTypes() = default;
  // nullptr: not known. A file may declare what is not true, so an op checks
  // what it gets.
  virtual const ir::Type* of(ir::ValueId value) = 0;
};

// A node that is to run: its attributes, those of its inputs that are
// constants, and the types of the others. Lives until the op is prepared.
class Preparation : public Attributes {
 public:
  // `constants`: by input; nullptr for others. `types` may be nullptr. `place`:
  // where the op allocates; nullptr: on the host.
  Preparation(const ops::NodeView& node,
              std::span<const Tensor* const> constants, KernelRun& run,
              ValueTypes* types = nullptr, DeviceMemory* place = nullptr)
      : Attributes(node, run, place), constants_(constants), types_(types) {}

  bool wants(std::size_t i) const { return node_.has_output(i); }
  // The subgraph of an attribute; fails if it is missing.
  ir::BlockId block(std::string_view attribute) const;
  // In the type that the kernel computes in; nullptr where it is not known.
  // Lives as long as the op, unless the op releases it.
  const Tensor* constant(std::size_t i) const {
    return i < constants_.size() ? constants_[i] : nullptr;
  }
  // The type of an input or an output; nullptr where it is not known.
  const ir::Type* input_type(std::size_t i) const;
  const ir::Type* output_type(std::size_t i) const;
  // The op has what it needs of the constant and will only ask for its shape.
  void release(std::size_t i) const {
    if (i < 64) released_ |= std::uint64_t{1} << i;
  }
  bool is_released(std::size_t i) const {
    return i < 64 && (released_ >> i & 1) != 0;
  }

  // Whether to arrange weights for the loops: it takes as much memory as they
  // do, and pays from the second run on.
  bool arranges_weights() const { return run_.arranges_weights; }
  // Memory for that, not initialized; nullopt where there is too little, or
  // where most of it would be padding. No limit of the run counts it.
  std::optional<Tensor> arranged(const Tensor& weights, DataType dtype,
                                 Shape dims) const;

 private:
  std::span<const Tensor* const> constants_;
  ValueTypes* types_;
  mutable std::uint64_t released_ = 0;
};

// What a node does at each run. It is constant while it runs.
class Op {
 public:
  // A function of a call, with what it keeps.
  template <std::invocable<Call&> F>
  Op(F function) : body_(std::make_unique<Body<F>>(std::move(function))) {}

  void run(Call& call) const { body_->run(call); }

 private:
  struct Anything {
    virtual ~Anything() = default;
    virtual void run(Call& call) const = 0;
  };
  template <typename F>
  struct Body final : Anything {
    explicit Body(F f) : call_(std::move(f)) {}
    void run(Call& call) const override { call_(call); }
    F call_;
  };
  std::unique_ptr<const Anything> body_;
};

}  // namespace ruleengine::runtime
