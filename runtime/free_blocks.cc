#include "runtime/free_blocks.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace ruleengine::runtime {

std::byte* FreeBlocks::take(std::size_t& size) {
  // What wastes at most an eighth.
  const auto fits = free_.lower_bound(size);
  if (fits == free_.end() || fits->first > size + size / 8 + 64) return nullptr;
  std::byte* const out = fits->second;
  size = fits->first;
  free_.erase(fits);
  use(size);
  return out;
}

void FreeBlocks::add(std::size_t size) {
  held_ += size;
  use(size);
}

void FreeBlocks::use(std::size_t size) {
  used_ += size;
  most_used_ = std::max(most_used_, used_);
}

void FreeBlocks::give_back(std::byte* block, std::size_t size) {
  used_ -= size;
  try {
    free_.emplace(size, block);
  } catch (const std::bad_alloc&) {  // the system gets it instead
    held_ -= size;
    drop_(block);
  }
}

// Free blocks go before the system is asked for more than the peak needs, so
// that what is held stays near what is used.
void FreeBlocks::trim(std::size_t wanted) {
  while (!free_.empty() && held_ + wanted > most_used_ + most_used_ / 32) {
    drop_largest();
  }
}

void FreeBlocks::drop_largest() {
  const auto largest = std::prev(free_.end());
  held_ -= largest->first;
  drop_(largest->second);
  free_.erase(largest);
}

void FreeBlocks::drop_all() {
  while (!free_.empty()) drop_largest();
}

}  // namespace ruleengine::runtime
