#include "kernels/cuda/attending_steps.h"

#include <cmath>
#include <limits>

#include "kernels/cuda/device/trial.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

// Elements of a block that has room for a view, and for more of its sequences
// where they begin further apart than they are long.
std::int64_t extent(const HeadView& x) {
  const std::int64_t sizes[] = {x.batch, x.heads, x.rows};
  std::int64_t out = x.size;
  for (std::size_t i = 0; i < 3; ++i) out += (sizes[i] - 1) * x.strides[i];
  return std::max(out, x.batch * x.strides[0]);
}

class Trial {
 public:
  Trial(Call& c, const AttentionParts& parts)
      : c_(c), session_(parts.session()), type_(parts.type()) {}

  Verdict verdict(GpuAttending a, const auto& run) {
    const Tensor q = random(a.q, 1), k = random(a.k, 2), v = random(a.v, 3);
    // Scores that have a deviation of 6 leave few keys a weight, so that a
    // wrong one is seen.
    a.scale = 6 * 3 / std::sqrt(static_cast<double>(a.q.size));
    Tensor found = block(a.out, 0), expected = block(a.out, 0);
    if (!run(a, found.mutable_data<std::byte>())) return Verdict::kNone;
    run_flash(c_, session_, type_,
              attention_args(a, expected.mutable_data<std::byte>()));
    // Weights are rounded to the type before they meet values.
    const float part = type_ == DataType::kFloat16 ? 1.0F / 128 : 1.0F / 16;
    if (!is_within(found, expected, part)) return Verdict::kWrong;
    const Tensor zeros = block(a.out, 0);
    return is_within(expected, zeros, 0) ? Verdict::kNone : Verdict::kRight;
  }

 private:
  Tensor block(const HeadView& x, double value) {
    Tensor out = c_.allocate(type_, Dims{extent(x)});
    fill(session_, out, bits_of(value, type_));
    return out;
  }

  // Numbers in the places of the view, which gets them.
  Tensor random(HeadView& x, std::uint32_t seed) {
    const Dims dims{x.batch, x.heads, x.rows, x.size};
    Tensor values = c_.allocate(type_, dims);
    const std::int64_t count = values.count();
    session_.launch(kernel_of(session_, "trial", "random", type_, kFloats),
                    spread(count, device::kTrialThreads),
                    device::RandomArgs{.out = values.mutable_data<std::byte>(),
                                       .count = count,
                                       .seed = seed});
    Tensor out = block(x, std::numeric_limits<double>::quiet_NaN());
    copy_block(c_, dims, values, dense(dims), out, {0, Dims(Shape(x.strides))});
    x.data = out.data<std::byte>();
    return out;
  }

  bool is_within(const Tensor& a, const Tensor& b, float part) {
    std::int32_t differs = 0;
    const auto bytes = std::as_writable_bytes(std::span(&differs, 1));
    Tensor flag = c_.allocate(DataType::kInt32, {});
    session_.memory()->write(bytes, flag.mutable_data<std::byte>());
    session_.launch(
        kernel_of(session_, "trial", "differ", type_, kFloats),
        spread(a.count(), device::kTrialThreads),
        device::DifferArgs{.a = a.data<std::byte>(),
                           .b = b.data<std::byte>(),
                           .count = a.count(),
                           .absolute = part,
                           .relative = part,
                           .differs = flag.mutable_data<std::int32_t>()});
    const runtime::DeviceMemory::CopyOut copy{flag.data<std::byte>(), bytes};
    session_.memory()->read({&copy, 1});
    return differs == 0;
  }

  Call& c_;
  Session& session_;
  DataType type_;
};

// As long as it lives, tensors come from the memory itself.
class WithoutArena {
 public:
  explicit WithoutArena(runtime::DeviceMemory& memory)
      : memory_(memory), arena_(std::exchange(memory.arena, nullptr)) {}
  ~WithoutArena() { memory_.arena = arena_; }
  WithoutArena(const WithoutArena&) = delete;
  WithoutArena& operator=(const WithoutArena&) = delete;

 private:
  runtime::DeviceMemory& memory_;
  runtime::TensorArena* arena_;
};

}  // namespace

Verdict try_plan(
    Call& c, const AttentionParts& parts, const GpuAttending& a,
    const std::function<bool(const GpuAttending& a, std::byte* to)>& run) {
  const WithoutArena guard(*parts.session().memory());
  return Trial(c, parts).verdict(a, run);
}

}  // namespace ruleengine::kernels::cuda
