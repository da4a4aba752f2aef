// Measuring two variants of a model in turn in a runtime, and playing such
// measurements back. The runtime is injected: the user's own in another
// process, or this program's executor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/base/sample.h"
#include "core/ir/model.h"

namespace ruleengine::engine {

// A model that a runtime has loaded, with inputs for it.
class RuntimeSession {
 public:
  virtual ~RuntimeSession() = default;
  // Runs the model so many times; the seconds that it took.
  virtual Result<double> run(int times) = 0;
  // How its outputs differ from those of `other`; "" where they agree, none
  // where `other` has none, or this session gives none. An error is one of this
  // session.
  virtual Result<std::optional<std::string>> difference(
      RuntimeSession& other) = 0;
};

class MeasuredRuntime {
 public:
  virtual ~MeasuredRuntime() = default;
  virtual std::string name() const = 0;
  // An error says why the runtime cannot run the model.
  virtual Result<std::unique_ptr<RuntimeSession>> load(
      std::unique_ptr<ir::Model> model) = 0;
};

// Some of the rewrites of a run: those of a rule; with a kind or a value, its
// sites of that kind or at that value.
struct Part {
  std::string rule, kind, value;
  // "RULE", "RULE: KIND" or "RULE at VALUE".
  std::string text() const;
};

// One way to write a model: a target, and rewrites that are left out, or that
// take place although a larger part is left out.
struct Variant {
  struct Choice {
    Part part;
    bool takes_place = false;
  };

  std::string target;  // "" for the model itself
  std::vector<Choice> choices;

  bool is_original() const { return target.empty(); }
  // The same text for the same variant; "original".
  std::string text() const;
};

// Why a measurement was made.
enum class Step {
  kNoise,
  kTarget,
  kRule,
  kNeutral,
  kKind,
  kSite,
  kAgain,
  kFinal
};
std::string_view step_name(Step step);
std::optional<Step> step_of(std::string_view name);

// How a comparison ended. A model is faster or slower only beyond the noise of
// the machine (0.01: 1 %).
enum class Verdict { kFaster, kSlower, kSame, kFailed };

// Seconds of one run of each of two models, a pair a round.
using Rounds = std::vector<std::pair<double, double>>;

// Two variants, measured in turn.
struct Comparison {
  Step step = Step::kNoise;
  std::string of, against;  // texts of the variants
  Rounds rounds;
  // Why `against` was not measured: the runtime does not run it, or it gives
  // other results.
  std::string failed;
  bool compared = false;  // whether their outputs were compared

  // Medians of the rounds.
  double seconds_of() const, seconds_against() const;
  // How many times as fast `against` is, with 95 % confidence.
  Spread speedup() const;
  // Of `against`; kFailed where it was not measured.
  Verdict verdict(double noise) const;
};

// So many pairs of fresh sessions show noise and gain.
inline constexpr std::size_t kPairs = 3;

// How far the speedup of a model against itself is from 1.
double noise_of(const Comparison& comparison);
// The one with the median speedup; not of an empty list.
const Comparison& middle(std::span<const Comparison> comparisons);

// Where comparisons come from.
class Meter {
 public:
  virtual ~Meter() = default;
  // Whether there is time for another comparison.
  virtual bool goes_on() const = 0;
  // Fresh sessions are compared for kNoise, kAgain and kFinal. An error ends
  // the work; a variant that cannot be measured does not.
  virtual Result<Comparison> compare(Step step, const Variant& of,
                                     const Variant& against, double noise) = 0;
  // To call at the end.
  virtual Status finish() { return {}; }
};

using MakeModel =
    std::function<Result<std::unique_ptr<ir::Model>>(const Variant&)>;

// Measures with at most three models loaded at once. Everything it borrows must
// outlive it.
class LiveMeter final : public Meter {
 public:
  // `seconds`: to measure in, about. Past the deadline compare() fails.
  LiveMeter(MeasuredRuntime& runtime, MakeModel make, double seconds,
            const Deadline& deadline);

  bool goes_on() const override;
  Result<Comparison> compare(Step step, const Variant& of,
                             const Variant& against, double noise) override;

 private:
  struct Loaded {
    std::string variant;
    std::unique_ptr<RuntimeSession> session;
  };
  Result<RuntimeSession*> session(const Variant& variant);
  Status measure(RuntimeSession& a, RuntimeSession& b, double noise,
                 Comparison& out) const;

  MeasuredRuntime& runtime_;
  MakeModel make_;
  double seconds_;
  Deadline end_, deadline_;
  std::vector<Loaded> loaded_;
};

// Plays back comparisons that a LiveMeter made; kUsage where they are those of
// another model, other rules or another version of the program.
class PlayedMeter final : public Meter {
 public:
  explicit PlayedMeter(std::vector<Comparison> recorded);

  bool goes_on() const override;
  Result<Comparison> compare(Step step, const Variant& of,
                             const Variant& against, double noise) override;
  Status finish() override;

 private:
  Diagnostic other(std::string expected) const;

  std::vector<Comparison> recorded_;
  std::size_t next_ = 0;
};

}  // namespace ruleengine::engine
