#include "kernels/cuda/attention_engine.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::size_t kMostPlans = 512;

// nullptr where there is no cuDNN. Never deleted: cuDNN may be gone when the
// process ends.
AttentionPlans* make_plans() {
  const auto version = cudnn_version();
  if (!version) return nullptr;
  const auto chip = chip_of_device(0);
  if (!chip) return nullptr;
  return new AttentionPlans(*chip, *version, kMostPlans);
}

AttentionPlans* shared_plans() {
  static AttentionPlans* const kPlans = make_plans();
  return kPlans;
}

}  // namespace

std::unique_ptr<AttentionEngine> AttentionEngine::open(Session& session) {
  AttentionPlans* const plans = shared_plans();
  if (plans == nullptr) return nullptr;
  auto handle = open_handle(session.stream().add());
  if (!handle) return nullptr;
  return std::unique_ptr<AttentionEngine>(
      new AttentionEngine(session, *plans, *std::move(handle)));
}

std::optional<AttentionPlan> AttentionEngine::plan_for(
    const AttentionDescription& d) {
  auto plan = plans_.get(d);
  if (!plan) return std::nullopt;
  return *std::move(plan);
}

bool AttentionEngine::execute(const Call& c, const AttentionDescription& d,
                              const AttentionPlan& plan,
                              const AttentionPointers& at) {
  const std::int64_t bytes = plan.workspace_bytes();
  Tensor workspace;
  if (bytes > 0) workspace = c.allocate(DataType::kUint8, {&bytes, 1});
  const Status ran =
      plan.execute(handle_.get(), at,
                   bytes > 0 ? workspace.mutable_data<std::byte>() : nullptr);
  session_.stream().add();
  if (ran) return true;
  plans_.refuse(d, ran.error());
  return false;
}

void AttentionEngine::refuse(const AttentionDescription& d) {
  plans_.refuse(d, {.what = "the plan gives wrong results"});
}

}  // namespace ruleengine::kernels::cuda
