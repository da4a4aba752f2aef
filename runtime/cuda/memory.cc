#include "runtime/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/failure.h"
#include "runtime/tensor_arena.h"

namespace ruleengine::runtime::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

CUdeviceptr address(const std::byte* block) {
  return reinterpret_cast<CUdeviceptr>(block);
}

std::size_t rounded(std::size_t bytes) {
  return rounded_up(std::max<std::size_t>(bytes, 1), kAlignment);
}

// The sizes of large blocks are few, so that a tensor that grows from run to
// run finds one that is free: asking the driver waits for the device.
std::size_t block_size(std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  return bytes > kLarge ? rounded_up(bytes, std::bit_floor(bytes) / 8)
                        : rounded(bytes);
}

}  // namespace

Pinned::Pinned(std::shared_ptr<const Device> device, std::size_t bytes)
    : device_(std::move(device)), size_(bytes) {
  void* data = nullptr;
  device_->check(device_->driver().cuMemHostAlloc(&data, bytes, 0),
                 "to lock memory of the host");
  data_ = static_cast<std::byte*>(data);
}

Pinned::~Pinned() {
  const CurrentAtEnd current(*device_);
  device_->driver().cuMemFreeHost(data_);
}

CudaMemory::CudaMemory(std::shared_ptr<Stream> stream)
    : DeviceMemory(kAlignment),
      stream_(std::move(stream)),
      free_([this](std::byte* block) { drop(block); }) {}

std::shared_ptr<std::byte> CudaMemory::allocate(std::size_t bytes) {
  // An address at which there is nothing.
  if (bytes == 0)
    return {shared_from_this(), reinterpret_cast<std::byte*>(this)};
  std::size_t size = block_size(bytes);
  std::byte* data = free_.take(size);
  if (data == nullptr) data = take(bytes, size);
  std::shared_ptr<std::byte> out(
      data, [self = shared_from_this(), size](std::byte* block) {
        self->free_.give_back(block, size);
      });
  if (tape_ != nullptr) tape_->blocks.push_back(out);
  return out;
}

std::byte* CudaMemory::take(std::size_t bytes, std::size_t& size) {
  // The driver would end the recording, and keep what it is to take back.
  if (tape_ != nullptr) {
    tape_->is_broken = true;
    fail_limit(Remedy::kDevice,
               "a run that is recorded needs memory that no run before it took",
               {}, fmt::format("{} bytes", size));
  }
  free_.trim(size);
  // Also between runs.
  const Current current(stream_->device());
  CUdeviceptr out = 0;
  const Driver& driver = stream_->driver();
  CUresult status = driver.cuMemAlloc(&out, size);
  const bool may_be_less = !free_.empty() || size > rounded(bytes);
  if (status == CUDA_ERROR_OUT_OF_MEMORY && may_be_less) {
    free_.drop_all();
    size = rounded(bytes);
    status = driver.cuMemAlloc(&out, size);
  }
  if (status == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t unused = 0, all = 0;
    driver.cuMemGetInfo(&unused, &all);
    fail_limit(Remedy::kDevice, "the GPU has too little memory for the model",
               fmt::format("{} more bytes", size),
               fmt::format("{} of {} bytes are free, {} are in use by the run",
                           unused, all, free_.held()));
  }
  driver.check(status, "to allocate memory");
  free_.add(size);
  return reinterpret_cast<std::byte*>(out);
}

void CudaMemory::drop(std::byte* block) {
  const CurrentAtEnd current(stream_->device());
  stream_->driver().cuMemFree(address(block));
}

void CudaMemory::drop_free() { free_.drop_all(); }

// So many bytes of the staging memory at most, which no work reads or writes.
std::span<std::byte> CudaMemory::stage(std::size_t bytes) {
  if (staging_ == nullptr) {
    staging_ = std::make_unique<Pinned>(stream_->shared_device(), kStaging);
  }
  if (stream_->is_idle()) staged_ = 0;
  if (staged_ == kStaging) {
    stream_->wait();
    staged_ = 0;
  }
  bytes = std::min(bytes, kStaging - staged_);
  std::byte* begin = staging_->data() + staged_;
  staged_ += bytes;
  return {begin, bytes};
}

void CudaMemory::start_tape() {
  const Current current(stream_->device());
  auto tape = std::make_unique<Tape>();
  tape->pinned = std::make_unique<Pinned>(
      stream_->shared_device(), std::max(arena->copied(), kAlignment));
  tape_ = std::move(tape);
}

void CudaMemory::count_copy(std::size_t bytes) {
  if (arena != nullptr) arena->count_copy(rounded(bytes));
}

// Bytes of the tape; none where it is full.
std::span<std::byte> CudaMemory::record(std::size_t bytes) {
  const std::span all(tape_->pinned->data(), tape_->pinned->size());
  tape_->is_broken = tape_->is_broken || bytes > all.size() - tape_->used;
  if (tape_->is_broken) return {};
  const auto out = all.subspan(tape_->used, bytes);
  tape_->used = std::min(all.size(), tape_->used + rounded(bytes));
  return out;
}

void CudaMemory::copy_in(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  stream_->check(stream_->driver().cuMemcpyHtoDAsync(
                     address(to), from.data(), from.size(), stream_->add()),
                 "to copy to its memory");
}

void CudaMemory::copy_out(std::span<std::byte> to, const std::byte* from) {
  if (to.empty()) return;
  stream_->check(stream_->driver().cuMemcpyDtoHAsync(to.data(), address(from),
                                                     to.size(), stream_->add()),
                 "to copy from its memory");
}

void CudaMemory::write(std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  count_copy(from.size());
  if (tape_ != nullptr) {
    const auto through = record(from.size());
    std::ranges::copy(from.first(through.size()), through.begin());
    tape_->writes.emplace_back(from.data(), through.data());
    return copy_in(to, through);
  }
  while (!from.empty()) {
    const auto through = stage(from.size());
    std::ranges::copy(from.first(through.size()), through.begin());
    copy_in(to, through);
    to += through.size();
    from = from.subspan(through.size());
  }
}

void CudaMemory::read(std::span<const CopyOut> copies) {
  for (const auto& [from, to] : copies) count_copy(to.size());
  if (tape_ == nullptr) return read_now(copies);
  for (const auto& [from, to] : copies) {
    const auto through = record(to.size());
    copy_out(through, from);
    tape_->reads.push_back(through);
  }
}

void CudaMemory::read_now(std::span<const CopyOut> copies) {
  struct Part {
    std::span<std::byte> through;
    std::byte* to;
  };
  std::vector<Part> parts;
  const auto deliver = [&] {
    stream_->wait();
    for (const Part& each : parts) std::ranges::copy(each.through, each.to);
    parts.clear();
  };
  for (auto [from, to] : copies) {
    while (!to.empty()) {
      if (!stream_->is_idle() && staged_ == kStaging) deliver();
      const auto through = stage(to.size());
      copy_out(through, from);
      parts.push_back({through, to.data()});
      from += through.size();
      to = to.subspan(through.size());
    }
  }
  deliver();
}

}  // namespace ruleengine::runtime::cuda
