// A backend for tests: a device whose memory the host cannot read. It has
// twenty ops, on tensors of float and int64, and computes them as the CPU does,
// so that a model that runs on both gives the same bits. What a node computes
// is there when the next one runs, or when it is waited for. It counts what it
// does.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu.h"
#include "runtime/memory.h"

namespace ruleengine::kernels {

// The same pages are mapped twice: where tensors say that they are, nobody may
// read or write them; the device has its own view.
class TestMemory final : public runtime::DeviceMemory,
                         public std::enable_shared_from_this<TestMemory> {
 public:
  static constexpr std::size_t kSize = std::size_t{1} << 30, kAlignment = 64;

  explicit TestMemory(std::size_t limit)
      : DeviceMemory(kAlignment), limit_(limit) {
    const int file = ::memfd_create("device", 0);
    if (file < 0 || ::ftruncate(file, kSize) != 0) throw std::bad_alloc();
    outside_ = map(file, PROT_NONE);
    inside_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }
  ~TestMemory() override {
    ::munmap(outside_, kSize);
    ::munmap(inside_, kSize);
  }

  std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    const std::size_t size =
        runtime::rounded_up(std::max<std::size_t>(bytes, 1), kAlignment);
    std::size_t at = end_;
    if (const auto known = free_.find(size); known != free_.end()) {
      at = known->second;
      free_.erase(known);
    } else {
      if (size > limit_ - end_) {
        runtime::fail_limit(Remedy::kNone, "the device has too little memory",
                            {}, {});
      }
      end_ += size;
    }
    ++blocks;
    return {outside_ + at, [self = shared_from_this(), at, size](std::byte*) {
              --self->blocks;
              self->free_.emplace(size, at);
            }};
  }
  void write(std::span<const std::byte> from, std::byte* to) override {
    ++writes;
    std::ranges::copy(from, inside(to));
  }
  void read(std::span<const CopyOut> copies) override {
    finish();
    for (const auto& [from, to] : copies) {
      ++reads;
      std::copy_n(inside(from), to.size(), to.begin());
    }
  }

  // Its nodes run on the CPU.
  void copy(const runtime::StridedCopy&) override {
    runtime::fail("the device copies nothing by itself");
  }

  // Where the device sees a block.
  std::byte* inside(const std::byte* block) const {
    return inside_ + (block - outside_);
  }

  // Work that is done later, at the latest before the next.
  void add(std::function<void()> work) {
    finish();
    pending_ = std::move(work);
  }
  void finish() {
    if (pending_) std::exchange(pending_, nullptr)();
  }

  bool is_idle() const { return !pending_; }

  std::size_t writes = 0, reads = 0, blocks = 0;

 private:
  static std::byte* map(int file, int access) {
    void* at = ::mmap(nullptr, kSize, access, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(at);
  }

  const std::size_t limit_;
  std::function<void()> pending_;
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

  explicit TestDevice(std::size_t limit = TestMemory::kSize)
      : memory(std::make_shared<TestMemory>(limit)) {}

  std::string_view name() const override { return "test device"; }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return domain.empty() && std::ranges::find(kOps, type) != kOps.end();
  }
  std::unique_ptr<runtime::BackendSession> open() const override {
    return std::make_unique<Session>(*this);
  }

  const std::shared_ptr<TestMemory> memory;
  mutable std::size_t ran = 0;

 private:
  // A node of the CPU that sees the memory of the device.
  class Node final : public runtime::PreparedNode {
   public:
    Node(const TestDevice& device, const ops::NodeView& node,
         std::unique_ptr<const runtime::PreparedNode> on_cpu)
        : device_(device), view_(node), node_(std::move(on_cpu)) {}

    bool is_released(std::size_t i) const override {
      return node_->is_released(i);
    }

    void run(runtime::Call& call) const override {
      ++device_.ran;
      device_.memory->finish();
      const auto given = call.values();
      std::vector<runtime::Datum> seen(given.size());
      std::vector<const runtime::Datum*> inputs(given.size());
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i] == nullptr) continue;
        const bool on_host =
            i < 32 && (device_.host_inputs(view_.op()) >> i & 1) != 0;
        seen[i] = seen_inside(given[i]->tensor(), on_host || is_released(i));
        inputs[i] = &seen[i];
      }
      std::vector<runtime::Datum> made(call.outputs().size());
      runtime::Call inner(view_, inputs, made, call.run());
      node_->run(inner);
      std::vector<runtime::Tensor> to;
      for (std::size_t i = 0; i < made.size(); ++i) {
        const runtime::Tensor& from = made[i].tensor();
        to.push_back(call.output(i, from.dtype(), from.dims()));
      }
      device_.memory->add([&memory = *device_.memory, made = std::move(made),
                           to = std::move(to)] {
        for (std::size_t i = 0; i < made.size(); ++i) {
          std::ranges::copy(made[i].tensor().bytes(),
                            memory.inside(to[i].data<std::byte>()));
        }
      });
    }

   private:
    runtime::Tensor seen_inside(const runtime::Tensor& t, bool on_host) const {
      const auto* expected = on_host ? nullptr : device_.memory.get();
      if (t.place() != expected && t.data<std::byte>() != nullptr) {
        runtime::fail("an input is not where the device wants it");
      }
      if (on_host) return t;
      return {t.dtype(), t.dims(),
              std::shared_ptr<const std::byte>(
                  t.owner(), device_.memory->inside(t.data<std::byte>()))};
    }

    const TestDevice& device_;
    ops::NodeView view_;
    std::unique_ptr<const runtime::PreparedNode> node_;
  };

  class Session final : public runtime::BackendSession {
   public:
    explicit Session(const TestDevice& device)
        : device_(device), cpu_(cpu().open()) {}

    runtime::DeviceMemory* memory() override { return device_.memory.get(); }
    std::unique_ptr<const runtime::PreparedNode> prepare(
        const ops::NodeView& node, const runtime::KnownInputs& known,
        runtime::KernelRun& run) override {
      const runtime::Preparation p(node, {}, run, known.types, memory());
      const ir::Type* type = p.output_type(0);
      if (type == nullptr || !type->is_tensor() ||
          (type->elem != ir::DataType::kFloat &&
           type->elem != ir::DataType::kInt64)) {
        runtime::decline("the result is not known to be float or int64");
      }
      return std::make_unique<Node>(device_, node,
                                    cpu_->prepare(node, known, run));
    }
    void finish() override { device_.memory->finish(); }

   private:
    const TestDevice& device_;
    std::unique_ptr<runtime::BackendSession> cpu_;
  };
};

}  // namespace ruleengine::kernels
