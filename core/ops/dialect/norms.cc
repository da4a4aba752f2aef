// Norms of what lies on one rank.
#include "core/ir/narrow_float.h"
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/meaning_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::ValueId;
constexpr FormalValue kNormIn[] = {in("x"), opt("weight")};

constexpr FormalValue kAddNormIn[] = {in("x"), in("residual"), opt("weight")};

constexpr FormalValue kAddNorm2Out[] = {in("Y"), opt("sum")};

constexpr FormalAttribute kNorm[] = {with("epsilon", 1e-6f)};

// Of the first input's element type, and as wide as the first `kCount` inputs
// together: a weight goes along the last axis, but nothing keeps it from being
// wider.
template <std::size_t kCount>
bool like_all(const NodeView& v, Outputs out) {
  Dims shape;
  bool ranked = true;
  for (std::size_t i = 0; i < kCount && ranked; ++i) {
    if (i > 0 && !v.has_input(i)) continue;
    ranked = v.ranked(i);
    if (ranked) shape = broadcast_shapes(v, shape, v.shape(i));
  }
  for (Inferred& o : out) {
    o.elem = v.elem(0);
    if (ranked) o.set_dims(shape);
  }
  return true;
}

// The second output is the sum alone.
bool norm_and_sum(const NodeView& v, Outputs out) {
  like_all<3>(v, out);
  if (out.size() > 1) like_all<2>(v, out.subspan(1));
  loosely(v, out);
  return true;
}

constexpr FormalValue kSkipNormIn[] = {in("input"), in("skip"), in("gamma"),
                                       opt("beta"), opt("bias")};
constexpr FormalValue kSkipRmsIn[] = {in("input"), in("skip"), in("gamma"),
                                      opt("bias")};
constexpr FormalValue kSkipNormOut[] = {in("output"), opt("mean", "U"),
                                        opt("inv_std_var", "U"),
                                        opt("input_skip_bias_sum")};
constexpr FormalAttribute kSkipNorm[] = {with("epsilon", 1e-12f)};

constexpr FormalValue kSimplifiedIn[] = {in("X"), in("scale", "V")};
constexpr FormalValue kSimplifiedOut[] = {in("Y", "V"),
                                          opt("inv_std_var", "U")};
constexpr FormalAttribute kSimplified[] = {
    with("axis", -1), with("epsilon", 1e-5f), with("stash_type", 1)};

constexpr FormalValue kEmbedIn[] = {in("input_ids", "T1"),
                                    opt("segment_ids", "T1"),
                                    in("word_embedding"),
                                    in("position_embedding"),
                                    opt("segment_embedding"),
                                    in("gamma"),
                                    in("beta"),
                                    opt("mask", "T1"),
                                    opt("position_ids", "T1")};
constexpr FormalValue kEmbedOut[] = {in("output"), opt("mask_index", "T1"),
                                     opt("embedding_sum")};
constexpr FormalAttribute kEmbed[] = {with("epsilon", 1e-12f),
                                      with("mask_index_type", 0)};

// The norm and the sum; mean and deviation between them are seldom read.
bool skip_norm(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  if (out.size() > 3) copy_type(v, 0, out[3]);
  return true;
}

// Rows of the embeddings for each id, and a number for each of the batch.
bool embed_norm(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(2);
  if (v.ranked(0) && v.rank(0) == 2 && v.ranked(2) && v.rank(2) == 2) {
    out[0].set_dims(Shape{v.shape(0)[0], v.shape(0)[1], v.shape(2)[1]});
  }
  if (out.size() > 1) {
    out[1].elem = ir::DataType::kInt32;
    if (v.ranked(0) && v.rank(0) == 2) out[1].set_dims(Shape{v.shape(0)[0]});
  }
  if (out.size() > 2) out[2] = out[0];
  return true;
}

// The opsets that brought these ops.
constexpr std::int64_t kLayerNormalization = 17, kRmsNormalization = 23;

struct Norm {
  ValueId x;
  ValueId scale, shift;  // invalid: none
  // Of the scale, which is that of the result; kUndefined: that of x.
  ir::DataType elem = ir::DataType::kUndefined;
  float epsilon = 0;
  bool centered = false;
  std::int64_t axis = -1;  // from the end: the first axis of a row
};

