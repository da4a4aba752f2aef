#include "kernels/cuda/attention_engine.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::size_t kMostPlans = 512;

AttentionPlans* make_plans() {
  const auto version = cudnn_version();
  if (!version) decline(version.error().what);
  const auto chip = chip_of_device(0);
  if (!chip) decline(chip.error().what);
  return new AttentionPlans(*chip, *version, kMostPlans);
}

// Where they cannot be made, they are tried again for the next session. Never
// deleted: cuDNN may be gone when the process ends.
AttentionPlans& shared_plans() {
  static AttentionPlans* const kPlans = make_plans();
  return *kPlans;
}

HandlePointer handle_of(Session& session) {
  auto made = open_handle(session.stream().add());
  if (!made) decline(made.error().what);
  return *std::move(made);
}

void need_size(std::optional<std::int64_t> size) {
  if (!size) decline("the size of a head is not known");
  if (*size < 8 || *size > 256 || *size % 8 != 0) {
    decline("the size of a head is no multiple of 8 up to 256: " +
            std::to_string(*size));
  }
}

}  // namespace

void need_engine(DataType type, std::optional<std::int64_t> qk_size,
                 std::optional<std::int64_t> v_size) {
  if (type != DataType::kFloat16 && type != DataType::kBfloat16) {
    decline("attention in " + std::string(ir::data_type_name(type)));
  }
  need_size(qk_size);
  need_size(v_size);
}

AttentionEngine::AttentionEngine(Session& session)
    : session_(session), plans_(shared_plans()), handle_(handle_of(session)) {}

void AttentionEngine::run(const Call& c, const AttentionDescription& d,
                          const AttentionPointers& at) {
  const auto plan = plans_.get(d);
  if (!plan) {
    runtime::fail_limit(Remedy::kDevice,
                        "the GPU cannot compute this attention", {},
                        plan.error().what);
  }
  const std::int64_t bytes = plan->workspace_bytes();
  Tensor workspace;
  if (bytes > 0) workspace = c.allocate(DataType::kUint8, {&bytes, 1});
  session_.stream().add();
  Status ran =
      plan->execute(handle_.get(), at,
                    bytes > 0 ? workspace.mutable_data<std::byte>() : nullptr);
  if (ran) return;
  ran.error().remedy = Remedy::kDevice;
  throw runtime::Failure{ran.error()};
}

}  // namespace ruleengine::kernels::cuda
