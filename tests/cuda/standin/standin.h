// A stand-in for CUDA's driver (libcuda.so.1), for tests where there is no GPU.
// Kernels run in the emulator of kernels. It is as strict as the real one may
// be: the host cannot touch device memory; work is done only when something
// waits for it; a copy reads page-locked memory when it is done; fresh memory
// is NaN; what may not happen during a capture fails. It counts what is
// called, can let any call fail, and remembers misuse: a call without a
// context, work on memory that was freed, and two streams, of which each may
// run a graph, that use the same memory at once. For one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ruleengine::standin {

struct Counts {
  std::map<std::string, std::size_t> calls;  // by function
  std::size_t all = 0;
  std::size_t kernels = 0;                   // that ran
  std::map<std::string, std::size_t> named;  // these, by name
};

struct __attribute__((visibility("default"))) Driver {
  Counts counts;
  // What a program may not do, one line each.
  std::vector<std::string> misuse;
  // Which call fails, from now: 1 is the next one, 0 none. And whether those
  // after it fail, too: the device is gone.
  std::size_t fails_at = 0;
  bool stays_failed = false;
  std::string fails_in;  // a function that always fails
  std::string failed;    // the call that failed last
  int failure = 999;     // CUresult: CUDA_ERROR_UNKNOWN
  // Of kernels: a seed of the order of their warps, and 0, 1, 2: in order,
  // reversed, random.
  unsigned long seed = 0;
  int order = 0;
  std::size_t memory_bytes = std::size_t{2} << 30;
  int version = 13000;
  int devices = 1;
  // Plans of cuDNN that leave the last keys out, as a wrong version might.
  std::size_t forgotten_keys = 0;
  // Those that multiply the values behind the last key by 0.
  bool reads_behind = false;
  std::atomic<int> plan_milliseconds = 0;  // that building one takes
  std::atomic<std::size_t> library_objects =
      0;  // that stand-ins of libraries hold

  std::size_t live_bytes() const;    // of device memory
  std::size_t pinned_bytes() const;  // of page-locked memory
  // Drops all of these, as the system does when a device is gone.
  void forget();
  // Contexts, modules, streams, events, graphs, and those of libraries.
  std::size_t objects() const;
};

// The one of the process.
__attribute__((visibility("default"))) Driver& driver();

// For the stand-ins of libraries: counts a call of theirs; whether it is to
// fail.
__attribute__((visibility("default"))) bool fails(const char* function);
// For them, too: work on a stream of theirs. It may read and
// write device memory. `uses`: addresses of the device that it touches.
__attribute__((visibility("default"))) void add_work(
    void* stream, std::string what, std::vector<const void*> uses,
    std::function<void()> work);

}  // namespace ruleengine::standin
