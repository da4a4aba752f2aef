// Arena: memory that lives as long as its owner (a Model). Only trivially
// destructible things go in; addresses are stable; nothing is freed singly.
// Not thread-safe: one arena, one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ruleengine {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  void* allocate(std::size_t bytes, std::size_t align) {
    auto at = (reinterpret_cast<std::uintptr_t>(next_) + align - 1) &
              ~static_cast<std::uintptr_t>(align - 1);
    if (next_ == nullptr ||
        at + bytes > reinterpret_cast<std::uintptr_t>(end_)) {
      return allocate_slow(bytes, align);
    }
    next_ = reinterpret_cast<std::byte*>(at + bytes);
    return reinterpret_cast<void*>(at);
  }

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  // `n` value-initialized Ts.
  template <typename T>
  std::span<T> array(std::size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    T* at = static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(at, n);
    return {at, n};
  }

  template <typename T>
  std::span<T> copy(std::span<const T> from) {
    if (from.empty()) return {};
    T* at = static_cast<T*>(allocate(from.size_bytes(), alignof(T)));
    std::uninitialized_copy(from.begin(), from.end(), at);
    return {at, from.size()};
  }

  std::string_view copy(std::string_view text) {
    const std::span<char> to = copy(std::span<const char>(text));
    return {to.data(), to.size()};
  }

  // Keeps what owns `bytes` bytes that were allocated elsewhere. Nothing owns a
  // view of the model.
  void keep(std::shared_ptr<const void> owner, std::size_t bytes) {
    if (owner.use_count() == 0) return;
    kept_.push_back(std::move(owner));
    total_ += bytes;
  }

  // Bytes allocated so far, including what is lost at the ends of blocks.
  std::size_t bytes() const {
    return total_ - static_cast<std::size_t>(end_ - next_);
  }

 private:
  void* allocate_slow(std::size_t bytes, std::size_t align) {
    const std::size_t want = bytes + align;
    const std::size_t size = std::max(want, next_size_);
    next_size_ = std::min<std::size_t>(next_size_ * 2, std::size_t{1} << 20);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    total_ += size;
    next_ = blocks_.back().get();
    end_ = next_ + size;
    return allocate(bytes, align);
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  std::size_t next_size_ = 4096;
  std::size_t total_ = 0;
};

}  // namespace ruleengine
