#include "kernels/cuda/plan_trial.h"

#include <cmath>

#include "kernels/cuda/device/trial.h"
#include "kernels/cuda/flash.h"

namespace ruleengine::kernels::cuda {
namespace {

// Outside of the memory that is planned for runs, where this comes once only.
class Block {
 public:
  Block(Session& session, std::int64_t bytes)
      : data_(session.memory()->allocate(index_of(bytes))) {}
  std::byte* data() const { return data_.get(); }

 private:
  std::shared_ptr<std::byte> data_;
};

// From the first element of a view to behind its last one.
std::int64_t extent(const HeadView& x) {
  const std::int64_t sizes[] = {x.batch, x.heads, x.rows};
  std::int64_t out = x.size;
  for (std::size_t i = 0; i < 3; ++i) out += (sizes[i] - 1) * x.strides[i];
  return out;
}

class Trial {
 public:
  Trial(const AttentionParts& parts, const GpuAttending& a)
      : session_(parts.session()),
        type_(parts.type()),
        width_(static_cast<std::int64_t>(runtime::bytes_of(type_, 1))),
        q_(block_of(a.q)),
        k_(block_of(a.k)),
        v_(block_of(a.v)),
        found_(block_of(a.out)),
        expected_(block_of(a.out)),
        differs_(session_, sizeof(std::int32_t)) {}

  bool passes(Call& c, GpuAttending a, const auto& run) {
    fill(a.q, q_, 1);
    fill(a.k, k_, 2);
    fill(a.v, v_, 3);
    // Scores that have a deviation of 6 leave few keys a weight, so that a
    // wrong one is seen.
    a.scale = 6 * 3 / std::sqrt(static_cast<double>(a.q.size));
    if (!run(a, found_.data())) return false;
    run_flash(c, session_, type_, attention_args(a, expected_.data()));
    return is_close(extent(a.out));
  }

 private:
  Block block_of(const HeadView& x) const {
    return {session_, extent(x) * width_};
  }

  void fill(HeadView& x, const Block& block, std::uint32_t seed) {
    x.data = block.data();
    const std::int64_t count = extent(x);
    session_.launch(
        kernel_of(session_, "trial", "random", type_, kFloats),
        spread(count, device::kTrialThreads),
        device::RandomArgs{.out = block.data(), .count = count, .seed = seed});
  }

  // Weights are rounded to the type before they meet values.
  bool is_close(std::int64_t count) {
    const float part = type_ == DataType::kFloat16 ? 1.0F / 128 : 1.0F / 16;
    std::int32_t differs = 0;
    const auto bytes = std::as_writable_bytes(std::span(&differs, 1));
    session_.memory()->write(bytes, differs_.data());
    session_.launch(
        kernel_of(session_, "trial", "differ", type_, kFloats),
        spread(count, device::kTrialThreads),
        device::DifferArgs{
            .a = found_.data(),
            .b = expected_.data(),
            .count = count,
            .absolute = part,
            .relative = part,
            .differs = reinterpret_cast<std::int32_t*>(differs_.data())});
    const runtime::DeviceMemory::CopyOut copy{differs_.data(), bytes};
    session_.memory()->read({&copy, 1});
    return differs == 0;
  }

  Session& session_;
  DataType type_;
  std::int64_t width_;
  Block q_, k_, v_, found_, expected_, differs_;
};

}  // namespace

bool passes_trial(
    Call& c, const AttentionParts& parts, const GpuAttending& a,
    const std::function<bool(const GpuAttending& a, std::byte* to)>& run) {
  return Trial(parts, a).passes(c, a, run);
}

}  // namespace ruleengine::kernels::cuda
