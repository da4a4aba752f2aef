// What cuDNN asks about a GPU before it makes a plan. With this as plain data,
// a plan is made without the GPU.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace ruleengine::kernels::cuda {

struct Chip {
  std::string name;
  std::int64_t capability = 0;  // 900: that of Hopper
  std::int64_t multiprocessors = 0;
  std::int64_t warp_size = 32;
  std::int64_t shared_of_block = 49152;  // bytes
  std::int64_t shared_of_block_optin = 0;
  std::int64_t shared_reserved = 1024;
  std::int64_t registers_of_multiprocessor = 65536;
  std::int64_t registers_of_block = 65536;
  std::int64_t blocks_of_multiprocessor = 0;
  std::int64_t threads_of_multiprocessor = 0;
  std::int64_t threads_of_block = 1024;
  std::int64_t memory = 0;  // bytes
  std::int64_t l2_cache = 0;
  std::int64_t clock_khz = 0;
  std::int64_t memory_clock_khz = 0;
  std::array<std::int64_t, 3> most_block = {1024, 1024, 64};
  std::array<std::int64_t, 3> most_grid = {2147483647, 65535, 65535};
  std::int64_t launches_cooperatively = 1;
  std::int64_t is_tcc = 0;
  std::int64_t pci_device = 0;
  std::int64_t device = 0;
  std::int64_t driver = 13000;

  // 90 for Hopper, as names of targets have it.
  std::int64_t sm() const { return capability / 10; }
  // In the words of cuDNN.
  std::string json() const;
  // Bytes that are equal where plans for one chip are for the other: all fields
  // but those that tell equal GPUs of one machine apart.
  std::string key() const;

  auto operator<=>(const Chip&) const = default;
  bool operator==(const Chip&) const = default;
};

// The fields of a Chip beside the names that cuDNN has for them.
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
