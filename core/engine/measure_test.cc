#include "core/engine/measure.h"

#include <doctest/doctest.h>

#include <map>

namespace ruleengine::engine {
namespace {

// Times by name, without any run.
class PretendedSession final : public RuntimeSession {
 public:
  explicit PretendedSession(const double& seconds) : seconds_(seconds) {}
  Result<double> run(int times) override {
    if (seconds_ < 0) return Diagnostic{.what = "it ended"};
    // A machine that slows down steadily, as if it got hot.
    return seconds_ * times * (1 + 0.02 * ++runs);
  }
  Result<std::optional<std::string>> difference(RuntimeSession&) override {
    return std::optional<std::string>();
  }

  inline static int runs = 0;

 private:
  const double& seconds_;
};

class PretendedRuntime final : public MeasuredRuntime {
 public:
  std::string name() const override { return "pretended"; }
  Result<std::unique_ptr<RuntimeSession>> load(
      std::unique_ptr<ir::Model> model) override {
    ++loads;
    return std::unique_ptr<RuntimeSession>(
        std::make_unique<PretendedSession>(seconds[model->path]));
  }

  std::map<std::string, double> seconds;  // by path; below 0: fails
  int loads = 0;
};

Result<std::unique_ptr<ir::Model>> make(const Variant& variant) {
  auto model = std::make_unique<ir::Model>();
  model->path = variant.text();
  return model;
}

const Variant kFast{"fast", {}};

TEST_CASE("two sessions in turn") {
  PretendedRuntime runtime;
  runtime.seconds = {{"original", 1.0}, {"fast", 0.8}};
  LiveMeter meter(runtime, make, 1000, {});
  const auto done = meter.compare(Step::kTarget, {}, kFast, 0.01);
  REQUIRE(done);
  CHECK(done->speedup().median == doctest::Approx(1.25).epsilon(0.001));
  CHECK(done->verdict(0.01) == Verdict::kFaster);
  CHECK(done->verdict(0.3) == Verdict::kSame);
  CHECK(done->rounds.size() == 8);  // the first check decides
  const auto same = meter.compare(Step::kNoise, {}, {}, 0);
  REQUIRE(same);
  CHECK(same->speedup().median == doctest::Approx(1).epsilon(0.001));
  CHECK(runtime.loads == 4);  // two fresh sessions each time
  REQUIRE(meter.compare(Step::kFinal, {}, kFast, 0.01));
  CHECK(runtime.loads == 6);
}

TEST_CASE("a model that cannot be run") {
  PretendedRuntime runtime;
  runtime.seconds = {{"original", 1.0}, {"fast", -1}};
  LiveMeter meter(runtime, make, 1000, {});
  const auto done = meter.compare(Step::kRule, {}, kFast, 0);
  REQUIRE(done);
  CHECK(done->failed == "it ended");
  CHECK(done->rounds.empty());
  CHECK(done->verdict(0) == Verdict::kFailed);
  // Without an earlier result there is nothing to compare with.
  CHECK(!meter.compare(Step::kRule, kFast, {}, 0));
}

TEST_CASE("replayed measurements") {
  const Comparison one{Step::kTarget, "original", "fast", {{2, 1}}, {}};
  PlayedMeter meter({one});
  CHECK(meter.goes_on());
  CHECK(!meter.compare(Step::kRule, {}, kFast, 0));
  CHECK(!meter.finish());
  const auto done = meter.compare(Step::kTarget, {}, kFast, 0);
  REQUIRE(done);
  CHECK(done->seconds_of() == 2);
  CHECK(done->seconds_against() == 1);
  CHECK(meter.finish());
  CHECK(!meter.goes_on());
}

TEST_CASE("texts of variants") {
  CHECK(Variant{}.text() == "original");
  const Variant variant{
      "ort", {{{"b", "Add float", {}}, false}, {{"a", {}, "v\n"}, true}}};
  CHECK(variant.text() == "ort with a at v\\x0a, without b: Add float");
}

}  // namespace
}  // namespace ruleengine::engine
