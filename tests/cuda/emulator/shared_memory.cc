#include "tests/cuda/emulator/shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/cuda/emulator/sanitizer.h"

namespace ruleengine::emulator {
namespace {

constexpr std::size_t kGuard = 256;
constexpr std::size_t kAlignment = 128;
constexpr std::byte kGuardByte{0xA5};
constexpr int kUnwritten = 0xFF;  // a NaN in each float type
constexpr std::size_t kSize = 2 << 20;

}  // namespace

void SharedMemory::Free::operator()(std::byte* data) const {
  unpoison(data, kSize);
  std::free(data);
}

SharedMemory::SharedMemory()
    : memory_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kSize))) {
  if (memory_ == nullptr) throw std::bad_alloc();
}

void SharedMemory::begin(std::size_t dynamic) {
  unpoison(memory_.get(), kSize);
  pieces_.clear();
  std::memset(memory_.get(), static_cast<int>(kGuardByte), kGuard);
  end_ = kGuard;
  static_size_ = 0;
  add(nullptr, dynamic);
}

std::byte* SharedMemory::piece(const void* site, std::size_t size) {
  for (const Piece& each : pieces_) {
    if (each.site == site) return each.data;
  }
  static_size_ += size;
  if (static_size_ > kMostStatic) return nullptr;
  return add(site, size);
}

std::byte* SharedMemory::add(const void* site, std::size_t size) {
  std::byte* data = memory_.get() + end_;
  const std::size_t room =
      (size + kGuard + kAlignment - 1) / kAlignment * kAlignment;
  std::memset(data, kUnwritten, size);
  std::memset(data + size, static_cast<int>(kGuardByte), room - size);
  poison(data + size, room - size);
  pieces_.push_back({site, data, size});
  end_ += room;
  return data;
}

bool SharedMemory::is_intact() {
  unpoison(memory_.get(), end_);
  const std::byte* from = memory_.get();
  const auto is_guard = [](std::byte each) { return each == kGuardByte; };
  for (const Piece& each : pieces_) {
    if (!std::all_of(from, static_cast<const std::byte*>(each.data),
                     is_guard)) {
      return false;
    }
    from = each.data + each.size;
  }
  return std::all_of(from, static_cast<const std::byte*>(memory_.get()) + end_,
                     is_guard);
}

}  // namespace ruleengine::emulator
