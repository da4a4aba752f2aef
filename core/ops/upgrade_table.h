// Which attributes of the standard domain became inputs, when and where. Pure
// data; internal to core/ops/upgrade*.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/ir/attribute.h"

namespace ruleengine::ops {

template <typename Attributes>
auto* find(Attributes& attributes, std::string_view name) {
  const auto at = std::ranges::find(attributes, name, &ir::Attribute::name);
  return at == attributes.end() ? nullptr : &*at;
}

constexpr bool is_in(const auto& list, std::string_view type) {
  return std::ranges::find(list, type) != list.end();
}

// How to make a tensor from the attribute's value.
enum class MovedAs : std::uint8_t {
  kList,    // int64[n] from ints
  kOne,     // int64[1] from int
  kReal,    // a scalar of type float
  kScalar,  // a scalar of the type of input 0
};

struct Moved {
  std::string_view type;       // op
  std::string_view attribute;  // name of the attribute before `since`
  int since;                   // the opset from which it is an input
  int input;
  MovedAs as;
};

inline constexpr std::array kMoved = {
    Moved{"Clip", "max", 11, 2, MovedAs::kScalar},
    Moved{"Clip", "min", 11, 1, MovedAs::kScalar},
    Moved{"Dropout", "ratio", 12, 1, MovedAs::kReal},
    Moved{"Pad", "pads", 11, 1, MovedAs::kList},
    Moved{"Pad", "value", 11, 2, MovedAs::kScalar},
    Moved{"ReduceL1", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceL2", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceLogSum", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceLogSumExp", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceMax", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceMean", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceMin", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceProd", "axes", 18, 1, MovedAs::kList},
    Moved{"ReduceSum", "axes", 13, 1, MovedAs::kList},
    Moved{"ReduceSumSquare", "axes", 18, 1, MovedAs::kList},
    Moved{"Reshape", "shape", 5, 1, MovedAs::kList},
    Moved{"Slice", "axes", 10, 3, MovedAs::kList},
    Moved{"Slice", "ends", 10, 2, MovedAs::kList},
    Moved{"Slice", "starts", 10, 1, MovedAs::kList},
    Moved{"Split", "split", 13, 1, MovedAs::kList},
    Moved{"Squeeze", "axes", 13, 1, MovedAs::kList},
    Moved{"TopK", "k", 10, 1, MovedAs::kOne},
    Moved{"Unsqueeze", "axes", 13, 1, MovedAs::kList},
};

// From this opset on Softmax, LogSoftmax and Hardmax work on one axis; before,
// on all axes from `axis` (default 1) to the end.
inline constexpr int kSoftmaxOnAxis = 13;
inline constexpr std::array<std::string_view, 3> kSoftmaxLike = {
    "Softmax", "LogSoftmax", "Hardmax"};

// Before opset 7 these broadcast only when attributes say so.
inline constexpr int kBroadcasts = 7;
inline constexpr std::array<std::string_view, 12> kOnceExplicit = {
    "Add",  "And", "Div", "Equal", "Gemm", "Greater",
    "Less", "Mul", "Or",  "Pow",   "Sub",  "Xor"};

// Removed attributes: the newest op can only express a node whose attribute (or
// old default, if left out) is `value`.
struct Gone {
  std::string_view type;
  std::string_view attribute;
  int since;           // the first opset without it
  std::int64_t usual;  // its default then
  std::int64_t value;  // what the newest op does
};
inline constexpr std::array kGone = {
    Gone{"BatchNormalization", "is_test", 7, 0, 1},
    Gone{"BatchNormalization", "spatial", 9, 1, 1},
    Gone{"Dropout", "is_test", 7, 0, 1},
};

// The default of an attribute before `since`.
struct OnceDefault {
  std::string_view type;
  std::string_view attribute;
  int since;
  // That of the attribute's kind.
  std::string_view text;
  std::int64_t number = 0;
  float real = 0;
};
inline constexpr std::array kOnceDefault = {
    OnceDefault{"Concat", "axis", 4, {}, 1},
    OnceDefault{"RoiAlign", "coordinate_transformation_mode", 16,
                "output_half_pixel"},
    OnceDefault{"Selu", "alpha", 6, {}, 0, 1.6732f},
    OnceDefault{"Selu", "gamma", 6, {}, 0, 1.0507f},
};

// A value of a string attribute that was renamed.
struct Renamed {
  std::string_view type;
  std::string_view attribute;
  int since;
  std::string_view before, now;
};
inline constexpr std::array kRenamed = {
    Renamed{"GridSample", "mode", 20, "bicubic", "cubic"},
    Renamed{"GridSample", "mode", 20, "bilinear", "linear"},
};

// Ops with another meaning before `since`; the newest form cannot express it.
struct Changed {
  std::string_view type;
  int since;
};
inline constexpr std::array kChanged = {
    Changed{"DFT", 20},    Changed{"GroupNormalization", 21},
    Changed{"PRelu", 7},   Changed{"Pad", 2},
    Changed{"Resize", 11}, Changed{"Scan", 9},
    Changed{"Tile", 6},
};

// Ops that ONNX Runtime had in the standard's domain before the standard had
// them. They equal the standard's ops if all tensors have one type; other ops
// of such a name are unknown.
inline constexpr std::array<std::string_view, 2> kAdopted = {
    "LayerNormalization", "ThresholdedRelu"};

// From here on `Cast` gives its type by number, and no op has the attribute
// "consumed_inputs", a hint.
inline constexpr int kCastByNumber = 6;
inline constexpr int kNoHints = 6;

// From here on a negative axis counts from the end.
inline constexpr int kAxesFromTheEnd = 11;
inline constexpr std::array<std::string_view, 20> kAxisOps = {
    "ArgMax",       "ArgMin",          "Compress",  "Concat",
    "Flatten",      "Gather",          "ReduceL1",  "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin",    "ReduceProd",      "ReduceSum", "ReduceSumSquare",
    "Slice",        "Split",           "Squeeze",   "Unsqueeze"};

// From here on the mask of a Dropout is bool; before, it has the type of the
// data.
inline constexpr int kMaskIsBool = 10;
// From here on a mask without training is all true; before, runtimes differ.
inline constexpr int kMaskIsTrue = 12;
// From here on a Split without sizes states the number of parts.
inline constexpr int kSplitCounts = 18;
// Before this opset several outputs of a BatchNormalization meant training.
inline constexpr int kTrainingSaid = 14;

}  // namespace ruleengine::ops
