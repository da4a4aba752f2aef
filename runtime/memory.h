// Memory: where tensors live: on the host, or where a backend computes.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>

#include "runtime/free_blocks.h"
#include "runtime/tensor.h"

namespace ruleengine::runtime {

// The next multiple of `unit`.
constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

class Memory {
 public:
  explicit Memory(std::size_t alignment) : alignment_(alignment) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  // A block of at least `bytes`, not initialized, which keeps the Memory alive;
  // throws Failure (kLimit) beyond a limit.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  // Gives free blocks back to the system.
  virtual void drop_free() {}
  // Of its blocks: bytes, a power of two.
  std::size_t alignment() const { return alignment_; }

 private:
  const std::size_t alignment_;
};

class TensorArena;

// An axis of a block, and the elements from one place to the next in what is
// read and in what is written.
struct StridedAxis {
  std::int64_t size = 1, from = 0, to = 0;
};

// Elements that are copied between places that step through memory differently.
struct StridedCopy {
  std::int64_t element_bytes;
  // The longest steps in what is written first; there is at least one. None has
  // the size 0.
  std::span<const StridedAxis> axes;
  const std::byte* from;
  std::byte* to;
};

// Memory that the host does not read.
class DeviceMemory : public Memory {
 public:
  using Memory::Memory;

  struct CopyOut {
    const std::byte* from;
    std::span<std::byte> to;
  };

  // Copies to a block, in the order of the backend's work. `from` may go when
  // it returns.
  virtual void write(std::span<const std::byte> from, std::byte* to) = 0;
  // Copies from blocks, when the work before is done. Each `to` is whole when
  // it returns.
  virtual void read(std::span<const CopyOut> copies) = 0;
  // Adds a copy within it to the work.
  virtual void copy(const StridedCopy& block) = 0;

  // Of a model that runs often: where its tensors are; may be nullptr.
  TensorArena* arena = nullptr;
};

// Blocks are aligned to 64 bytes, counted against a limit, and kept for the
// next request of a similar size when their last reader is gone, so that a
// second run asks the system for nothing. Thread-safe.
class HostMemory final : public Memory,
                         public std::enable_shared_from_this<HostMemory> {
 public:
  static constexpr std::size_t kUnlimited =
      std::numeric_limits<std::size_t>::max();

  // `limit`: bytes that may be in use at once.
  static std::shared_ptr<HostMemory> create(std::size_t limit = kUnlimited);
  // The bytes that this machine, or the container that it is, has.
  static std::size_t of_machine();

  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  void drop_free() override;

  // So many empty strings. Their bytes are counted whenever they change; beyond
  // the limit that throws Failure too.
  std::shared_ptr<Strings> strings(std::size_t count);

  std::size_t live() const;  // bytes that were asked for and are in use
  std::size_t peak() const;  // the most that `live` was
  std::size_t held() const;  // bytes of blocks, used or free
  void reset_peak();

 private:
  // What strings allocate from.
  class Heap final : public std::pmr::memory_resource {
   public:
    explicit Heap(HostMemory& memory) : memory_(memory) {}

   private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* data, std::size_t bytes,
                       std::size_t alignment) override;
    bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
    HostMemory& memory_;
  };

  explicit HostMemory(std::size_t limit);
  void count(std::size_t bytes);  // with the mutex held
  void give_back(std::byte* data, std::size_t asked, std::size_t size);

  const std::size_t limit_;
  mutable std::mutex mutex_;
  FreeBlocks free_;
  Heap heap_{*this};
  std::size_t live_ = 0, peak_ = 0;
};

}  // namespace ruleengine::runtime
