#include "core/engine/tune.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

namespace ruleengine::engine {
namespace {

TEST_CASE("the choice for the smallest part decides") {
  const rewrite::Site site{.rule = "a", .value = "y", .kind = "Add float"};
  const Part rule{"a", {}, {}}, kind{"a", "Add float", {}},
      value{"a", "Add float", "y"};
  CHECK(!leaves_out({"ort", {}}, site));
  CHECK(leaves_out({"ort", {{rule, false}}}, site));
  CHECK(!leaves_out({"ort", {{rule, false}, {value, true}}}, site));
  CHECK(!leaves_out({"ort", {{value, true}, {rule, false}}}, site));
  CHECK(leaves_out({"ort", {{kind, false}, {rule, true}}}, site));
  CHECK(leaves_out({"ort", {{rule, true}, {rule, false}}}, site));
  CHECK(!leaves_out({"ort",
                     {{{"b", {}, {}}, false},
                      {{"a", "Add half", {}}, false},
                      {{"a", "Add float", "z"}, false}}},
                    site));
}

TEST_CASE("targets with equal results are tried once") {
  std::string names;
  for (const Target* each : distinct_targets()) {
    names += std::string(each->name) + " ";
  }
  CHECK(names == "standard portable onnx ort tensorrt ");
}

// Times vary by session, and a little by run.
class LuckyRuntime final : public MeasuredRuntime {
 public:
  explicit LuckyRuntime(double of_result) : of_result_(of_result) {}
  std::string name() const override { return "lucky"; }
  Result<std::unique_ptr<RuntimeSession>> load(
      std::unique_ptr<ir::Model> model) override {
    const double base = model->path == "original" ? 1 : of_result_;
    return std::unique_ptr<RuntimeSession>(
        std::make_unique<LuckySession>(*this, base * about_one(0.03)));
  }

 private:
  class LuckySession final : public RuntimeSession {
   public:
    LuckySession(LuckyRuntime& of, double seconds)
        : of_(of), seconds_(seconds) {}
    Result<double> run(int times) override {
      return seconds_ * times * of_.about_one(0.005);
    }
    Result<std::optional<std::string>> difference(RuntimeSession&) override {
      return std::optional<std::string>();
    }

   private:
    LuckyRuntime& of_;
    double seconds_;
  };

  double about_one(double band) {
    return std::uniform_real_distribution<>(1 - band, 1 + band)(random_);
  }

  double of_result_;
  std::mt19937 random_{1};
};

// A model with two rewrites.
Result<Variants::Made> make_variant(const Variant& variant) {
  Variants::Made made{std::make_unique<ir::Model>(), {}};
  made.model->path = variant.text();
  if (variant.is_original()) return made;
  made.report.target = variant.target;
  made.report.rewrites.rules.push_back({.rewrites = 2});
  for (const char* const rule : {"a", "b"}) {
    made.report.rewrites.sites.push_back({rule, rule, "Add float"});
  }
  return made;
}

// How often a result that runs in so many seconds is found to be faster than a
// model that runs in one.
int times_found(double of_result, int times) {
  LuckyRuntime runtime(of_result);
  const auto model = [](const Variant& variant) {
    return Result(std::move(make_variant(variant)->model));
  };
  int found = 0;
  for (int i = 0; i < times; ++i) {
    LiveMeter meter(runtime, model, 1e9, {});
    Tuned tuned;
    REQUIRE(tune(
        make_variant, {"standard"}, meter, [] { return Status(); }, tuned));
    if (!tuned.best.is_original()) ++found;
  }
  return found;
}

// Each target always takes its seconds, the model 1; two sessions of the model
// differ by 3 %.
class FixedMeter final : public Meter {
 public:
  explicit FixedMeter(std::map<std::string, double> seconds)
      : seconds_(std::move(seconds)) {}
  bool goes_on() const override { return true; }
  Result<Comparison> compare(Step step, const Variant& of,
                             const Variant& against, double) override {
    Comparison out{step, of.text(), against.text(), {}, {}, true};
    const double second = step == Step::kNoise ? 1.03 : of_one(against);
    out.rounds.assign(8, {of_one(of), second});
    return out;
  }

 private:
  double of_one(const Variant& variant) const {
    return variant.is_original() ? 1 : seconds_.at(variant.target);
  }

  std::map<std::string, double> seconds_;
};

std::string best_of(const std::map<std::string, double>& seconds) {
  FixedMeter meter(seconds);
  Tuned tuned;
  REQUIRE(tune(
      make_variant, {"standard", "portable", "ort"}, meter,
      [] { return Status(); }, tuned));
  return tuned.best.target;
}

TEST_CASE("a later target is better only beyond the noise") {
  CHECK(best_of({{"standard", 0.8}, {"portable", 0.79}, {"ort", 0.81}}) ==
        "standard");
  CHECK(best_of({{"standard", 0.8}, {"portable", 0.77}, {"ort", 0.75}}) ==
        "portable");
  CHECK(best_of({{"standard", 0.98}, {"portable", 0.99}, {"ort", 0.98}}) == "");
}

TEST_CASE("noise is no gain") {
  CHECK(times_found(1, 300) <= 3);
  CHECK(times_found(0.8, 100) == 100);
}

}  // namespace
}  // namespace ruleengine::engine
