#include "bindings/api/cuts.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace ruleengine::api {
namespace {

using rewrite::Cut;
using rewrite::CutOptions;
using rewrite::Region;

constexpr std::size_t kSets = 5;

constexpr CutOptions kCuts[] = {
    {.steps = 0, .generalizes = true},
    {.steps = 0, .generalizes = false},
    {.steps = 3, .generalizes = false},
    {.steps = 12, .generalizes = false},
    {.steps = CutOptions::kAll, .generalizes = false}};

// The cut of an edit of which no other can be run.
constexpr CutOptions kLast = {
    .steps = 0, .generalizes = false, .looks_through = false};

// A part with larger weights is none that one would look at.
constexpr std::int64_t kMostPartBytes = std::int64_t{64} << 20;

// Both sides of a cut, if they differ on some inputs.
std::optional<DifferingPart> differing_part(const Region& region,
                                            const Cut& cut,
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
  return DifferingPart{*before, *after, std::move(*shown_by)};
}

}  // namespace

ExecutionOptions of_cuts(ExecutionOptions how) {
  how.inputs.clear();
  how.dims.clear();
  how.threads = 1;
  how.most_input_bytes = kSets * runtime::InputOptions::kSetBytes;
  how.most_seconds = std::numeric_limits<double>::infinity();
  return how;
}

bool for_each_cut(const Region& region, std::uint64_t& nodes_left,
                  const std::function<bool(const Cut&)>& visit) {
  std::string last;
  for (const CutOptions& options : kCuts) {
    const bool is_largest = options.steps == CutOptions::kAll;
    if (is_largest && nodes_left == 0) return false;
    const Cut now = cut(region, options);
    if (now.key == last) continue;
    if (is_largest) {
      nodes_left -= std::min<std::uint64_t>(nodes_left, now.before.size());
    }
    if (!visit(now) || (now.is_whole && !now.is_general)) break;
    last = now.key;
  }
  return true;
}

Cut last_cut(const Region& region) { return cut(region, kLast); }

std::optional<DifferingPart> smallest_part(const Region& region,
                                           const engine::Comparing& comparing,
                                           const ExecutionOptions& how,
                                           const engine::OpBodies& bodies) {
  const ExecutionOptions of_cut = of_cuts(how);
  std::optional<DifferingPart> smallest;
  auto nodes_left = std::numeric_limits<std::uint64_t>::max();
  for_each_cut(region, nodes_left, [&](const Cut& now) {
    if (now.weight_bytes > kMostPartBytes) return false;
    if (!now.weights.empty()) return true;  // they are not the model's
    auto part = differing_part(region, now, comparing, of_cut, bodies);
    if (!part || !smallest) smallest = std::move(part);
    return true;
  });
  return smallest;
}

}  // namespace ruleengine::api
