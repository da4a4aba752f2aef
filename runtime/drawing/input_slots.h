// Inputs of ops that are indices, sizes, counts or axes, where the rows of ops
// do not say it. Constant data, internal to runtime/drawing/input_uses.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ruleengine::runtime {

// Ops beyond those of the role `indexes` that index an input.
struct Lookup {
  std::string_view domain, type;
  std::size_t slot, data;
  std::int64_t axis;
};
inline constexpr std::string_view kContrib = "com.microsoft";
inline constexpr Lookup kLookups[] = {
    {"", "NegativeLogLikelihoodLoss", 1, 0, 1},
    {"", "RotaryEmbedding", 3, 1, 0},
    {"", "SoftmaxCrossEntropyLoss", 1, 0, 1},
    {kContrib, "EmbedLayerNormalization", 0, 2, 0},
    {kContrib, "EmbedLayerNormalization", 1, 4, 0},
    {kContrib, "GatherBlockQuantized", 1, 0, 0},
    {kContrib, "RotaryEmbedding", 1, 2, 0},
};

// Inputs of which an op takes sizes, counts or axes; a bit for each.
struct Sizing {
  std::string_view type;
  std::uint32_t slots;
};
inline constexpr Sizing kSizings[] = {
    {"ConstantOfShape", 1},
    {"CumSum", 2},
    {"Expand", 2},
    {"Loop", 1},
    {"OneHot", 2},
    {"Pad", 2},
    {"Range", 7},
    {"Reshape", 2},
    {"Resize", 8},
    {"Slice", 16},
    {"Split", 2},
    {"Squeeze", 2},
    {"Tile", 2},
    {"TopK", 2},
    {"Unsqueeze", 2},
    {"Trilu", 2},
    {"ReduceSum", 2},
    {"SplitToSequence", 2},
};

}  // namespace ruleengine::runtime
