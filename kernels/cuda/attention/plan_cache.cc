#include "kernels/cuda/attention/plan_cache.h"

#include "kernels/cuda/attention/bytes.h"
#include "kernels/cuda/attention/check.h"

namespace ruleengine::kernels::cuda {

std::string PlanPlace::key() const {
  ByteWriter out;
  out.text(chip.key());
  out.number(cudnn);
  out.number(frontend);
  return out.take();
}

std::string plan_key(const AttentionDescription& d, const std::string& place) {
  ByteWriter out;
  out.text(d.key());
  out.text(place);
  return out.take();
}

AttentionPlans::AttentionPlans(const Chip& chip, std::int64_t version,
                               std::size_t most, std::optional<PlanStore> store,
                               BlockedVersions blocked)
    : chip_(chip),
      version_(version),
      blocked_(std::move(blocked)),
      cache_({.build =
                  [chip](const AttentionDescription& d) {
                    return AttentionPlan::build(d, chip);
                  },
              .load =
                  [chip](std::string_view bytes) {
                    return AttentionPlan::deserialize(bytes, chip);
                  },
              .save = [](const AttentionPlan& p) { return p.serialize(); }},
             {chip, version, cudnn_frontend_version()}, most,
             std::move(store)) {}

std::optional<Diagnostic> AttentionPlans::refusal_of(
    const AttentionDescription& d) const {
  auto reason = check(d, chip_, version_, blocked_);
  if (!reason) return std::nullopt;
  return Diagnostic{.what = *std::move(reason)};
}

Result<AttentionPlan> AttentionPlans::get(const AttentionDescription& d) {
  const AttentionDescription wanted = canonical(d);
  if (auto refusal = refusal_of(wanted)) return *std::move(refusal);
  return cache_.get(wanted);
}

std::optional<Result<AttentionPlan>> AttentionPlans::find(
    const AttentionDescription& d) {
  const AttentionDescription wanted = canonical(d);
  if (auto refusal = refusal_of(wanted)) return *std::move(refusal);
  return cache_.find(wanted);
}

}  // namespace ruleengine::kernels::cuda
