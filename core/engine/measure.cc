#include "core/engine/measure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ruleengine::engine {
namespace {

// A measurement takes at least this long, so that the clock and the way to the
// runtime hardly count.
constexpr double kLeastSeconds = 0.002;
constexpr int kMostTimes = 10'000;
// After so many rounds the numbers are looked at. Each look is wrong once in a
// hundred times, all together once in twenty.
constexpr std::array<std::size_t, 5> kLooks = {8, 16, 32, 64, 128};
constexpr double kLevel = 0.99;
// A speedup this close to 1 is none.
constexpr double kNothing = 0.005;
// The share of the time that one comparison may take, after the first look.
constexpr double kShare = 0.1;

constexpr std::size_t kMostName = 10'000;

constexpr std::array<std::string_view, 8> kSteps = {
    "noise", "target", "rule", "neutral", "kind", "site", "again", "final"};

bool is_same(const Spread& speedup, double noise) {
  const double band = 1 + std::max(noise, kNothing);
  return speedup.low > 1 / band && speedup.high < band;
}

std::vector<double> column(const Rounds& rounds, bool second) {
  std::vector<double> out;
  for (const auto& [a, b] : rounds) out.push_back(second ? b : a);
  return out;
}

Spread speedup_of(const Rounds& rounds) {
  std::vector<double> ratios;
  for (const auto& [a, b] : rounds) ratios.push_back(a / b);
  return confidence(std::move(ratios), kLevel);
}

Verdict verdict_of(const Rounds& rounds, double noise) {
  if (rounds.empty()) return Verdict::kFailed;
  const Spread speedup = speedup_of(rounds);
  if (speedup.low > 1 + noise) return Verdict::kFaster;
  return speedup.high < 1 / (1 + noise) ? Verdict::kSlower : Verdict::kSame;
}

std::string text_of(Step step, const std::string& of,
                    const std::string& against) {
  return fmt::format("{}: {}, {}", step_name(step), of, against);
}

std::string brief(const Diagnostic& error) {
  return error.found.empty() ? error.what : error.what + ": " + error.found;
}

// Runs two sessions in turn until it is clear which one is faster.
class Race {
 public:
  Race(RuntimeSession& a, RuntimeSession& b, const Deadline& deadline)
      : a_(a), b_(b), deadline_(deadline) {}

  // False after an error.
  bool run(double seconds, double noise, Rounds& rounds) {
    double of_a = 0, of_b = 0;
    for (int warm_up = 0; warm_up < 2; ++warm_up) {
      if (!time(a_, of_a) || !time(b_, of_b)) return false;
    }
    times_ = static_cast<int>(
        std::clamp(std::ceil(kLeastSeconds / std::min(of_a, of_b)), 1.0,
                   static_cast<double>(kMostTimes)));
    const Deadline enough(seconds);
    for (const std::size_t look : kLooks) {
      while (rounds.size() < look) {
        // Each goes first in every other round.
        const bool swap = rounds.size() % 2 == 1;
        if (swap && !time(b_, of_b)) return false;
        if (!time(a_, of_a)) return false;
        if (!swap && !time(b_, of_b)) return false;
        rounds.emplace_back(of_a, of_b);
      }
      if (verdict_of(rounds, noise) != Verdict::kSame) return true;
      if (is_same(speedup_of(rounds), noise) || enough.is_over()) return true;
    }
    return true;
  }

  const Diagnostic& error() const { return *error_; }
  bool is_second_at_fault() const { return at_fault_ == &b_; }

 private:
  bool time(RuntimeSession& session, double& seconds) {
    if (const Status s = deadline_.check(); !s) {
      error_ = s.error();
      return false;
    }
    const auto taken = session.run(times_);
    if (taken) {
      seconds = std::max(*taken / times_, 1e-9);
      return true;
    }
    error_ = taken.error();
    at_fault_ = &session;
    return false;
  }

  RuntimeSession& a_;
  RuntimeSession& b_;
  const Deadline& deadline_;
  int times_ = 1;
  std::optional<Diagnostic> error_;
  const RuntimeSession* at_fault_ = nullptr;  // of an error of the runtime
};

}  // namespace

std::string Part::text() const {
  if (!value.empty()) return rule + " at " + printable(value, kMostName);
  return kind.empty() ? rule : rule + ": " + printable(kind, kMostName);
}

std::string Variant::text() const {
  if (is_original()) return "original";
  std::vector<std::string> texts;
  for (const auto& [part, takes_place] : choices) {
    texts.push_back((takes_place ? "with " : "without ") + part.text());
  }
  std::ranges::sort(texts);
  return fmt::format("{}{}{}", target, texts.empty() ? "" : " ",
                     fmt::join(texts, ", "));
}

std::string_view step_name(Step step) {
  return kSteps[static_cast<std::size_t>(step)];
}

