#include "bindings/api/local_proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/api/cuts.h"

namespace ruleengine::api {
namespace {

using rewrite::Cut;
using rewrite::Region;

// Of all cuts of a model that have the weights of the model, and of all that
// reach up to its inputs. An edit for which more would be needed is not proven.
constexpr std::int64_t kMostWeightBytes = std::int64_t{512} << 20;
constexpr std::uint64_t kMostNodes = 1'000'000;

constexpr std::size_t kFar = 12;

// Whether an error ends the run: others, want of memory for tensors among them,
// are of one comparison.
bool ends_run(const Diagnostic& error) {
  return error.kind == ErrorKind::kRule ||
         error.kind == ErrorKind::kCancelled ||
         (error.kind == ErrorKind::kLimit && error.remedy != Remedy::kTensors);
}

}  // namespace

LocalProof::LocalProof(const ExecutionOptions& how)
    : compare_(compare_by_kernels(of_cuts(how))) {}

void LocalProof::run_with(const engine::OpBodies& bodies) {
  if (!bodies.empty()) compare_ = bodies.compare_with(std::move(compare_));
}

void LocalProof::begin() {
  known_.clear();  // keys are of one model
  weight_bytes_left_ = kMostWeightBytes;
  nodes_left_ = kMostNodes;
  edits_ = 0;
  verified_ = {};
  undone_.clear();
  open_.clear();
  stopped_ = {};
}

std::optional<std::string> LocalProof::judge(const rewrite::Rule& rule,
                                             const Region& region) {
  const auto& edit = rule.changes_meaning();
  if (!stopped_ || (edit && !edit->is_bounded())) return std::nullopt;
  if (region.results.empty()) return std::nullopt;
  const engine::Comparing comparing{.assumes = region.assumes, .within = edit};
  // Other nodes of the graph, which compute the same further up.
  const bool is_reuse = region.first_node == region.graph.node_count();
  if (is_reuse && cut(region, {.steps = kFar}).is_same) {
    ++edits_;
    return std::nullopt;
  }
  const Outcome found = widen(region, comparing);
  if (!stopped_) return std::nullopt;
  if (found.kind == Outcome::Kind::kAgree) {
    ++edits_;
    return std::nullopt;
  }
  if (found.kind != Outcome::Kind::kDiffer) {
    auto& [count, why] = open_[rule.name()];
    if (count++ == 0) why = found.why;
    return std::nullopt;
  }
  const Region::Result& first = region.results.front();
  Undone undone{rule.name(), printable(region.graph.name(first.before)),
                found.why};
  // A rule may match there again.
  if (std::ranges::find(undone_, undone) == undone_.end()) {
    undone_.push_back(std::move(undone));
  }
  return "it computes something else: " + found.why;
}

// What comes of the first cut that agrees, else of the last that could be run.
LocalProof::Outcome LocalProof::widen(const Region& region,
                                      const engine::Comparing& comparing) {
  using Kind = Outcome::Kind;
  Outcome out;
  const auto look = [&](const Cut& now) {
    const Outcome found = now.is_same ? Outcome{Kind::kAgree, ""}
                                      : outcome(region, now, comparing);
    // What other weights show is no proof.
    const bool is_proof = found.kind != Kind::kDiffer || now.weights.empty();
    const bool keeps =
        found.kind == Kind::kUnknown && out.kind == Kind::kDiffer;
    if (is_proof && !keeps) out = found;
    return stopped_ && out.kind != Kind::kAgree && out.kind != Kind::kTooMuch;
  };
  if (!for_each_cut(region, nodes_left_, look)) {
    return {Kind::kTooMuch, "it is large"};
  }
  if (out.kind == Kind::kUnknown && stopped_) look(last_cut(region));
  return out;
}

const LocalProof::Outcome& LocalProof::outcome(
    const Region& region, const Cut& cut, const engine::Comparing& comparing) {
  std::string key = cut.key;
  key += comparing.assumes ? 'a' : 'n';
  if (comparing.within) {
    key += fmt::format("{}:{}", comparing.within->abs, comparing.within->rel);
  }
  const auto [it, is_new] = known_.try_emplace(std::move(key));
  if (is_new) it->second = run(region, cut, comparing);
  return it->second;
}

LocalProof::Outcome LocalProof::run(const Region& region, const Cut& cut,
                                    const engine::Comparing& comparing) {
  using Kind = Outcome::Kind;
  if (cut.weight_bytes > weight_bytes_left_) {
    return {Kind::kTooMuch, "its weights are large"};
  }
  weight_bytes_left_ -= cut.weight_bytes;
  const auto before = model_of(region, cut, Region::Side::kBefore);
  if (!before) return {Kind::kUnknown, before.error().what};
  const auto after = model_of(region, cut, Region::Side::kAfter);
  if (!after) return {Kind::kUnknown, after.error().what};
  const auto found = compare_(**before, **after, comparing);
  if (!found) {
    const Diagnostic& error = found.error();
    if (ends_run(error)) stopped_ = error;
    return {Kind::kUnknown,
            error.what + (error.found.empty() ? "" : ": " + error.found)};
  }
  if (!found->unverified.empty()) return {Kind::kUnknown, found->unverified};
  if (!found->difference.empty()) return {Kind::kDiffer, found->difference};
  if (found->left_out > 0) {
    return {Kind::kUnknown, "a result depends on random numbers"};
  }
  verified_.inputs += found->verified.inputs;
  verified_.max_abs = std::max(verified_.max_abs, found->verified.max_abs);
  verified_.max_rel = std::max(verified_.max_rel, found->verified.max_rel);
  return {Kind::kAgree, ""};
}

Status LocalProof::report(engine::FileReport& report) {
  if (!stopped_) return stopped_;
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
  if (edits_ == 0) return {};
  report.verified = verified_;
  report.verified->edits = edits_;
  return {};
}

}  // namespace ruleengine::api
