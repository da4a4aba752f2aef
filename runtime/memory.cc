#include "runtime/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

std::shared_ptr<HostMemory> HostMemory::create(std::size_t limit) {
  return std::shared_ptr<HostMemory>(new HostMemory(limit));
}

HostMemory::HostMemory(std::size_t limit)
    : Memory(kAlignment),
      limit_(limit),
      free_([](std::byte* block) { std::free(block); }) {}

std::size_t HostMemory::of_machine() {
  static const std::size_t bytes = [] {
    const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
    std::size_t most = pages * page;
    // What the control group of a container may take; "max" for all.
    std::ifstream file("/sys/fs/cgroup/memory.max");
    std::size_t group = 0;
    if (file >> group) most = std::min(most, group);
    return most;
  }();
  return bytes;
}

void HostMemory::count(std::size_t bytes) {
  if (bytes > limit_ || live_ > limit_ - bytes) {
    fail_limit(Remedy::kTensors, "the tensors of the run need too much memory",
               std::to_string(limit_) + " bytes at most",
               std::to_string(live_) + " in use and " + std::to_string(bytes) +
                   " more");
  }
  live_ += bytes;
  peak_ = std::max(peak_, live_);
}

std::shared_ptr<std::byte> HostMemory::allocate(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  count(bytes);
  std::size_t size = rounded_up(std::max<std::size_t>(bytes, 1), kAlignment);
  std::byte* data = free_.take(size);
  if (data == nullptr) {
    free_.trim(size);
    data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (data == nullptr) {
      live_ -= bytes;
      throw std::bad_alloc();
    }
    free_.add(size);
  }
  lock.unlock();  // where the pointer cannot be made, it gives back at once
  return {data, [self = shared_from_this(), bytes, size](std::byte* block) {
            self->give_back(block, bytes, size);
          }};
}

std::shared_ptr<Strings> HostMemory::strings(std::size_t count) {
  auto strings = std::make_unique<Strings>(count, &heap_);
  return {strings.release(),
          [self = shared_from_this()](Strings* all) { delete all; }};
}

void* HostMemory::Heap::do_allocate(std::size_t bytes, std::size_t alignment) {
  const std::lock_guard lock(memory_.mutex_);
  memory_.count(bytes);
  try {
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  } catch (...) {
    memory_.live_ -= bytes;
    throw;
  }
}

void HostMemory::Heap::do_deallocate(void* data, std::size_t bytes,
                                     std::size_t alignment) {
  std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  const std::lock_guard lock(memory_.mutex_);
  memory_.live_ -= bytes;
}

void HostMemory::give_back(std::byte* data, std::size_t asked,
                           std::size_t size) {
  const std::lock_guard lock(mutex_);
  live_ -= asked;
  free_.give_back(data, size);
}

void HostMemory::drop_free() {
  const std::lock_guard lock(mutex_);
  free_.drop_all();
}

std::size_t HostMemory::live() const {
  const std::lock_guard lock(mutex_);
  return live_;
}
std::size_t HostMemory::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}
std::size_t HostMemory::held() const {
  const std::lock_guard lock(mutex_);
  return free_.held();
}
void HostMemory::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = live_;
  free_.reset_peak();
}

}  // namespace ruleengine::runtime