struct Normalized {
  ValueId y, mean, inverse_std;
};

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) scale + shift over the last
// axes, or the same without the mean; x, of type `own`, in float if that is
// narrow.
Normalized written_out(const CallSite& call, DataType own, const Norm& n) {
  Body& body = call.body();
  const Wide wide(call, own);
  const auto mean_of = [&](ValueId x, std::string_view name) {
    std::vector<std::int64_t> axes;
    for (std::int64_t i = n.axis; i < 0; ++i) axes.push_back(i);
    return body.node("ReduceMean", {x, body.integers(axes, "last")}, name);
  };
  Normalized out;
  ValueId x = wide.cast(n.x, wide.own());
  if (n.centered) {
    out.mean = mean_of(x, "mean");
    x = body.node("Sub", {x, out.mean}, "centered");
  }
  const ValueId square =
      mean_of(body.node("Mul", {x, x}, "squares"), "mean_square");
  const ValueId epsilon = body.number(n.epsilon, wide.elem(), "epsilon");
  const ValueId root = body.node(
      "Sqrt", {body.node("Add", {square, epsilon}, "mean_and_more")}, "root");
  out.inverse_std = body.node("Reciprocal", {root}, "inverse_root");
  ValueId y = body.node("Div", {x, root}, "normalized");
  const ir::DataType elem =
      n.elem == ir::DataType::kUndefined ? wide.own() : n.elem;
  if (n.scale) {
    y = body.node("Mul", {y, wide.cast(n.scale, elem)}, "weighted");
  }
  if (n.shift) {
    y = body.node("Add", {y, wide.cast(n.shift, wide.own())}, "shifted");
  }
  if (wide.elem() == DataType::kDouble) {  // statistics are floats
    if (out.mean) out.mean = body.cast(out.mean, DataType::kFloat, "mean");
    out.inverse_std =
        body.cast(out.inverse_std, DataType::kFloat, "inverse_std");
  }
  out.y = wide.elem() == elem ? y : body.cast(y, elem, "Y");
  return out;
}

// The same by the standard's op, where the opset has it.
Normalized normalized(const CallSite& call, DataType own, const Norm& n,
                      bool wants_statistics) {
  Body& body = call.body();
  Body::Attributes attributes = {Body::real("epsilon", n.epsilon)};
  if (n.axis != -1) {
    attributes.insert(attributes.begin(), Body::integer("axis", n.axis));
  }
  if (n.centered && body.opset() >= kLayerNormalization) {
    std::vector<std::string> names = {"Y"};
    if (wants_statistics) names = {"Y", "mean", "inverse_std"};
    auto out = body.nodes("LayerNormalization", {n.x, n.scale, n.shift}, names,
                          std::move(attributes));
    out.resize(3);
    return {out[0], out[1], out[2]};
  }
  if (!n.centered && !wants_statistics && body.opset() >= kRmsNormalization) {
    return {body.node("RMSNormalization", {n.x, n.scale}, "Y",
                      std::move(attributes)),
            {},
            {}};
  }
  return written_out(call, own, n);
}

// x / sqrt(mean(x^2) + epsilon) w along the last axis.
ValueId norm(const CallSite& call, ValueId x) {
  const Norm own{
      .x = x, .scale = call["weight"], .epsilon = call.float_of("epsilon")};
  return written_out(call, call.elem("x"), own).y;
}

Body::Values rms_norm(const CallSite& call) { return {norm(call, call["x"])}; }

// add_rms_norm and add_rms_norm2, whose second output is the sum.
Body::Values add_rms_norm(const CallSite& call) {
  const ValueId sum =
      call.body().node("Add", {call["x"], call["residual"]}, "sum");
  return {norm(call, sum), sum};
}

// The norm of input + skip + bias, whose sum is computed in float for narrow
// floats. Outputs 1 and 2 are for training.
template <bool kCentered>
Body::Values skip_norm(const CallSite& call) {
  Body& body = call.body();
  const bool wants_statistics = call.wants(1) || call.wants(2);
  const bool is_narrow = ir::is_narrow_float(call.quiet_elem("input"));
  const DataType own = is_narrow ? call.elem("input") : DataType::kUndefined;
  const auto wide = [&](ValueId x) {
    return x && is_narrow ? body.cast(x, DataType::kFloat, "wide") : x;
  };
  const auto narrow = [&](ValueId x, std::string_view name) {
    return is_narrow ? body.cast(x, own, name) : x;
  };
  ValueId sum =
      body.node("Add", {wide(call["input"]), wide(call["skip"])}, "sum");
  sum = body.plus(sum, wide(call["bias"]), "sum_and_bias");
  const Normalized y =
      normalized(call, is_narrow ? DataType::kFloat : call.elem("input"),
                 {.x = sum,
                  .scale = wide(call["gamma"]),
                  .shift = kCentered ? wide(call["beta"]) : ValueId(),
                  .epsilon = call.float_of("epsilon"),
                  .centered = kCentered},
                 wants_statistics);
  // A mean that is not subtracted is nobody's: ONNX Runtime leaves it unset.
  const ValueId mean =
      kCentered || !call.wants(1)
          ? y.mean
          : body.node("Sub", {y.inverse_std, y.inverse_std}, "mean");
  return {narrow(y.y, "Y"), mean, y.inverse_std,
          call.wants(3) ? narrow(sum, "whole_sum") : ValueId()};
}

