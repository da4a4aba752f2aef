// A backend for tests: a device whose memory the host cannot read. It has
// twenty ops, on tensors of float and int64, and computes them as the CPU does,
// so that a model that runs on both gives the same bits. It counts what it
// does.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu.h"
#include "runtime/memory.h"

namespace ruleengine::kernels {

// The same pages are mapped twice: where tensors say that they are, nobody may
// read or write them; the device has its own view.
class DeviceMemory final : public runtime::Memory,
                           public std::enable_shared_from_this<DeviceMemory> {
 public:
  static constexpr std::size_t kSize = std::size_t{1} << 30;

  DeviceMemory() {
    const int file = ::memfd_create("device", 0);
    if (file < 0 || ::ftruncate(file, kSize) != 0) throw std::bad_alloc();
    outside_ = map(file, PROT_NONE);
    inside_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }
  ~DeviceMemory() override {
    ::munmap(outside_, kSize);
    ::munmap(inside_, kSize);
  }

  std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64;
    const std::lock_guard lock(mutex_);
    std::size_t at = end_;
    if (const auto known = free_.find(size); known != free_.end()) {
      at = known->second;
      free_.erase(known);
    } else {
      if (size > kSize - end_) throw std::bad_alloc();
      end_ += size;
    }
    ++blocks;
    return {outside_ + at, [self = shared_from_this(), at, size](std::byte*) {
              const std::lock_guard locked(self->mutex_);
              --self->blocks;
              self->free_.emplace(size, at);
            }};
  }
  void write(std::span<const std::byte> from, std::byte* to) override {
    ++writes;
    std::ranges::copy(from, inside(to));
  }
  void read(const std::byte* from, std::span<std::byte> to) override {
    ++reads;
    std::copy_n(inside(from), to.size(), to.begin());
  }

  // Where the device sees a block.
  std::byte* inside(const std::byte* block) const {
    return inside_ + (block - outside_);
  }

  std::size_t writes = 0, reads = 0, blocks = 0;

 private:
  static std::byte* map(int file, int access) {
    void* at = ::mmap(nullptr, kSize, access, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(at);
  }

  std::mutex mutex_;
  std::byte *outside_ = nullptr, *inside_ = nullptr;
  std::size_t end_ = 0;
  std::multimap<std::size_t, std::size_t> free_;  // by size
};

class TestDevice final : public runtime::Backend {
 public:
  static constexpr std::array<std::string_view, 20> kOps = {
      "Add",    "Concat", "Div",       "Erf",     "ReduceMean",
      "Gather", "Gemm",   "MatMul",    "Mul",     "Neg",
      "Pow",    "Relu",   "Reshape",   "Sqrt",    "Slice",
      "Sub",    "Tanh",   "Transpose", "Softmax", "LayerNormalization"};

  std::string_view name() const override { return "test device"; }
  runtime::Memory* memory() const override { return memory_.get(); }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return domain.empty() && std::ranges::find(kOps, type) != kOps.end();
  }
  std::unique_ptr<const runtime::PreparedNode> prepare(
      const ops::NodeView& node, const runtime::KnownInputs& known,
      runtime::KernelRun& run) const override {
    const runtime::Preparation p(node, {}, run, known.types, memory());
    const ir::Type* type = p.output_type(0);
    if (type == nullptr || !type->is_tensor() ||
        (type->elem != ir::DataType::kFloat &&
         type->elem != ir::DataType::kInt64)) {
      runtime::decline("the result is not known to be float or int64");
    }
    return std::make_unique<Node>(*this, node, known, run);
  }
  void finish() const override { ++finished; }

  DeviceMemory& own() const { return *memory_; }

  mutable std::size_t ran = 0, finished = 0;

 private:
  // A node of the CPU that sees the memory of the device.
  class Node final : public runtime::PreparedNode {
   public:
    Node(const TestDevice& device, const ops::NodeView& node,
         const runtime::KnownInputs& known, runtime::KernelRun& run)
        : device_(device),
          view_(node),
          node_(cpu().prepare(node, known, run)) {}

    bool is_released(std::size_t i) const override {
      return node_->is_released(i);
    }

    void run(runtime::Call& call) const override {
      ++device_.ran;
      const auto given = call.values();
      std::vector<runtime::Datum> seen(given.size());
      std::vector<runtime::Datum*> inputs(given.size());
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i] == nullptr) continue;
        const bool on_host =
            i < 32 && (device_.host_inputs(view_.op()) >> i & 1);
        seen[i] = seen_inside(given[i]->tensor(), on_host || is_released(i));
        inputs[i] = &seen[i];
      }
      std::vector<runtime::Datum> made(call.outputs().size());
      runtime::Call inner(view_, inputs, made, call.run());
      node_->run(inner);
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (!made[i].is_tensor()) continue;
        const runtime::Tensor& from = made[i].tensor();
        auto& to = call.output(i, from.dtype(), from.dims());
        std::ranges::copy(from.bytes(),
                          device_.own().inside(to.data<std::byte>()));
      }
    }

   private:
    runtime::Tensor seen_inside(const runtime::Tensor& t, bool on_host) const {
      runtime::Memory* expected = on_host ? nullptr : device_.memory();
      if (t.place() != expected && t.data<std::byte>() != nullptr) {
        runtime::fail("an input is not where the device wants it");
      }
      if (on_host) return t;
      return {t.dtype(), t.dims(),
              std::shared_ptr<const std::byte>(
                  t.owner(), device_.own().inside(t.data<std::byte>()))};
    }

    const TestDevice& device_;
    ops::NodeView view_;
    std::unique_ptr<const runtime::PreparedNode> node_;
  };

  std::shared_ptr<DeviceMemory> memory_ = std::make_shared<DeviceMemory>();
};

}  // namespace ruleengine::kernels
