#include "core/ops/older_meanings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/ops/call_site.h"

namespace ruleengine::ops {
namespace {

using ir::ValueId;
using Values = Body::Values;

ValueId shape_of(Body& body, ValueId x) {
  return body.node("Shape", {x}, "shape");
}

// [1]
ValueId rank_of(Body& body, ValueId x) {
  return body.node("Shape", {shape_of(body, x)}, "rank");
}

// Sizes of 0 are sizes.
ValueId reshape(Body& body, ValueId x, ValueId shape, std::string_view name) {
  return body.node("Reshape", {x, shape}, name,
                   {Body::integer("allowzero", 1)});
}

// `x` with `count` axes of 1 behind its own; no axes where `count` is negative.
ValueId with_axes_behind(Body& body, ValueId x, ValueId count) {
  const ValueId least =
      body.node("Max", {count, body.integers({0}, "none")}, "count");
  const ValueId ones =
      body.node("Expand", {body.integers({1}, "one"), least}, "ones");
  return reshape(body, x, body.joined({shape_of(body, x), ones}, "joined"),
                 "lined_up");
}

// Softmax, LogSoftmax and Hardmax before 13: over all axes from `axis` on.
Values softmax(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["input"];
  const ValueId rows = body.node("Flatten", {x}, "rows",
                                 {Body::integer("axis", call.int_of("axis"))});
  const ValueId y =
      body.node(call.type(), {rows}, "y", {Body::integer("axis", -1)});
  return {reshape(body, y, shape_of(body, x), "output")};
}

// Add, Less and the like before 7: the axes of B lie on those of A from `axis`
// on.
Values lined_up(const CallSite& call) {
  Body& body = call.body();
  const ValueId a = call.input(0), b = call.input(1);
  if (call.int_of("broadcast") == 0 || !call.is_written("axis")) {
    return {body.node(call.type(), {a, b}, "C")};
  }
  const std::int64_t axis = call.int_of("axis");
  ValueId behind = rank_of(body, a);
  if (axis < 0) behind = body.integers({-axis}, "axis");
  if (axis > 0) {
    behind =
        body.node("Sub", {behind, body.integers({axis}, "axis")}, "behind");
  }
  const ValueId count = body.node("Sub", {behind, rank_of(body, b)}, "rest");
  return {body.node(call.type(), {a, with_axes_behind(body, b, count)}, "C")};
}

// PRelu before 7: a slope of one axis has an element for each channel.
Values prelu(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["X"], slope = call["slope"];
  const ValueId is_row = body.cast(
      body.node("Equal", {rank_of(body, slope), body.integers({1}, "one")},
                "is_row"),
      ir::DataType::kInt64, "row");
  const ValueId behind =
      body.node("Sub", {rank_of(body, x), body.integers({2}, "two")}, "behind");
  const ValueId count = body.node("Mul", {behind, is_row}, "rest");
  return {body.node("PRelu", {x, with_axes_behind(body, slope, count)}, "Y")};
}

// Before 11 a bound was an attribute, with a default from 6 on.
Values clip(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["input"];
  const auto bound = [&](std::string_view name) {
    const bool is_there = call.has_default(name) || call.is_written(name);
    const float value = call.float_of(name);
    return is_there ? body.number(value, x, name) : ValueId();
  };
  const ValueId low = bound("min");
  return {body.node("Clip", {x, low, bound("max")}, "output")};
}

// Before 12 the ratio was an attribute, before 7 `is_test` ended training, and
// before 10 the mask had the type of the data.
Values dropout(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["data"];
  const ValueId ratio =
      body.number(call.float_of("ratio"), ir::DataType::kFloat, "ratio");
  const bool trains =
      call.has_attribute("is_test") && call.int_of("is_test") == 0;
  const ValueId training = body.cast(body.integers({trains}, "number", true),
                                     ir::DataType::kBool, "training_mode");
  Values out =
      body.nodes("Dropout", {x, ratio, training}, {"output", "mask"}, {});
  if (call.version() < 10) out[1] = body.like(out[1], x, "old_mask");
  return out;
}

// Pad of opset 1 had other names.
Values pad(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["data"];
  return {body.node("Pad",
                    {x, body.integers(call.ints_of("paddings"), "pads"),
                     body.number(call.float_of("value"), x, "value")},
                    "output", call.others({"paddings", "value"}))};
}

// Before 11. The nearest element is the next one where an axis shrinks, else
// the last one, so axes that shrink do so apart.
Values resized(const CallSite& call, ValueId scales) {
  Body& body = call.body();
  const auto one = [&](ValueId x, ValueId by, std::string_view nearest) {
    auto attributes = call.others({"scales", "height_scale", "width_scale"});
    attributes.push_back(
        Body::text("coordinate_transformation_mode", "asymmetric"));
    attributes.push_back(Body::text("nearest_mode", nearest));
    return body.node("Resize", {x, ValueId(), by}, "Y", std::move(attributes));
  };
  const std::string_view mode = call.string_of("mode");
  if (mode != "nearest") return {one(call["X"], scales, "floor")};
  const ValueId same = body.floats({1}, "same");
  const ValueId wide =
      one(call["X"], body.node("Max", {scales, same}, "growth"), "floor");
  return {one(wide, body.node("Min", {scales, same}, "shrinking"), "ceil")};
}

Values resize(const CallSite& call) { return resized(call, call["scales"]); }

// Before 9 the scales were an attribute, before 7 two.
Values upsample(const CallSite& call) {
  if (call.version() >= 9) return resized(call, call["scales"]);
  std::vector<float> scales = {1, 1};
  if (call.version() >= 7) {
    scales = call.floats_of("scales");
  } else {
    scales.push_back(call.float_of("height_scale"));
    scales.push_back(call.float_of("width_scale"));
  }
  return resized(call, call.body().floats(scales, "scales"));
}

// Before 6 one axis was repeated.
Values tile(const CallSite& call) {
  Body& body = call.body();
  const auto integer = [&](std::string_view name) {
    return body.cast(call[name], ir::DataType::kInt64, name);
  };
  const ValueId x = call["input"];
  const ValueId rank = body.size_of(shape_of(body, x), 0, "rank");
  const ValueId axis = integer("axis");
  const ValueId from_front = body.node(
      "Where",
      {body.node("Less", {axis, body.integers({0}, "zero")}, "is_negative"),
       body.node("Add", {axis, rank}, "counted"), axis},
      "from_front");
  const ValueId is_axis =
      body.node("Equal", {body.places_below(rank), from_front}, "is_axis");
  const ValueId repeats =
      body.node("Where", {is_axis, integer("tiles"), body.integers({1}, "one")},
                "repeats");
  return {body.node("Tile", {x, repeats}, "output")};
}

// Before 20 the axis was an attribute.
Values dft(const CallSite& call) {
  Body& body = call.body();
  return {body.node("DFT",
                    {call["input"], call["dft_length"],
                     body.integers({call.int_of("axis")}, "axis", true)},
                    "output", call.others({"axis"}))};
}

// Before 21 there was a scale for each group.
Values group_normalization(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["X"];
  const std::int64_t groups = call.int_of("num_groups");
  const ValueId count = body.integers({groups}, "groups");
  const ValueId channels = body.length_of(x, 1, "channels");
  const ValueId sizes = body.joined(
      {count, body.node("Div", {channels, count}, "width")}, "joined");
  const auto spread = [&](std::string_view name) {
    const ValueId column = body.node(
        "Unsqueeze", {call[name], body.integers({1}, "last")}, "column");
    const ValueId wide = body.node("Expand", {column, sizes}, "wide");
    return body.reshaped(wide, {-1}, "all", name);
  };
  const ValueId scale = spread("scale");
  return {body.node("GroupNormalization", {x, scale, spread("bias")}, "Y",
                    call.others({}))};
}

// With a scale for each element of the batch's first.
ValueId normalized_elements(const CallSite& call) {
  Body& body = call.body();
  const ValueId x = call["X"];
  const ValueId sizes = body.node(
      "Slice",
      {shape_of(body, x), body.integers({1}, "first"),
       body.integers({std::numeric_limits<std::int64_t>::max()}, "end")},
      "sizes");
  const auto fitted = [&](std::string_view name) {
    return reshape(body, call[name], sizes, name);
  };
  const ValueId epsilon = body.number(call.float_of("epsilon"), x, "epsilon");
  const ValueId root = body.node(
      "Sqrt", {body.node("Add", {fitted("var"), epsilon}, "more")}, "root");
  const ValueId centered = body.node("Sub", {x, fitted("mean")}, "centered");
  const ValueId scaled = body.node(
      "Mul",
      {body.node("Div", {centered, root}, "normalized"), fitted("scale")},
      "scaled");
  return body.node("Add", {scaled, fitted("B")}, "Y");
}

// Before 14 further outputs meant training, and before 7 a missing `is_test`.
Values batch_normalization(const CallSite& call) {
  Body& body = call.body();
  const bool trains = call.has_attribute("is_test")
                          ? call.int_of("is_test") == 0
                          : call.output_count() > 1;
  if (call.has_attribute("spatial") && call.int_of("spatial") == 0) {
    if (trains) body.refuse("a training without 'spatial' has no meaning");
    return {normalized_elements(call)};
  }
  auto attributes = call.others({"is_test", "spatial"});
  attributes.push_back(Body::integer("training_mode", trains ? 1 : 0));
  const Values inputs = {call["X"], call["scale"], call["B"], call["mean"],
                         call["var"]};
  if (!trains) {
    return {body.node("BatchNormalization", inputs, "Y", attributes)};
  }
  Values out = body.nodes("BatchNormalization", inputs, {"Y", "mean", "var"},
                          attributes);
  // Without a momentum the statistics are those of this batch.
  std::erase_if(attributes, [](const auto& a) { return a.name == "momentum"; });
  attributes.push_back(Body::real("momentum", 0));
  const Values own =
      body.nodes("BatchNormalization", inputs,
                 {"same", "saved_mean", "saved_var"}, attributes);
  out.insert(out.end(), {own[1], own[2]});
  return out;
}

// Of opset 1, with an exponent that is a float.
Values lp_pool(const CallSite& call) {
  Body& body = call.body();
  const float p = call.float_of("p");
  const bool is_whole = p == std::floor(p) && p > 0 && p < 1e6f;
  if (!is_whole) body.refuse("the exponent is not a whole number");
  auto attributes = call.others({"p"});
  attributes.push_back(
      Body::integer("p", is_whole ? static_cast<std::int64_t>(p) : 1));
  return {body.node(call.type(), {call["X"]}, "Y", std::move(attributes))};
}

constexpr OlderMeaning kOlderMeanings[] = {
    {"Add", 7, lined_up},
    {"And", 7, lined_up},
    {"BatchNormalization", 14, batch_normalization},
    {"Clip", 11, clip, false},
    {"DFT", 20, dft},
    {"Div", 7, lined_up},
    {"Dropout", 12, dropout},
    {"Equal", 7, lined_up},
    {"GlobalLpPool", 2, lp_pool, false},
    {"Greater", 7, lined_up},
    {"GroupNormalization", 21, group_normalization},
    {"Hardmax", 13, softmax},
    {"Less", 7, lined_up},
    {"LogSoftmax", 13, softmax},
    {"LpPool", 2, lp_pool, false},
    {"Mul", 7, lined_up},
    {"Or", 7, lined_up},
    {"PRelu", 7, prelu},
    {"Pad", 2, pad},
    {"Pow", 7, lined_up},
    {"Resize", 11, resize},
    {"Softmax", 13, softmax},
    {"Sub", 7, lined_up},
    {"Tile", 6, tile},
    {"Upsample", std::numeric_limits<int>::max(), upsample, false},
    {"Xor", 7, lined_up},
};

}  // namespace

const OlderMeaning* older_meaning(std::string_view type, std::int64_t opset) {
  const auto row = std::ranges::find(kOlderMeanings, type, &OlderMeaning::type);
  const bool is_older = row != std::end(kOlderMeanings) && opset < row->before;
  return is_older ? row : nullptr;
}

}  // namespace ruleengine::ops
