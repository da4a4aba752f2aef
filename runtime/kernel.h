// Kernels: how an op is computed, in two phases. `prepare` reads what is known
// of a node before it runs, once, and gives an Op; the Op runs as often as the
// node does. What prepare does not know stays for the run. Both throw Failure
// where the node cannot be computed.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/call.h"

namespace ruleengine::runtime {

// A node that is to run: its attributes, and those of its inputs that are
// constants. Lives until the op is prepared.
class Preparation : public Attributes {
 public:
  // `constants`: by input; nullptr for others.
  Preparation(const ops::NodeView& node,
              std::span<const Tensor* const> constants, KernelRun& run)
      : Attributes(node, run), constants_(constants) {}

  bool wants(std::size_t i) const { return node_.has_output(i); }
  // The subgraph of an attribute; fails if it is missing.
  ir::BlockId block(std::string_view attribute) const;
  // In the type that the kernel computes in; nullptr where it is not known.
  // Lives as long as the op, unless the op releases it.
  const Tensor* constant(std::size_t i) const {
    return i < constants_.size() ? constants_[i] : nullptr;
  }
  // The op has what it needs of the constant and will only ask for its shape.
  void release(std::size_t i) const { released_ |= std::uint64_t{1} << i; }
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

// What becomes of inputs of types that a kernel does not compute in.
enum class Adapt : std::uint8_t {
  kNone,  // the kernel takes inputs as they are
  // float16, bfloat16 and narrower become float before, and outputs of the same
  // type parameter are rounded back after.
  kWiden,
  // Elements below a byte become a byte each before, and are packed again
  // after: for kernels that move elements.
  kUnpack,
};

struct Kernel {
  using Run = void (*)(Call&);
  using Prepare = Op (*)(const Preparation&);

  // `domain`: "" for the standard one.
  constexpr Kernel(std::string_view d, std::string_view t, Prepare p,
                   Adapt a = Adapt::kNone)
      : domain(d), type(t), adapt(a), prepare_(p) {}
  // An op that has nothing to prepare.
  constexpr Kernel(std::string_view d, std::string_view t, Run r,
                   Adapt a = Adapt::kNone)
      : domain(d), type(t), adapt(a), run_(r) {}

  Op prepare(const Preparation& node) const {
    return prepare_ != nullptr ? prepare_(node) : Op(run_);
  }

  std::string_view domain, type;
  Adapt adapt;

 private:
  Prepare prepare_ = nullptr;
  Run run_ = nullptr;
};

// nullptr where there is no kernel. A version of an op that the newest one
// cannot express has a row of its own, such as "Scan-8".
using FindKernel = const Kernel* (*)(std::string_view domain,
                                     std::string_view type);

}  // namespace ruleengine::runtime
