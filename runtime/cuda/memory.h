// The memory of a GPU for one session, which computes on one stream. Blocks are
// kept for the next request of a similar size; the work of one stream is in
// order, so a block that is given back may be handed out while it is still
// read. What is copied passes through page-locked memory of the host. Belongs
// to the thread that uses it, as its stream does.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/memory.h"

namespace ruleengine::runtime::cuda {

// Page-locked memory of the host.
class Pinned {
 public:
  // Throws Failure.
  Pinned(std::shared_ptr<const Device> device, std::size_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<const Device> device_;
  std::byte* data_ = nullptr;
  std::size_t size_;
};

// What copies within it is up to those who have kernels.
class CudaMemory : public DeviceMemory,
                   public std::enable_shared_from_this<CudaMemory> {
 public:
  // Throws Failure.
  explicit CudaMemory(std::shared_ptr<Stream> stream);

  // Aligned to 256 bytes.
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  void drop_free() override;
  void write(std::span<const std::byte> from, std::byte* to) override;
  void read(std::span<const CopyOut> copies) override;

  // What passes between the host and the device in work that is recorded, and
  // the blocks that it uses.
  struct Tape {
    std::unique_ptr<Pinned> pinned;
    std::size_t used = 0;                                         // bytes of it
    std::vector<std::pair<const std::byte*, std::byte*>> writes;  // from, place
    std::vector<std::span<const std::byte>> reads;
    std::vector<std::shared_ptr<std::byte>> blocks;
    std::vector<std::shared_ptr<const void>> kept;  // code that it runs
    bool is_broken = false;  // not all of it fits, or a block was missing
  };
  // From now on copies go through a tape with room for as much as the run
  // copied that the arena wrote down, and nothing is waited for. Throws
  // Failure.
  void start_tape();
  std::unique_ptr<Tape> stop_tape() { return std::move(tape_); }

 private:
  // A copy of so many bytes is to come.
  void count_copy(std::size_t bytes);
  std::span<std::byte> record(std::size_t bytes);
  void read_now(std::span<const CopyOut> copies);

  // What a copy passes through, one after the other.
  static constexpr std::size_t kStaging = std::size_t{8} << 20;

  void copy_in(std::byte* to, std::span<const std::byte> from);
  void copy_out(std::span<std::byte> to, const std::byte* from);
  // From the driver, of `size`, or less where there is too little.
  std::byte* take(std::size_t bytes, std::size_t& size);
  void drop(std::byte* block);
  std::span<std::byte> stage(std::size_t bytes);

  std::shared_ptr<Stream> stream_;
  FreeBlocks free_;
  std::unique_ptr<Pinned> staging_;
  std::size_t staged_ = 0;  // bytes of it that work may still read
  std::unique_ptr<Tape> tape_;
};

}  // namespace ruleengine::runtime::cuda
