// Kernels with one fault each, which the emulator has to find.
#include "tests/cuda/emulator/faults.h"

#include "kernels/cuda/device/device.h"

namespace ruleengine::emulator {

using kernels::device::copy_later;
using kernels::device::load_pack;
using kernels::device::Pack;

RULEENGINE_KERNEL(good_sum, FaultArgs, 256) {
  RULEENGINE_SHARED(float, values, 256);
  values[threadIdx.x] = args.in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) sum += values[i];
  args.out[threadIdx.x] = sum;
}

RULEENGINE_KERNEL(no_barrier, FaultArgs, 256) {
  RULEENGINE_SHARED(float, values, 256);
  values[threadIdx.x] = args.in[threadIdx.x];
  args.out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

RULEENGINE_KERNEL(divergent_barrier, FaultArgs, 256) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  args.out[threadIdx.x] = 0;
}

RULEENGINE_KERNEL(barrier_after_exit, FaultArgs, 256) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  args.out[threadIdx.x] = 0;
}

RULEENGINE_KERNEL(partial_shuffle, FaultArgs, 256) {
  if (threadIdx.x % 32 >= 16) return;
  args.out[threadIdx.x] = __shfl_xor_sync(0xffffffff, args.in[threadIdx.x], 1);
}

RULEENGINE_KERNEL(lane_outside_mask, FaultArgs, 256) {
  if (threadIdx.x % 32 >= 16) return;
  args.out[threadIdx.x] = __shfl_xor_sync(0xffff, args.in[threadIdx.x], 16);
}

RULEENGINE_KERNEL(wrong_masks, FaultArgs, 256) {
  const unsigned mask = threadIdx.x % 2 == 0 ? 0xffffffff : 0xbfffffff;
  args.out[threadIdx.x] = __shfl_xor_sync(mask, args.in[threadIdx.x], 1);
}

RULEENGINE_KERNEL(lane_waits_for_barrier, FaultArgs, 256) {
  if (threadIdx.x % 32 == 0) {
    __syncthreads();
  } else {
    __syncwarp();
  }
  args.out[threadIdx.x] = 0;
}

RULEENGINE_KERNEL(misaligned_vector, FaultArgs, 256) {
  const Pack<float, 4> pack = load_pack<float, 4>(args.in + 1);
  args.out[threadIdx.x] = pack.values[0];
}

RULEENGINE_KERNEL(misaligned_zeros, FaultArgs, 256) {
  RULEENGINE_SHARED(float, values, 4);
  if (threadIdx.x == 0) copy_later(values, args.in + 1, false);
  args.out[threadIdx.x] = 0;
}

RULEENGINE_KERNEL(zeros_of_nullptr, FaultArgs, 256) {
  RULEENGINE_SHARED(float, values, 4);
  if (threadIdx.x == 0) copy_later(values, nullptr, false);
  args.out[threadIdx.x] = 0;
}

RULEENGINE_KERNEL(unwritten_shared, FaultArgs, 256) {
  RULEENGINE_SHARED(float, values, 256);
  if (threadIdx.x != 7) values[threadIdx.x] = 0;
  __syncthreads();
  args.out[threadIdx.x] = values[threadIdx.x];
}

RULEENGINE_KERNEL(beyond_shared, FaultArgs, 256) {
  RULEENGINE_DYNAMIC_SHARED(float, values);
  values[threadIdx.x + 1] = args.in[threadIdx.x];
  args.out[threadIdx.x] = 0;
}

}  // namespace ruleengine::emulator
