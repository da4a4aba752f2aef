// Convolutions and pools.
#include <algorithm>
#include <functional>

#include "core/ops/families.h"
#include "core/ops/rules/type_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

struct ConvWindow {
  std::int64_t kernel, stride, dilation, before, after;
  bool ceil;
};

// floor((d + before + after - dilation*(kernel-1) - 1) / stride) + 1. With
// `ceil`, a rest is a window, too, unless it starts behind the image: as the
// standard has it since opset 22, and runtimes at every opset.
Dim windows(ir::DimTable& dims, Dim d, const ConvWindow& w) {
  std::int64_t reach = 0, pad = 0, shift = 0;
  if (w.stride <= 0 || w.kernel <= 0 || w.dilation <= 0 ||
      __builtin_mul_overflow(w.dilation, w.kernel - 1, &reach) ||
      __builtin_add_overflow(w.before, w.after, &pad) ||
      __builtin_sub_overflow(pad, reach, &shift) ||
      __builtin_sub_overflow(shift, std::int64_t{1}, &shift)) {
    return kUnknown;
  }
  const Dim room = dims.add(d, Dim(shift));
  // No window fits: runtimes round differently, or fail.
  if (room.known() && room.size() < 0) return kUnknown;
  const Dim stride(w.stride), one(1);
  if (!w.ceil) return dims.add(dims.floor_div(room, stride), one);
  // Wider padding, which runtimes refuse, has several windows behind the image.
  if (w.before >= w.kernel || w.after >= w.kernel) return kUnknown;
  return dims.min(dims.add(dims.ceil_div(room, stride), one),
                  dims.ceil_div(dims.add(d, Dim(w.before)), stride));
}

// The same where padding goes by a word of auto_pad. Where the standard and
// the runtimes differ (SAME with dilation, VALID with ceil_mode), unknown.
Dim auto_padded(ir::DimTable& dims, Dim d, ConvWindow w,
                std::string_view word) {
  if (word == "VALID") {
    w.before = w.after = 0;
    const Dim up = windows(dims, d, w);
    w.ceil = false;
    return windows(dims, d, w) == up ? up : kUnknown;
  }
  const bool same = word == "SAME_UPPER" || word == "SAME_LOWER";
  return same && w.dilation == 1 && w.stride > 0
             ? dims.ceil_div(d, Dim(w.stride))
             : kUnknown;
}

// The shape after a window of `kernel` walked over the spatial axes, with so
// many channels; none where the node is wrong.
std::optional<Dims> walked(const NodeView& v, std::span<const Dim> kernel,
                           Dim channels) {
  const std::size_t space = kernel.size();
  if (v.rank(0) != space + 2) return std::nullopt;
  const auto word = v.attribute_string("auto_pad");
  const bool is_set = !word.empty() && word != "NOTSET";
  const bool ceil = v.attribute_int("ceil_mode") != 0;
  const auto list = [&](std::string_view name, std::size_t n,
                        std::int64_t fallback) {
    return v.attribute_ints(name).value_or(
        std::vector<std::int64_t>(n, fallback));
  };
  const auto strides = list("strides", space, 1);
  const auto dilations = list("dilations", space, 1);
  const auto pads = list("pads", 2 * space, 0);
  if (strides.size() != space || dilations.size() != space ||
      pads.size() != 2 * space) {
    return std::nullopt;
  }
  Dims out = {v.shape(0)[0], channels};
  for (std::size_t i = 0; i < space; ++i) {
    const Dim d = v.shape(0)[2 + i];
    const ConvWindow w{kernel[i].known() ? kernel[i].size() : 0,
                       strides[i],
                       dilations[i],
                       pads[i],
                       pads[space + i],
                       ceil};
    out.push_back(is_set ? auto_padded(v.dims(), d, w, word)
                         : windows(v.dims(), d, w));
  }
  return out;
}

