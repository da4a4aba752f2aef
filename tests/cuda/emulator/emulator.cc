#include "tests/cuda/emulator/emulator.h"

#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cuda/emulator/block.h"

namespace ruleengine::emulator {
namespace {

std::map<std::string_view, Kernel>& kernels() {
  static std::map<std::string_view, Kernel> all;
  return all;
}

void check(const Kernel& kernel, const Launch& launch) {
  const auto fail = [&](const char* what) {
    throw std::runtime_error(std::string(kernel.name) + ": " + what);
  };
  const Dim& block = launch.block;
  const Dim& grid = launch.grid;
  const std::uint64_t threads =
      std::uint64_t{block.x} * block.y * std::uint64_t{block.z};
  if (threads == 0 || threads > kernel.threads) {
    fail("it cannot have so many threads in a block");
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff ||
      grid.y > 65535 || grid.z > 65535) {
    fail("a grid has no such size");
  }
  if (launch.shared_bytes > SharedMemory::kMost) {
    fail("no chip has so much shared memory");
  }
  if (kernel.args_size > 4096) fail("its arguments have more than 4 KiB");
}

}  // namespace

Registered::Registered(const Kernel& kernel) {
  kernels()[kernel.name] = kernel;
}

const Kernel* find_kernel(std::string_view name) {
  const auto found = kernels().find(name);
  return found == kernels().end() ? nullptr : &found->second;
}

void launch(const Kernel& kernel, const Launch& launch, const void* args) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  check(kernel, launch);
  // A launch copies its arguments.
  alignas(16) std::byte copy[4096];
  std::memcpy(copy, args, kernel.args_size);
  block().run_grid(kernel, launch, copy);
}

}  // namespace ruleengine::emulator
