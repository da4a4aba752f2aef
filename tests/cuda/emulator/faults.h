// The arguments of the kernels in faults.cu.
#pragma once

namespace ruleengine::emulator {

struct FaultArgs {
  const float* in;  // one value for each thread
  float* out;       // the same
};

}  // namespace ruleengine::emulator
