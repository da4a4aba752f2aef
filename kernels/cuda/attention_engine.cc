#include "kernels/cuda/attention_engine.h"

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "runtime/failure.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::size_t kMostPlans = 512;
constexpr std::uint64_t kMostStored = std::uint64_t{256} << 20;
constexpr const char* kFolder = "RULEENGINE_PLANS";

// Where plans are kept: what the environment says, and nowhere if that is
// empty; else in the user's caches.
std::optional<PlanStore> store_of_user() {
  std::filesystem::path folder;
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  if (std::getenv(kFolder) != nullptr) {
    folder = variable(kFolder);
  } else if (const auto caches = variable("XDG_CACHE_HOME"); !caches.empty()) {
    folder = std::filesystem::path(caches) / "ruleengine" / "plans";
  } else if (const auto home = variable("HOME"); !home.empty()) {
    folder = std::filesystem::path(home) / ".cache" / "ruleengine" / "plans";
  }
  if (folder.empty()) return std::nullopt;
  return PlanStore(std::move(folder), kMostStored);
}

// nullptr where there is no cuDNN. Never deleted: cuDNN may be gone when the
// process ends.
AttentionPlans* make_plans() {
  const auto version = cudnn_version();
  if (!version) return nullptr;
  const auto chip = chip_of_device(0);
  if (!chip) return nullptr;
  const auto blocked = blocked_versions();
  if (!blocked) return nullptr;
  return new AttentionPlans(*chip, *version, kMostPlans, store_of_user(),
                            *blocked);
}

// Where they cannot be made, they are tried again for the next session.
AttentionPlans* shared_plans() {
  static std::mutex mutex;
  static AttentionPlans* plans = nullptr;
  const std::lock_guard lock(mutex);
  if (plans == nullptr) plans = make_plans();
  return plans;
}

// Of all sessions that are open. It ends with the last of them: when the
// process ends, what its thread uses may be gone.
std::shared_ptr<PlansAhead> plans_ahead(AttentionPlans& plans) {
  static std::mutex mutex;
  static std::weak_ptr<PlansAhead> shared;
  const std::lock_guard lock(mutex);
  auto out = shared.lock();
  if (out == nullptr) shared = out = std::make_shared<PlansAhead>(plans);
  return out;
}

}  // namespace

Result<BlockedVersions> blocked_versions() {
  constexpr const char* kName = "RULEENGINE_BLOCKED_PLANS";
  const char* const path = std::getenv(kName);
  if (path == nullptr) return BlockedVersions::built_in();
  auto out = BlockedVersions::read(path);
  if (out) return out;
  Diagnostic error = out.error();
  if (error.hint.empty()) {
    error.hint = std::string("the variable ") + kName + " names the list";
  }
  return error;
}

PlanCounts plan_counts() {
  const AttentionPlans* const plans = shared_plans();
  return plans == nullptr ? PlanCounts() : plans->counts();
}

AttentionEngine::AttentionEngine(Session& session, AttentionPlans& plans,
                                 HandlePointer handle)
    : session_(session),
      plans_(plans),
      handle_(std::move(handle)),
      ahead_(plans_ahead(plans)) {}

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
  const auto plan =
      session_.is_recording() ? plans_.find(d) : std::optional(plans_.get(d));
  if (!plan) runtime::fail("a plan that is built while a run is recorded");
  if (!*plan) return std::nullopt;
  return **plan;
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
  // Another thread may drop the plan meanwhile.
  session_.keep(plan.owner());
  if (ran) return true;
  // Another error is that of a moment.
  if (ran.error().kind == ErrorKind::kModel) {
    plans_.refuse(d, ran.error(), false);
  }
  return false;
}

}  // namespace ruleengine::kernels::cuda
