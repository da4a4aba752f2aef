// FreeBlocks: the blocks of a memory that nobody uses, for the next request of
// a similar size. What is held stays near the most that was used at once. For
// one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace ruleengine::runtime {

class FreeBlocks {
 public:
  // `drop` gives a block back to the system; it throws nothing.
  explicit FreeBlocks(std::function<void(std::byte*)> drop)
      : drop_(std::move(drop)) {}
  ~FreeBlocks() { drop_all(); }
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;

  // A block of `size` or little more, which `size` becomes; nullptr: the system
  // is to give one, for which trim() is called before and add() after it.
  std::byte* take(std::size_t& size);
  // Drops blocks where more would be held with `wanted` bytes than is used.
  void trim(std::size_t wanted);
  void add(std::size_t size);
  void give_back(std::byte* block, std::size_t size);
  void drop_all();

  bool empty() const { return free_.empty(); }
  std::size_t held() const { return held_; }  // bytes of blocks, used or free
  void reset_peak() { most_used_ = used_; }

 private:
  void drop_largest();
  void use(std::size_t size);

  std::function<void(std::byte*)> drop_;
  std::multimap<std::size_t, std::byte*> free_;  // by size
  std::size_t held_ = 0, used_ = 0, most_used_ = 0;
};

}  // namespace ruleengine::runtime
