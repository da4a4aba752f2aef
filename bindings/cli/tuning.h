// What `tune`, `run --if-faster` and `run --bench` say of measurements.
#pragma once

#include <string>

#include "bindings/api/tune.h"

namespace ruleengine::cli {

// Tables of targets and effects, without a newline at the end.
std::string text_of(const engine::Tuned& tuned, bool verbose);
// "onnxruntime 1.32.0: 12.300 -> 10.800 ms, 1.139 (1.120 to 1.150) times as
// fast, noise 0.8 %".
std::string text_of(const engine::Comparison& measured, double noise,
                    const std::string& runtime);

}  // namespace ruleengine::cli
