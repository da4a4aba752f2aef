// The kernels of the CPU: a row for each op that has one, and what it says of
// the types that the kernel computes in. Internal to kernels/cpu.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/preparation.h"

namespace ruleengine::kernels {

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
  using Run = void (*)(runtime::Call&);
  using Prepare = runtime::Op (*)(const runtime::Preparation&);

  // `domain`: "" for the standard one.
  constexpr Kernel(std::string_view d, std::string_view t, Prepare p,
                   Adapt a = Adapt::kNone)
      : domain(d), type(t), adapt(a), prepare_(p) {}
  // An op that has nothing to prepare.
  constexpr Kernel(std::string_view d, std::string_view t, Run r,
                   Adapt a = Adapt::kNone)
      : domain(d), type(t), adapt(a), run_(r) {}

  runtime::Op prepare(const runtime::Preparation& node) const {
    return prepare_ != nullptr ? prepare_(node) : runtime::Op(run_);
  }

  std::string_view domain, type;
  Adapt adapt;

 private:
  Prepare prepare_ = nullptr;
  Run run_ = nullptr;
};

}  // namespace ruleengine::kernels
