// What the stand-in of the driver holds: device memory, page-locked memory,
// streams and graphs. Internal to tests/cuda/standin.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda/standin/standin.h"

namespace ruleengine::standin {

// An allocation of device memory that work uses; `id` differs for each.
struct Use {
  CUdeviceptr at;
  std::size_t id;
};

struct Work {
  std::string what;
  std::vector<Use> uses;
  std::function<void()> run;
};

struct Graph {
  std::vector<Work> works;
};

// When the work before it was done.
using EventState = std::optional<std::chrono::steady_clock::time_point>;

struct StreamState {
  std::deque<Work> pending;
  std::unique_ptr<Graph> capture;  // while it captures
  bool is_capture_broken = false;
};

class DeviceHeap {
 public:
  static constexpr std::size_t kReserved = std::size_t{64} << 30;

  DeviceHeap();
  // 0 where there is too little.
  CUdeviceptr allocate(std::size_t bytes, std::size_t limit);
  bool release(CUdeviceptr block);
  void release_all();
  std::size_t live() const { return live_; }

  bool is_inside(std::uintptr_t address) const {
    return address >= base() && address < base() + kReserved;
  }
  // The allocation that has an address; id 0: none.
  Use find(std::uintptr_t address) const;
  bool has(const Use& use) const;
  bool holds(CUdeviceptr at, std::size_t bytes) const;
  // While work runs it may touch the memory.
  void open(bool is_open);

 private:
  struct Block {
    std::size_t bytes, size, id;
  };
  std::uintptr_t base() const {
    return reinterpret_cast<std::uintptr_t>(base_);
  }

  std::byte* base_;
  std::map<CUdeviceptr, Block> blocks_;
  std::multimap<std::size_t, CUdeviceptr> free_;  // by size
  std::size_t end_ = 0, live_ = 0, next_id_ = 1;
};

struct Machine {
  Driver* driver;
  DeviceHeap heap;
  std::map<const std::byte*, std::size_t> pinned;
  std::set<StreamState*> streams;
  std::set<EventState*> events;
  std::set<void*> modules, graphs, execs;
  int contexts = 0;          // that are retained
  std::vector<int> current;  // contexts that were pushed
  bool push_failed = false;  // the last one was to be, and a test let it fail

  bool is_pinned(const void* data, std::size_t bytes) const;
  bool is_capturing() const;
  // Remembers what a program may not do.
  void misuse(std::string what);
  // The allocations that words of the arguments point to.
  std::vector<Use> uses_in(const void* args, std::size_t bytes);
  void add(StreamState& stream, Work work);
  // Does all work of the stream.
  void finish(StreamState& stream);
  void finish_all();
};

Machine& machine();

}  // namespace ruleengine::standin