bool conv(const NodeView& v, Outputs out) {
  if (!v.ranked(0) || !v.ranked(1) || v.rank(0) < 3 || v.rank(0) != v.rank(1)) {
    return false;
  }
  std::vector<Dim> kernel(v.shape(1).begin() + 2, v.shape(1).end());
  if (const auto given = v.attribute_ints("kernel_shape");
      given && given->size() == kernel.size()) {
    kernel = dims_of(*given);
  }
  const auto dims = walked(v, kernel, v.shape(1)[0]);
  if (!dims) return false;
  out[0].elem = v.elem(0);
  out[0].set_dims(*dims);
  return true;
}

// The schema knows the sizes, but for SAME with output_padding, which ONNX
// Runtime leaves out there.
bool conv_transpose(const NodeView& v, Outputs out) {
  const auto added = v.attribute_ints("output_padding");
  const bool adds = added && std::ranges::any_of(*added, std::identity());
  if (!v.ranked(0) || !adds ||
      !v.attribute_string("auto_pad").starts_with("SAME_")) {
    return false;
  }
  out[0].elem = v.elem(0);
  out[0].set_dims(std::vector<Dim>(v.rank(0), kUnknown));
  return true;
}

bool pool(const NodeView& v, Outputs out) {
  const auto given = v.attribute_ints("kernel_shape");
  if (!v.ranked(0) || v.rank(0) < 3 || !given) return false;
  const auto dims = walked(v, dims_of(*given), v.shape(0)[1]);
  if (!dims) return false;
  for (Inferred& o : out) o.set_dims(*dims);
  out[0].elem = v.elem(0);
  if (out.size() > 1) out[1].elem = DataType::kInt64;  // where the maxima are
  return true;
}

bool global_pool(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  if (v.rank(0) < 2) return false;
  out[0].set_dims(v.shape(0));
  std::fill(out[0].dims.begin() + 2, out[0].dims.end(), Dim(1));
  return true;
}

// Each element of the result is a sum over one filter, [channels of a group,
// ...].
double conv_with(const SizedNode& n, std::size_t filters) {
  return n.out(0) * n.in(filters) / n.in(filters, 0);
}
double conv(const SizedNode& n) { return conv_with(n, 1); }
double qlinear_conv(const SizedNode& n) { return conv_with(n, 3); }

// Each element of the input goes into a window of each result of its group.
double conv_transpose(const SizedNode& n) {
  return n.in(0) * n.in(1) / n.in(1, 0);
}

constexpr OpRow keeps_rank(std::string_view type) {
  return {.type = type, .roles = {.keeps_rank = true}};
}

constexpr OpRow kStandardConvolution[] = {
    {.type = "AveragePool", .roles = {.integers = true}, .types = {pool}},
    {.type = "Conv",
     .roles = {.integers = true},
     .types = {conv},
     .products = conv},
    {.type = "ConvInteger", .roles = {.keeps_rank = true}, .products = conv},
    {.type = "ConvTranspose",
     .roles = {.keeps_rank = true, .integers = true},
     .types = {conv_transpose},
     .products = conv_transpose},
    {.type = "DeformConv", .roles = {.keeps_rank = true}, .products = conv},
    {.type = "GlobalAveragePool",
     .roles = {.integers = true},
     .types = {global_pool}},
    {.type = "GlobalMaxPool", .types = {global_pool}},
    {.type = "LpPool", .types = {pool}},
    {.type = "MaxPool", .roles = {.integers = true}, .types = {pool}},
    {.type = "QLinearConv",
     .roles = {.keeps_rank = true},
     .products = qlinear_conv},
    keeps_rank("DepthToSpace"),
    keeps_rank("GlobalLpPool"),
    keeps_rank("GridSample"),
    keeps_rank("MaxRoiPool"),
    keeps_rank("MaxUnpool"),
    keeps_rank("RoiAlign"),
    keeps_rank("SpaceToDepth"),
};

}  // namespace

std::span<const OpRow> standard::convolution() { return kStandardConvolution; }

}  // namespace ruleengine::ops
