// Arithmetic of folds. Floats are computed as doubles and rounded once, which
// for + - * / and square roots is the correctly rounded result of every
// narrower type. Integers wrap. Internal to core/ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ops/rules/fold_helpers.h"

namespace ruleengine::ops {

// Empty: refuse (division by zero, a type that has no such operation).
using Whole = std::optional<std::int64_t>;
using WholeOp = Whole (*)(std::int64_t, std::int64_t);
using RealOp = double (*)(double, double);

// Both inputs' elements at the places of `dims`.
struct NumberPair {
  Numbers a, b;
  Ints dims;
  std::vector<std::size_t> left, right;
};
std::optional<NumberPair> pair_of(const Call& call, std::optional<Numbers> a,
                                  std::optional<Numbers> b);

std::optional<Numbers> combine(const Call& call, std::optional<Numbers> a,
                               std::optional<Numbers> b, WholeOp whole,
                               RealOp real);

namespace whole {
Whole add(std::int64_t a, std::int64_t b);
Whole sub(std::int64_t a, std::int64_t b);
Whole mul(std::int64_t a, std::int64_t b);
Whole div(std::int64_t a, std::int64_t b);
Whole truncated_mod(std::int64_t a, std::int64_t b);
Whole mod(std::int64_t a, std::int64_t b);
Whole minimum(std::int64_t a, std::int64_t b);
Whole maximum(std::int64_t a, std::int64_t b);
}  // namespace whole

namespace real {
double add(double a, double b);
double mul(double a, double b);
// ONNX's Min and Max hand NaN on.
double minimum(double a, double b);
double maximum(double a, double b);
}  // namespace real

}  // namespace ruleengine::ops
