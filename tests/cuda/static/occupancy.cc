// How many warps of a kernel a multiprocessor has at once, of 100 that it has
// room for. Reads lines "chip kernel threads registers shared", where chip is
// one of plans/chips.h and shared is what the compiler knows, and writes a
// number for each.
#include <cuda_runtime_api.h>
// It needs the one above.
#include <cuda_occupancy.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "kernels/cuda/device/attention.h"
#include "tests/cuda/plans/chips.h"

namespace ruleengine::kernels {
namespace {

struct Figures {
  std::string kernel;
  int threads = 0, registers = 0;
  std::size_t shared = 0;
};

// What a launch asks for.
std::size_t dynamic_shared(const std::string& kernel) {
  const std::string prefix = "flash_attention_";
  if (kernel.rfind(prefix, 0) != 0) return 0;
  const int bytes = kernel.ends_with("_f32") ? 4 : 2;
  return device::attention_shared(std::stoi(kernel.substr(prefix.size())),
                                  bytes);
}

cudaOccDeviceProp properties_of(const cuda::Chip& chip) {
  const auto number = [](std::int64_t x) { return static_cast<int>(x); };
  cudaOccDeviceProp of{};
  of.computeMajor = number(chip.capability / 100);
  of.computeMinor = number(chip.capability / 10 % 10);
  of.maxThreadsPerBlock = number(chip.threads_of_block);
  of.maxThreadsPerMultiprocessor = number(chip.threads_of_multiprocessor);
  of.regsPerBlock = number(chip.registers_of_block);
  of.regsPerMultiprocessor = number(chip.registers_of_multiprocessor);
  of.warpSize = number(chip.warp_size);
  of.sharedMemPerBlock = static_cast<std::size_t>(chip.shared_of_block);
  of.sharedMemPerBlockOptin =
      static_cast<std::size_t>(chip.shared_of_block_optin);
  of.reservedSharedMemPerBlock = static_cast<std::size_t>(chip.shared_reserved);
  of.sharedMemPerMultiprocessor =
      of.sharedMemPerBlockOptin + of.reservedSharedMemPerBlock;
  of.numSms = number(chip.multiprocessors);
  return of;
}

int percent(const cuda::Chip& chip, const Figures& figures) {
  const cudaOccDeviceProp properties = properties_of(chip);
  cudaOccFuncAttributes of{};
  of.maxThreadsPerBlock = figures.threads;
  of.numRegs = figures.registers;
  of.sharedSizeBytes = figures.shared;
  of.partitionedGCConfig = PARTITIONED_GC_OFF;
  of.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  of.maxDynamicSharedSizeBytes = properties.sharedMemPerBlockOptin;
  const cudaOccDeviceState state{};
  cudaOccResult result{};
  if (cudaOccMaxActiveBlocksPerMultiprocessor(
          &result, &properties, &of, &state, figures.threads,
          dynamic_shared(figures.kernel)) != CUDA_OCC_SUCCESS) {
    return 0;
  }
  return 100 * result.activeBlocksPerMultiprocessor * figures.threads /
         properties.maxThreadsPerMultiprocessor;
}

}  // namespace
}  // namespace ruleengine::kernels

int main() {
  std::string chip;
  ruleengine::kernels::Figures figures;
  while (std::cin >> chip >> figures.kernel >> figures.threads >>
         figures.registers >> figures.shared) {
    std::cout << percent(ruleengine::kernels::cuda::chip_named(chip), figures)
              << "\n";
  }
}
