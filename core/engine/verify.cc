#include "core/engine/verify.h"

#include <fmt/format.h>

#include <utility>

namespace ruleengine::engine {
namespace {

bool has_assumptions(const Prefix& prefix) {
  return !prefix.report.rewrites.assumptions.empty();
}

}  // namespace

Result<Culprit> find_culprit(const CompareModels& compare,
                             const ir::Model& model, const MakePrefix& make,
                             const std::optional<rewrite::Deviation>& within) {
  Culprit out;
  // What the first `count` rewrites give, and how it differs.
  const auto look = [&](std::uint64_t count, Prefix& prefix) -> Result<bool> {
    auto made = make(count);
    if (!made) return made.error();
    prefix = *std::move(made);
    auto found =
        compare(model, *prefix.model,
                {.assumes = has_assumptions(prefix), .within = within});
    if (!found) return found.error();
    const bool is_wrong = !found->difference.empty();
    if (is_wrong) out.finding = *std::move(found);
    return is_wrong;
  };
  Prefix wrong;
  const auto all = look(~std::uint64_t{0}, wrong);
  if (!all) return all.error();
  if (!*all) return out;
  out.of = wrong.report.rewrites.edits;
  std::uint64_t right = 0, first_wrong = out.of;
  while (first_wrong - right > 1) {
    const std::uint64_t middle = right + (first_wrong - right) / 2;
    Prefix prefix;
    const auto is_wrong = look(middle, prefix);
    if (!is_wrong) return is_wrong.error();
    if (*is_wrong) {
      first_wrong = middle;
      wrong = std::move(prefix);
    } else {
      right = middle;
    }
  }
  if (first_wrong == 0) return out;
  const rewrite::DriverReport& report = wrong.report.rewrites;
  out.number = first_wrong;
  for (const rewrite::RuleReport& each : report.rules) {
    if (each.rule != report.last_rule) continue;
    out.rule = each.name;
    out.file = each.file;
  }
  out.node = report.last_node;
  return out;
}

Diagnostic mismatch_error(const std::string& model, const Culprit& culprit,
                          const Finding& whole) {
  Diagnostic out{.kind = ErrorKind::kVerify,
                 .what = "the result computes something else than the model",
                 .where = model,
                 .expected = "equal outputs, within the rounding of the type",
                 .found = whole.difference};
  if (culprit.number == 0) {
    out.hint = "no single rewrite was found that makes the difference";
    return out;
  }
  out.found = culprit.finding.difference;
  out.where = fmt::format("{}: rule '{}' at node '{}', rewrite {} of {}",
                          culprit.file, culprit.rule, printable(culprit.node),
                          culprit.number, culprit.of);
  return out;
}

Diagnostic unverified_error(const std::string& model, const Finding& finding) {
  return {.kind = ErrorKind::kVerify,
          .what = "the result was not verified",
          .where = model,
          .found = finding.unverified};
}

}  // namespace ruleengine::engine
