#include "bindings/cli/tuning.h"

#include <fmt/format.h>

#include "bindings/cli/terminal.h"

namespace ruleengine::cli {
namespace {

constexpr double kMilliseconds = 1e3;

// Says where nothing vouches for the result.
std::string compared_text(bool compared) {
  return compared ? "" : "; the runtime gave no outputs to compare";
}

std::string speedup_text(const Spread& speedup) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", speedup.median, speedup.low,
                     speedup.high);
}

std::string gain_text(const engine::Tuned::Effect& effect) {
  if (!effect.failed.empty()) return printable(effect.failed);
  return fmt::format("{:+.3f} ms",
                     (effect.without - effect.with) * kMilliseconds);
}

std::string verdict_text(const engine::Tuned::Effect& effect) {
  const std::string text = effect.kept ? "kept" : "left out";
  if (effect.verdict == engine::Verdict::kSame) return text + ", no difference";
  if (effect.verdict != engine::Verdict::kFailed) return text;
  return text + (effect.kept ? ", fails without" : ", fails with it");
}

}  // namespace

std::string text_of(const engine::Tuned& tuned, bool verbose) {
  std::string text;
  std::vector<std::vector<std::string>> rows = {
      {"target", "times as fast (95 %)", ""}};
  for (const engine::Tuned::Target& each : tuned.targets) {
    rows.push_back({each.name,
                    each.failed.empty() ? speedup_text(each.speedup) : "-",
                    each.failed});
  }
  text += table(rows);
  rows = {{"rule", "sites", "gain", ""}};
  for (const engine::Tuned::Effect& each : tuned.effects) {
    const bool is_part = !each.part.kind.empty() || !each.part.value.empty();
    const bool changed = each.verdict != engine::Verdict::kSame;
    if (is_part && !changed && !verbose) continue;
    rows.push_back({each.part.text(), std::to_string(each.sites),
                    gain_text(each), verdict_text(each)});
  }
  if (rows.size() > 1) text += table(rows);
  if (!tuned.complete) {
    text += "the time was over before all was tried; --time gives more\n";
  }
  text += fmt::format(
      "noise{}: {:.1f} %\n",
      tuned.runtime.empty() ? "" : " of " + printable(tuned.runtime),
      tuned.noise * 100);
  if (!tuned.failed.empty()) {
    text += "in the end the result failed: " + printable(tuned.failed) + "\n";
  }
  if (tuned.best.is_original()) {
    return text + "nothing is measurably faster than the model itself\n";
  }
  return text + fmt::format(
                    "{}: {:.3f} -> {:.3f} ms, {} times as fast{}\n",
                    tuned.best.target, tuned.seconds_before * kMilliseconds,
                    tuned.seconds_after * kMilliseconds,
                    speedup_text(tuned.speedup), compared_text(tuned.compared));
}

std::string text_of(const engine::Comparison& measured, double noise,
                    const std::string& runtime) {
  if (!measured.failed.empty()) {
    return fmt::format("{} does not run the result: {}", printable(runtime),
                       printable(measured.failed));
  }
  return fmt::format(
      "{}: {:.3f} -> {:.3f} ms, {} times as fast, noise {:.1f} %{}",
      printable(runtime), measured.seconds_of() * kMilliseconds,
      measured.seconds_against() * kMilliseconds,
      speedup_text(measured.speedup()), noise * 100,
      compared_text(measured.compared));
}

}  // namespace ruleengine::cli
