#include "bindings/api/smallest_part.h"

#include <string>
#include <utility>

namespace ruleengine::api {
namespace {

using rewrite::Cut;
using rewrite::CutOptions;
using rewrite::Region;

constexpr std::size_t kSets = 4;

// A part with larger weights is none that one would look at.
constexpr std::int64_t kMostWeightBytes = std::int64_t{64} << 20;

constexpr std::size_t kSteps[] = {0, 1, 3, 6, 12, CutOptions::kAll};

// The two sides of a cut, if they differ on some inputs.
std::optional<SmallestPart> differing_part(const Region& region, const Cut& cut,
                                           const engine::Comparing& comparing,
                                           const ExecutionOptions& how,
                                           const engine::OpBodies& bodies) {
  const auto before = model_of(region, cut, Region::Side::kBefore);
  const auto after = model_of(region, cut, Region::Side::kAfter);
  if (!before || !after) return std::nullopt;
  const auto shown_by = std::make_shared<runtime::NamedData>();
  const auto compare = bodies.compare_with(compare_by_kernels(how, shown_by));
  const auto found = compare(**before, **after, comparing);
  if (!found || found->difference.empty()) return std::nullopt;
  return SmallestPart{*before, *after, std::move(*shown_by)};
}

}  // namespace

ExecutionOptions of_cuts(ExecutionOptions how) {
  how.inputs.clear();
  how.dims.clear();
  how.threads = 1;
  how.most_input_bytes = kSets * runtime::InputOptions::kSetBytes;
  return how;
}

std::optional<SmallestPart> smallest_part(const Region& region,
                                          const engine::Comparing& comparing,
                                          const ExecutionOptions& how,
                                          const engine::OpBodies& bodies) {
  const ExecutionOptions of_cut = of_cuts(how);
  std::optional<SmallestPart> smallest;
  std::string last;
  for (const std::size_t steps : kSteps) {
    const Cut now = cut(region, {.steps = steps, .generalizes = false});
    if (now.weight_bytes > kMostWeightBytes) break;
    if (now.key == last) continue;
    last = now.key;
    auto part = differing_part(region, now, comparing, of_cut, bodies);
    if (!part || !smallest) smallest = std::move(part);
    if (now.is_whole) break;
  }
  return smallest;
}

}  // namespace ruleengine::api
