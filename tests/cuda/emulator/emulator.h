// Runs kernels of kernels/cuda/device on the host, for tests. The threads of a
// block are fibers, so that an order of warps is a seed. What CUDA leaves
// undefined is a fault here: threads at different barriers, a shuffle from a
// lane that is not there, a write beyond shared memory, a misaligned vector.
// Shared memory is NaN until it is written. Launches wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ruleengine::emulator {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

// kForward and kReverse run a warp up to the next barrier before another warp,
// which shows missing barriers; kRandom mixes the warps.
enum class Order { kForward, kReverse, kRandom };

struct Kernel {
  std::string_view name;
  std::size_t args_size = 0;
  unsigned threads = 0;  // the most of a block
  void (*function)(const void* args) = nullptr;
};

struct Launch {
  Dim grid, block;
  std::size_t shared_bytes = 0;  // of RULEENGINE_DYNAMIC_SHARED
  Order order = Order::kForward;
  std::uint64_t seed = 0;
};

// nullptr where no kernel has the name.
const Kernel* find_kernel(std::string_view name);
// Throws std::runtime_error on a fault of the kernel or of the launch.
void launch(const Kernel& kernel, const Launch& launch, const void* args);

// A kernel that find_kernel finds; RULEENGINE_KERNEL makes one.
struct Registered {
  explicit Registered(const Kernel& kernel);
};

}  // namespace ruleengine::emulator