std::optional<Step> step_of(std::string_view name) {
  const auto found = std::ranges::find(kSteps, name);
  if (found == kSteps.end()) return std::nullopt;
  return static_cast<Step>(found - kSteps.begin());
}

double Comparison::seconds_of() const { return median(column(rounds, false)); }
double Comparison::seconds_against() const {
  return median(column(rounds, true));
}

Spread Comparison::speedup() const { return speedup_of(rounds); }

Verdict Comparison::verdict(double noise) const {
  return verdict_of(rounds, noise);
}

double noise_of(const Comparison& comparison) {
  return std::expm1(std::abs(std::log(comparison.speedup().median)));
}

const Comparison& middle(std::span<const Comparison> comparisons) {
  std::vector<const Comparison*> sorted;
  for (const Comparison& each : comparisons) sorted.push_back(&each);
  std::ranges::stable_sort(sorted, {}, [](const Comparison* each) {
    return each->speedup().median;
  });
  return *sorted[(sorted.size() - 1) / 2];
}

LiveMeter::LiveMeter(MeasuredRuntime& runtime, MakeModel make, double seconds,
                     const Deadline& deadline)
    : runtime_(runtime),
      make_(std::move(make)),
      seconds_(seconds),
      end_(seconds),
      deadline_(deadline) {}

bool LiveMeter::goes_on() const { return !end_.is_over(); }

Result<RuntimeSession*> LiveMeter::session(const Variant& variant) {
  const std::string text = variant.text();
  for (Loaded& each : loaded_) {
    if (each.variant == text) return each.session.get();
  }
  auto model = make_(variant);
  if (!model) return model.error();
  auto session = runtime_.load(*std::move(model));
  if (!session) return session.error();
  loaded_.push_back({text, *std::move(session)});
  return loaded_.back().session.get();
}

Result<Comparison> LiveMeter::compare(Step step, const Variant& of,
                                      const Variant& against, double noise) {
  Comparison out{step, of.text(), against.text(), {}, {}};
  // A session may be slow by chance, where its memory lies. Only fresh ones
  // show that.
  const bool is_fresh =
      step == Step::kNoise || step == Step::kAgain || step == Step::kFinal;
  if (is_fresh) loaded_.clear();
  std::erase_if(loaded_, [&](const Loaded& each) {
    return each.variant != out.of && each.variant != "original";
  });
  const auto first = session(of);
  if (!first) return first.error();
  auto model = make_(against);
  if (!model) return model.error();
  auto second = runtime_.load(*std::move(model));
  // Past the deadline an error is no verdict on the variant.
  if (!second) {
    if (deadline_.is_over()) return second.error();
    out.failed = brief(second.error());
    return out;
  }
  if (of.is_original() && !against.is_original()) {
    const auto difference = (*second)->difference(**first);
    if (!difference) {
      if (deadline_.is_over()) return difference.error();
      out.failed = brief(difference.error());
    } else if (*difference && !(*difference)->empty()) {
      out.failed = "gives other results: " + **difference;
    }
    if (!out.failed.empty()) return out;
    out.compared = difference->has_value();
  }
  if (auto status = measure(**first, **second, noise, out); !status) {
    return status.error();
  }
  return out;
}

Status LiveMeter::measure(RuntimeSession& a, RuntimeSession& b, double noise,
                          Comparison& out) const {
  Race race(a, b, deadline_);
  const bool done = race.run(seconds_ * kShare, noise, out.rounds);
  if (done) return {};
  out.rounds.clear();
  if (!race.is_second_at_fault() || deadline_.is_over()) return race.error();
  out.failed = brief(race.error());
  return {};
}

PlayedMeter::PlayedMeter(std::vector<Comparison> recorded)
    : recorded_(std::move(recorded)) {}

bool PlayedMeter::goes_on() const {
  return next_ < recorded_.size() && recorded_[next_].step != Step::kFinal;
}

// Says what comes next instead of what was expected.
Diagnostic PlayedMeter::other(std::string expected) const {
  Diagnostic error{.kind = ErrorKind::kUsage,
                   .what = "the measurements are not those of this run",
                   .expected = std::move(expected),
                   .found = "no more measurements",
                   .hint =
                       "the model, the rules, the options and the version "
                       "must be those that were measured"};
  if (next_ == recorded_.size()) return error;
  const Comparison& next = recorded_[next_];
  error.found = text_of(next.step, next.of, next.against);
  return error;
}

Result<Comparison> PlayedMeter::compare(Step step, const Variant& of,
                                        const Variant& against, double) {
  const std::string wanted = text_of(step, of.text(), against.text());
  if (next_ == recorded_.size()) return other(wanted);
  const Comparison& next = recorded_[next_];
  if (text_of(next.step, next.of, next.against) != wanted) return other(wanted);
  ++next_;
  return next;
}

Status PlayedMeter::finish() {
  if (next_ == recorded_.size()) return {};
  return other("no more measurements");
}

}  // namespace ruleengine::engine