Body::Values simplified_norm(const CallSite& call) {
  if (call.int_of("stash_type") != 1) {
    call.body().refuse("statistics of another type than float have no meaning");
  }
  std::int64_t axis = call.int_of("axis");
  if (axis >= 0) {
    const auto rank = call.rank("X");
    if (!rank) call.body().refuse("the rank is unknown", call["X"]);
    axis -= static_cast<std::int64_t>(rank.value_or(0));
  }
  constexpr std::int64_t kMostAxes = 64;
  if (axis >= 0 || axis < -kMostAxes) {
    call.body().refuse("axis is out of range");
    return {};
  }
  const Normalized y = normalized(call, call.elem("X"),
                                  {.x = call["X"],
                                   .scale = call["scale"],
                                   .elem = call.elem("scale"),
                                   .epsilon = call.float_of("epsilon"),
                                   .axis = axis},
                                  call.wants(1));
  return {y.y, y.inverse_std};
}

// The norm of the sum of a word's, a position's and a segment's embedding;
// beside it how many places of each row of the mask are 1.
Body::Values embed_norm(const CallSite& call) {
  Body& body = call.body();
  const ValueId ids = call["input_ids"];
  ValueId positions = call["position_ids"];
  if (!positions) {
    positions = body.places_below(body.size_of(ids, 1, "length"));
  }
  ValueId sum = body.node("Gather", {call["word_embedding"], ids}, "words");
  const auto add = [&](ValueId table, ValueId rows, std::string_view name) {
    sum = body.node("Add", {sum, body.node("Gather", {table, rows}, name)},
                    "sum");
  };
  add(call["position_embedding"], positions, "by_position");
  if (const ValueId table = call["segment_embedding"]) {
    const ValueId segments = call["segment_ids"];
    add(table, segments ? segments : body.integers({0}, "segment", true),
        "by_segment");
  }
  const Normalized y = normalized(call, call.elem("word_embedding"),
                                  {.x = sum,
                                   .scale = call["gamma"],
                                   .shift = call["beta"],
                                   .epsilon = call.float_of("epsilon"),
                                   .centered = true},
                                  false);
  if (!call.wants(1)) return {y.y, {}, sum};
  ValueId counted = body.node("Sub", {ids, ids}, "zeros");
  if (const ValueId mask = call["mask"]) {
    const ValueId is_seen =
        body.node("Equal",
                  {body.cast(mask, ir::DataType::kInt64, "mask_numbers"),
                   body.integers({1}, "one")},
                  "is_seen");
    counted = body.cast(is_seen, ir::DataType::kInt32, "seen");
  }
  const ValueId lengths =
      body.node("ReduceSum", {counted, body.integers({1}, "places")},
                "mask_index", {Body::integer("keepdims", 0)});
  return {y.y, lengths, sum};
}

constexpr OpRow skip_norm_row(std::string_view type,
                              std::span<const FormalValue> inputs,
                              std::string_view formula, Meaning meaning) {
  return ours(dialect::kMicrosoft, type, inputs, kSkipNormOut, kSkipNorm,
              {.roles = {.normalizing = true},
               .types = {skip_norm},
               .axes = flow_norm,
               .sum_output = 3,
               .formula = formula,
               .meaning = meaning});
}

constexpr OpRow kDialectNorms[] = {
    // ONNX Runtime has it in the standard's domain.
    ours("", "SimplifiedLayerNormalization", kSimplifiedIn, kSimplifiedOut,
         kSimplified,
         {.roles = {.normalizing = true},
          .types = {like_first_cast},
          .axes = flow_norm,
          .formula = "RMSNormalization(X, scale)",
          .meaning = simplified_norm}),
    ours(dialect::kMicrosoft, "EmbedLayerNormalization", kEmbedIn, kEmbedOut,
         kEmbed,
         {.types = {embed_norm},
          .formula = "LayerNormalization(word + position + segment)",
          .meaning = embed_norm}),
    skip_norm_row("SkipLayerNormalization", kSkipNormIn,
                  "LayerNormalization(input + skip + bias)", skip_norm<true>),
    skip_norm_row("SkipSimplifiedLayerNormalization", kSkipRmsIn,
                  "RMSNormalization(input + skip + bias)", skip_norm<false>),
    ours(dialect::kCast, "add_rms_norm", kAddNormIn, kY, kNorm,
         {.roles = {.normalizing = true},
          .types = {like_all<3>},
          .axes = flow_norm,
          .formula = "rms_norm(x + residual, weight)",
          .meaning = add_rms_norm}),
    ours(dialect::kCast, "add_rms_norm2", kAddNormIn, kAddNorm2Out, kNorm,
         {.roles = {.normalizing = true},
          .types = {norm_and_sum},
          .axes = flow_norm,
          .sum_output = 1,
          .formula = "rms_norm(x + residual, weight), x + residual",
          .meaning = add_rms_norm}),
    ours(dialect::kCast, "rms_norm", kNormIn, kY, kNorm,
         {.roles = {.normalizing = true},
          .types = {like_all<2>},
          .axes = flow_norm,
          .formula = "x / sqrt(mean(x^2) + epsilon) weight, along the "
                     "last axis",
          .meaning = rms_norm}),
};

}  // namespace

std::span<const OpRow> dialect::norms() { return kDialectNorms; }

}  // namespace ruleengine::ops
