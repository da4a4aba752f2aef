#include "runtime/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/failure.h"

namespace ruleengine::runtime::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

CUdeviceptr address(const std::byte* block) {
  return reinterpret_cast<CUdeviceptr>(block);
}

}  // namespace

Pinned::Pinned(std::shared_ptr<const Device> device, std::size_t bytes)
    : device_(std::move(device)), size_(bytes) {
  void* data = nullptr;
  device_->check(device_->driver().cuMemHostAlloc(&data, bytes, 0),
                 "to lock memory of the host");
  data_ = static_cast<std::byte*>(data);
}

Pinned::~Pinned() { device_->driver().cuMemFreeHost(data_); }

CudaMemory::CudaMemory(std::shared_ptr<Stream> stream)
    : stream_(std::move(stream)) {}

CudaMemory::~CudaMemory() {
  const CurrentAtEnd current(stream_->device());
  CudaMemory::drop_free();
  staging_.reset();
}

std::shared_ptr<std::byte> CudaMemory::allocate(std::size_t bytes) {
  std::size_t size = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) /
                     kAlignment * kAlignment;
  std::byte* data = nullptr;
  // A free block that wastes at most an eighth.
  const auto fits = free_.lower_bound(size);
  if (fits != free_.end() && fits->first <= size + size / 8) {
    size = fits->first;
    data = fits->second;
    free_.erase(fits);
  } else {
    data = take(size);
  }
  return {data, [self = shared_from_this(), size](std::byte* block) {
            self->free_.emplace(size, block);
          }};
}

std::byte* CudaMemory::take(std::size_t size) {
  // Also between runs.
  const Current current(stream_->device());
  CUdeviceptr out = 0;
  const Driver& driver = stream_->driver();
  CUresult status = driver.cuMemAlloc(&out, size);
  if (status == CUDA_ERROR_OUT_OF_MEMORY && !free_.empty()) {
    drop_free();
    status = driver.cuMemAlloc(&out, size);
  }
  if (status == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t unused = 0, all = 0;
    driver.cuMemGetInfo(&unused, &all);
    fail_limit(Remedy::kNone, "the GPU has too little memory for the model",
               fmt::format("{} more bytes", size),
               fmt::format("{} of {} bytes are free, {} are in use by the run",
                           unused, all, held_));
  }
  driver.check(status, "to allocate memory");
  held_ += size;
  return reinterpret_cast<std::byte*>(out);
}

void CudaMemory::drop_free() {
  if (free_.empty()) return;
  const CurrentAtEnd current(stream_->device());
  for (const auto& [size, block] : free_) {
    stream_->driver().cuMemFree(address(block));
    held_ -= size;
  }
  free_.clear();
}

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

void CudaMemory::write(std::span<const std::byte> from, std::byte* to) {
  while (!from.empty()) {
    const auto through = stage(from.size());
    std::ranges::copy(from.first(through.size()), through.begin());
    stream_->check(
        stream_->driver().cuMemcpyHtoDAsync(address(to), through.data(),
                                            through.size(), stream_->add()),
        "to copy to its memory");
    to += through.size();
    from = from.subspan(through.size());
  }
}

void CudaMemory::read(std::span<const CopyOut> copies) {
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
      stream_->check(
          stream_->driver().cuMemcpyDtoHAsync(through.data(), address(from),
                                              through.size(), stream_->add()),
          "to copy from its memory");
      parts.push_back({through, to.data()});
      from += through.size();
      to = to.subspan(through.size());
    }
  }
  deliver();
}

}  // namespace ruleengine::runtime::cuda
