#include "runtime/memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment *
         kAlignment;
}

}  // namespace

std::shared_ptr<Memory> Memory::create(std::size_t limit) {
  return std::shared_ptr<Memory>(new Memory(limit));
}

Memory::~Memory() {
  for (const auto& [size, data] : free_) std::free(data);
}

std::shared_ptr<std::byte> Memory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > limit_ || live_ > limit_ - bytes) {
    fail_limit(Limit::kMemory, "the tensors of the run need too much memory",
               std::to_string(limit_) + " bytes at most",
               std::to_string(live_) + " in use and " + std::to_string(bytes) +
                   " more");
  }
  std::size_t size = rounded(bytes);
  std::byte* data = nullptr;
  // A free block that wastes at most an eighth.
  const auto fits = free_.lower_bound(size);
  if (fits != free_.end() && fits->first <= size + size / 8 + kAlignment) {
    size = fits->first;
    data = fits->second;
    free_.erase(fits);
  } else {
    trim(size);
    data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (data == nullptr) throw std::bad_alloc();
    held_ += size;
  }
  live_ += bytes;
  used_ += size;
  peak_ = std::max(peak_, live_);
  return {data, [self = shared_from_this(), bytes, size](std::byte* block) {
            self->give_back(block, bytes, size);
          }};
}

void Memory::give_back(std::byte* data, std::size_t asked, std::size_t size) {
  const std::lock_guard lock(mutex_);
  live_ -= asked;
  used_ -= size;
  free_.emplace(size, data);
}

// Free blocks go before the system is asked for more than the peak needs, so
// that what is held stays near what is used.
void Memory::trim(std::size_t wanted) {
  while (!free_.empty() && held_ + wanted > peak_ + peak_ / 32) {
    const auto largest = std::prev(free_.end());
    held_ -= largest->first;
    std::free(largest->second);
    free_.erase(largest);
  }
}

std::size_t Memory::live() const {
  const std::lock_guard lock(mutex_);
  return live_;
}
std::size_t Memory::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}
std::size_t Memory::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}
void Memory::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = live_;
}

}  // namespace ruleengine::runtime
