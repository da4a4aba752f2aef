// The fields of a Chip beside the names that cuDNN has for them.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cuda/attention/chip.h"

namespace ruleengine::kernels::cuda {

struct ChipNumber {
  const char* name;
  std::int64_t Chip::*field;
};
struct ChipSizes {
  const char* name;
  std::array<std::int64_t, 3> Chip::*field;
};

inline constexpr const char* kChipName = "deviceName";
inline constexpr ChipNumber kChipNumbers[] = {
    {"deviceVer", &Chip::capability},
    {"multiProcessorCount", &Chip::multiprocessors},
    {"warpSize", &Chip::warp_size},
    {"maxSharedMemoryPerBlock", &Chip::shared_of_block},
    {"maxSharedMemoryPerBlockOptin", &Chip::shared_of_block_optin},
    {"reservedSharedMemoryPerBlock", &Chip::shared_reserved},
    {"maxRegistersPerSM", &Chip::registers_of_multiprocessor},
    {"maxCtasPerSM", &Chip::blocks_of_multiprocessor},
    {"maxThreadsPerBlock", &Chip::threads_of_block},
    {"maxThreadsPerSM", &Chip::threads_of_multiprocessor},
    {"regsPerBlock", &Chip::registers_of_block},
    {"totalGlobalMem", &Chip::memory},
    {"smClockRateKHz", &Chip::clock_khz},
    {"memClockRateKHz", &Chip::memory_clock_khz},
    {"l2CacheSize", &Chip::l2_cache},
    {"supportCoopLaunch", &Chip::launches_cooperatively},
    {"pciDeviceId", &Chip::pci_device},
    {"isTccDriver", &Chip::is_tcc},
    {"cudaDeviceId", &Chip::device},
    {"driverVer", &Chip::driver}};
inline constexpr ChipSizes kChipSizes[] = {{"maxBlockSize", &Chip::most_block},
                                           {"maxGridSize", &Chip::most_grid}};

}  // namespace ruleengine::kernels::cuda
