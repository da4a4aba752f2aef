// What tuning found out about a model. Plain values; core/engine/json.h gives
// their documented form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/sample.h"
#include "core/engine/measure.h"

namespace ruleengine::engine {

struct Tuned {
  struct Target {
    std::string name;
    Spread speedup;
    std::string failed;  // why it was not measured
  };
  // What some rewrites are worth: of a rule, or of its sites of one kind or at
  // one value.
  struct Effect {
    Part part;
    std::uint64_t sites = 0;
    // The result with them against the result without them, in seconds a run.
    double with = 0, without = 0;
    Spread speedup;
    Verdict verdict = Verdict::kSame;
    bool kept = true;
    std::string failed;  // as in Comparison
  };

  std::string runtime;  // its name; "" if the measurements are old
  double noise = 0;     // 0.01: two sessions of one model differ by 1 %
  std::vector<Target> targets;
  std::vector<Effect> effects;
  bool complete = true;  // false where the time was over before the search
  // The best variant: the model itself if nothing was measurably faster.
  Variant best;
  bool compared = false;  // whether its outputs were, with those of the model
  std::string failed;     // why the runtime did not run it in the end
  double seconds_before = 0, seconds_after = 0;
  Spread speedup;
  std::vector<Comparison> measurements;  // for a PlayedMeter
};

}  // namespace ruleengine::engine
