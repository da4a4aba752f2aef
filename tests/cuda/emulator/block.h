// The block of threads that runs, and what its threads wait for.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <source_location>
#include <string>
#include <vector>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/fiber.h"
#include "tests/cuda/emulator/shared_memory.h"

namespace ruleengine::emulator {

using Site = std::source_location;

// What the lanes of a warp do together.
enum class Exchange { kSync, kShuffle, kVote, kTogether };

// 16 bytes; from nullptr: zeros.
struct Copy {
  void* to;
  const void* from;
};
// The copies of a thread that are not done, by groups.
using CopyGroups = std::vector<std::vector<Copy>>;

class Block {
 public:
  // Of the thread that asks; emulator/device.h calls them.
  void sync(const Site& site);
  // A lane gives a value and, for kShuffle, names the lane whose value it gets;
  // kVote gives each the mask of the lanes whose value is not 0.
  std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value,
                         unsigned from, const Site& site);
  // All lanes of a warp give a value, and one of them calls the function for
  // all.
  using Together = void (*)(void* const* lanes);
  void together(Together function, void* value, const Site& site);
  // A copy is done when it is made, when the thread waits for it, or at one of
  // the two by chance: as the launch's order says.
  void copy_later(const Copy& copy);
  void end_copies() { current_->copies.emplace_back(); }
  void wait_copies(std::size_t open);
  unsigned lane() const { return current_->lane; }
  std::byte* dynamic_shared() const { return shared_.dynamic(); }
  std::byte* shared(const void* site, std::size_t size);
  // Ends the kernel: throws.
  [[noreturn]] void fail(const std::string& what) const;

  // Runs all blocks of a launch; throws std::runtime_error.
  void run_grid(const Kernel& kernel, const Launch& launch, const void* args);

 private:
  enum class State : std::uint8_t { kReady, kAtBarrier, kInWarp, kDone };
  struct Lane {
    std::unique_ptr<Fiber> fiber;
    Dim index;
    unsigned warp = 0, lane = 0;
    State state = State::kDone;
    Site site;
    Exchange kind = Exchange::kSync;
    unsigned mask = 0, from = 0;
    std::uint64_t value = 0, result = 0;
    Together function = nullptr;
    CopyGroups copies;  // the last one is open
  };

  static void run_thread(void* block);
  void prepare(const Launch& launch);
  void run_block();
  void start_lanes();
  // Both say whether a thread went on.
  bool run_warp(unsigned warp);
  bool run_warps();
  void release_barrier();
  void resume(Lane& lane);
  void wait(State state, const Site& site);
  bool gather(unsigned mask, Exchange kind, Lane** lanes);
  void finish(unsigned mask, Exchange kind, Lane** lanes);
  bool all(State state) const;

  const Kernel* kernel_ = nullptr;
  const Launch* launch_ = nullptr;
  const void* args_ = nullptr;
  std::vector<Lane> lanes_;
  unsigned count_ = 0;  // of the lanes that this launch uses
  std::vector<unsigned> order_;
  std::mt19937_64 random_;
  Lane* current_ = nullptr;
  SharedMemory shared_;
  std::string fault_;  // of a thread
};

// Of the launch that runs.
Block& block();

}  // namespace ruleengine::emulator

// As CUDA names them; of the thread that runs.
extern ruleengine::emulator::Dim threadIdx, blockIdx, blockDim, gridDim;
