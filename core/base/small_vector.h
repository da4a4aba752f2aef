// SmallVector: a vector of trivially copyable values that stores up to N of
// them inline, for lists that are nearly always short. Longer lists are on the
// heap. Moving a short one copies it. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace ruleengine {

template <typename T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> items) { append(items); }
  SmallVector(std::size_t count, const T& item) { resize(count, item); }
  explicit SmallVector(std::span<const T> items) { append(items); }
  SmallVector(const SmallVector& other) { append(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~SmallVector() = default;

  T* data() { return large_ ? large_.get() : own(); }
  const T* data() const { return large_ ? large_.get() : own(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(const T& item) {
    const T copy = item;  // `item` may be an element of this vector
    if (size_ == capacity_) grow(size_ + 1);
    std::construct_at(data() + size_++, copy);
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t size, const T& item = T()) {
    if (size > capacity_) grow(size);
    if (size > size_) std::uninitialized_fill(end(), data() + size, item);
    size_ = size;
  }
  // `items` must not refer to elements of this vector.
  template <std::ranges::sized_range Items>
  void append(const Items& items) {
    const std::size_t size = size_ + std::ranges::size(items);
    if (size > capacity_) grow(size);
    std::uninitialized_copy(std::ranges::begin(items), std::ranges::end(items),
                            end());
    size_ = size;
  }
  template <std::ranges::sized_range Items>
  void assign(const Items& items) {
    clear();
    append(items);
  }
  template <typename Condition>
  void erase_if(Condition condition) {
    cut(std::remove_if(begin(), end(), condition));
  }
  void sort_unique() {
    std::sort(begin(), end());
    cut(std::unique(begin(), end()));
  }

  bool operator==(const SmallVector& other) const {
    return std::ranges::equal(*this, other);
  }

 private:
  T* own() { return reinterpret_cast<T*>(own_); }
  const T* own() const { return reinterpret_cast<const T*>(own_); }
  void cut(const T* end) { size_ = static_cast<std::size_t>(end - data()); }

  void grow(std::size_t size) {
    const std::size_t capacity = std::max(size, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<T[]>(capacity);
    std::copy(begin(), end(), larger.get());
    large_ = std::move(larger);
    capacity_ = capacity;
  }

  void take(SmallVector& other) {
    if (!other.large_) return assign(other);
    large_ = std::move(other.large_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }

  std::size_t size_ = 0, capacity_ = N;
  std::unique_ptr<T[]> large_;
  alignas(T) std::byte own_[N * sizeof(T)];
};

}  // namespace ruleengine
