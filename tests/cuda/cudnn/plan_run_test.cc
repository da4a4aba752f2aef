// Runs plans on the stand-ins.
#include <cuda.h>
#include <cudnn_graph.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "core/ir/narrow_float.h"
#include "kernels/cuda/attention/check.h"
#include "tests/cuda/cudnn/attention_case.h"
#include "tests/cuda/standin/standin.h"

namespace ruleengine::kernels::cuda {
namespace {

std::size_t width_of(DataType type) {
  return static_cast<std::size_t>(ir::bit_width(type)) / 8;
}

template <typename T>
void store(std::byte* at, double value) {
  const T out = static_cast<T>(value);
  std::memcpy(at, &out, sizeof(out));
}

std::vector<std::byte> bytes_of(const Elements& from) {
  const std::size_t width = width_of(from.type);
  std::vector<std::byte> out(from.values.size() * width);
  for (std::size_t i = 0; i < from.values.size(); ++i) {
    std::byte* at = out.data() + i * width;
    const double value = from.values[i];
    if (ir::is_narrow_float(from.type)) {
      const auto bits =
          static_cast<std::uint16_t>(ir::narrow(from.type, value));
      std::memcpy(at, &bits, sizeof(bits));
    } else if (from.type == DataType::kFloat) {
      store<float>(at, value);
    } else if (from.type == DataType::kInt32) {
      store<std::int32_t>(at, value);
    } else {
      store<std::int64_t>(at, value);
    }
  }
  return out;
}

double element(DataType type, const std::byte* at) {
  if (type == DataType::kFloat) {
    float out = 0;
    std::memcpy(&out, at, sizeof(out));
    return static_cast<double>(out);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof(bits));
  return ir::widen(type, bits);
}

// A device with a stream, a handle of cuDNN, and the memory of one run.
class Bench {
 public:
  Bench() {
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context_, 0);
    cuCtxPushCurrent(context_);
    cuStreamCreate(&stream_, 0);
    cudnnCreate(&handle_);
    cudnnSetStream(handle_, stream_);
  }
  ~Bench() {
    cudnnDestroy(handle_);
    cuStreamDestroy(stream_);
    for (const CUdeviceptr each : blocks_) cuMemFree(each);
    cuCtxPopCurrent(&context_);
    cuDevicePrimaryCtxRelease(0);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  cudnnHandle_t handle() const { return handle_; }
  void* room(std::size_t bytes) {
    CUdeviceptr out = 0;
    cuMemAlloc(&out, bytes);
    blocks_.push_back(out);
    return reinterpret_cast<void*>(out);
  }
  // nullptr where there is nothing.
  void* put(const Elements& from) {
    if (from.values.empty()) return nullptr;
    const auto bytes = bytes_of(from);
    void* to = room(bytes.size());
    standin::add_work(stream_, "data of a test", {to}, [to, bytes] {
      std::memcpy(to, bytes.data(), bytes.size());
    });
    return to;
  }
  std::vector<double> get(DataType type, const void* from, std::size_t count) {
    std::vector<double> out(count);
    standin::add_work(stream_, "results of a test", {from}, [&] {
      const auto* at = static_cast<const std::byte*>(from);
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = element(type, at + i * width_of(type));
      }
    });
    cuStreamSynchronize(stream_);
    return out;
  }

 private:
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  cudnnHandle_t handle_ = nullptr;
  std::vector<CUdeviceptr> blocks_;
};

AttentionPointers pointers_of(const AttentionCase& c, Bench& bench) {
  AttentionPointers at{.q = bench.put(c.q),
                       .k = bench.put(c.k),
                       .v = bench.put(c.v),
                       .bias = bench.put(c.bias),
                       .q_lengths = bench.put(c.q_lengths),
                       .kv_lengths = bench.put(c.kv_lengths),
                       .k_pages = bench.put(c.pages),
                       .v_pages = bench.put(c.pages),
                       .q_offsets = bench.put(c.q_offsets),
                       .k_offsets = bench.put(c.k_offsets),
                       .v_offsets = bench.put(c.v_offsets),
                       .o_offsets = bench.put(c.o_offsets),
                       .sink = bench.put(c.sink),
                       .scale = c.scale,
                       .cap = c.cap};
  const AttentionDescription& d = c.description();
  at.o = bench.room(static_cast<std::size_t>(c.result_count()) *
                    width_of(d.element));
  if (d.has_statistics) {
    at.statistics = bench.room(
        static_cast<std::size_t>(d.batch * d.q_heads * d.q_length) * 4);
  }
  return at;
}

PlanOutput output_of(const AttentionPlan& plan, const AttentionCase& c) {
  const AttentionDescription& d = c.description();
  Bench bench;
  const AttentionPointers at = pointers_of(c, bench);
  void* workspace =
      plan.workspace_bytes() == 0
          ? nullptr
          : bench.room(static_cast<std::size_t>(plan.workspace_bytes()));
  const Status ran = plan.execute(bench.handle(), at, workspace);
  if (!ran) return {ran.error().text(), {}, {}};
  PlanOutput out;
  out.values =
      bench.get(d.element, at.o, static_cast<std::size_t>(c.result_count()));
  if (d.has_statistics) {
    out.statistics =
        bench.get(DataType::kFloat, at.statistics,
                  static_cast<std::size_t>(d.batch * d.q_heads * d.q_length));
  }
  return out;
}

// Also where both are no number.
bool equal_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

}  // namespace

PlanOutput run_plan(const AttentionCase& c) {
  const AttentionDescription& d = c.description();
  const auto chip = chip_of_device(0);
  if (!chip) return {chip.error().text(), {}, {}};
  if (const auto reason = check(d, *chip, *cudnn_version())) {
    return {*reason, {}, {}};
  }
  const auto plan = AttentionPlan::build(d, *chip);
  if (!plan) return {plan.error().text(), {}, {}};
  PlanOutput out = output_of(*plan, c);
  // A later process reads the plan.
  const auto bytes = plan->serialize();
  if (!bytes) return {bytes.error().text(), {}, {}};
  const auto read = AttentionPlan::deserialize(*bytes, *chip);
  if (!read) return {read.error().text(), {}, {}};
  const PlanOutput again = output_of(*read, c);
  out.trouble += again.trouble;
  if (!equal_bits(out.values, again.values) ||
      !equal_bits(out.statistics, again.statistics)) {
    out.trouble += "the plan computes something else after it was read\n";
  }
  for (const std::string& each : standin::driver().misuse) {
    out.trouble += each + "\n";
  }
  standin::driver().misuse.clear();
  return out;
}

}  // namespace ruleengine::kernels::cuda
