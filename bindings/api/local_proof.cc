#include "bindings/api/local_proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/api/smallest_part.h"

namespace ruleengine::api {
namespace {

using rewrite::Cut;
using rewrite::CutOptions;
using rewrite::Region;

// Of all cuts of a model that have the weights of the model, and of all that
// reach up to its inputs: no more are looked at.
constexpr std::int64_t kMostWeightBytes = std::int64_t{512} << 20;
constexpr std::uint64_t kMostNodes = 1'000'000;

constexpr std::size_t kFar = 12;
// How far up a cut reaches, one after another, until both sides agree: a rule
// may know something of its inputs that random data does not fulfil.
constexpr CutOptions kCuts[] = {
    {.steps = 0, .generalizes = true},
    {.steps = 0, .generalizes = false},
    {.steps = 3, .generalizes = false},
    {.steps = kFar, .generalizes = false},
    {.steps = CutOptions::kAll, .generalizes = false}};

}  // namespace

LocalProof::LocalProof(const ExecutionOptions& how)
    : compare_(compare_by_kernels(of_cuts(how))) {}

void LocalProof::run_with(const engine::OpBodies& bodies) {
  if (!bodies.empty()) compare_ = bodies.compare_with(std::move(compare_));
}

void LocalProof::begin() {
  known_.clear();  // keys are of one model
  weight_bytes_ = 0;
  nodes_ = 0;
  edits_ = 0;
  verified_ = {};
  undone_.clear();
  open_.clear();
}

std::optional<std::string> LocalProof::judge(const rewrite::Rule& rule,
                                             const Region& region) {
  const auto& edit = rule.changes_meaning();
  if (edit && !edit->is_bounded()) return std::nullopt;
  if (region.results.empty()) return std::nullopt;
  const engine::Comparing comparing{.assumes = region.assumes, .within = edit};
  // Other nodes of the graph, which compute the same further up.
  const bool is_reuse = region.first_node == region.graph.node_count();
  if (is_reuse && cut(region, {.steps = kFar}).is_same) {
    ++edits_;
    return std::nullopt;
  }
  std::string differs, unknown, last;
  for (const CutOptions& options : kCuts) {
    if (options.steps == CutOptions::kAll && nodes_ > kMostNodes) break;
    const Cut now = cut(region, options);
    if (now.key == last) continue;
    if (options.steps == CutOptions::kAll) nodes_ += now.before.size();
    const Outcome& found = outcome(region, now, comparing);
    if (now.is_same || found.kind == Outcome::Kind::kAgree) {
      ++edits_;
      return std::nullopt;
    }
    if (found.kind == Outcome::Kind::kUnknown) {
      unknown = found.why;
    } else if (!now.is_general || now.weights.empty()) {
      differs = found.why;  // what other weights show is no proof
    }
    if (now.is_whole && !now.is_general) break;
    last = now.key;
  }
  if (differs.empty()) {
    auto& [count, why] = open_[rule.name()];
    if (count++ == 0) why = std::move(unknown);
    return std::nullopt;
  }
  const Region::Result& first = region.results.front();
  Undone undone{rule.name(), printable(region.graph.name(first.before)),
                differs};
  // A rule may match there again.
  if (std::ranges::find(undone_, undone) == undone_.end()) {
    undone_.push_back(std::move(undone));
  }
  return "it computes something else: " + differs;
}

const LocalProof::Outcome& LocalProof::outcome(
    const Region& region, const Cut& cut, const engine::Comparing& comparing) {
  std::string key = cut.key;
  key += comparing.assumes ? 'a' : 'n';
  if (comparing.within) {
    key += fmt::format("{}:{}", comparing.within->abs, comparing.within->rel);
  }
  const auto [it, is_new] = known_.try_emplace(std::move(key));
  if (is_new && !cut.is_same) it->second = run(region, cut, comparing);
  return it->second;
}

LocalProof::Outcome LocalProof::run(const Region& region, const Cut& cut,
                                    const engine::Comparing& comparing) {
  using Kind = Outcome::Kind;
  weight_bytes_ += cut.weight_bytes;
  if (weight_bytes_ > kMostWeightBytes) {
    return {Kind::kUnknown, "its weights are large"};
  }
  const auto before = model_of(region, cut, Region::Side::kBefore);
  if (!before) return {Kind::kUnknown, before.error().what};
  const auto after = model_of(region, cut, Region::Side::kAfter);
  if (!after) return {Kind::kUnknown, after.error().what};
  const auto found = compare_(**before, **after, comparing);
  if (!found) {
    const Diagnostic& error = found.error();
    return {Kind::kUnknown,
            error.what + (error.found.empty() ? "" : ": " + error.found)};
  }
  if (!found->unverified.empty()) return {Kind::kUnknown, found->unverified};
  if (!found->difference.empty()) return {Kind::kDiffer, found->difference};
  verified_.inputs += found->verified.inputs;
  verified_.max_abs = std::max(verified_.max_abs, found->verified.max_abs);
  verified_.max_rel = std::max(verified_.max_rel, found->verified.max_rel);
  return {Kind::kAgree, ""};
}

void LocalProof::report(engine::FileReport& report) {
  auto& warnings = report.run.rewrites.warnings;
  for (const Undone& each : undone_) {
    warnings.push_back({.rule = each.rule,
                        .node = each.node,
                        .message = fmt::format(
                            "a rewrite of '{}' is undone, since it computes "
                            "something else: {}",
                            each.node, each.why)});
  }
  for (const auto& [rule, open] : open_) {
    warnings.push_back(
        {.rule = rule,
         .message = fmt::format(
             "{} {} not verified: {}", open.first,
             open.first == 1 ? "rewrite was" : "rewrites were", open.second)});
  }
  if (edits_ == 0) return;
  report.verified = verified_;
  report.verified->edits = edits_;
}

}  // namespace ruleengine::api
