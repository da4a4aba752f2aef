// Types of products and convolutions.
#include <algorithm>
#include <functional>

#include "core/analysis/types/rule_helpers.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::Dim;

// numpy's matmul: vectors lose their added axis again.
void set_matmul(const NodeView& v, std::size_t left, std::size_t right,
                Inferred& out) {
  if (!v.ranked(left) || !v.ranked(right)) return;
  const auto a = v.shape(left);
  const auto b = v.shape(right);
  if (a.empty() || b.empty()) return v.refuse("a scalar is no matrix");
  need_equal(v, a.back(), b[b.size() > 1 ? b.size() - 2 : 0],
             "the inner sizes of the product differ");
  const auto batch_a = a.first(a.size() > 1 ? a.size() - 2 : 0);
  const auto batch_b = b.first(b.size() > 1 ? b.size() - 2 : 0);
  Dims dims = broadcast_shapes(v, batch_a, batch_b);
  if (a.size() > 1) dims.push_back(a[a.size() - 2]);
  if (b.size() > 1) dims.push_back(b[b.size() - 1]);
  out.set_dims(dims);
}

bool matmul(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0) != DataType::kUndefined ? v.elem(0) : v.elem(1);
  set_matmul(v, 0, 1, out[0]);
  return true;
}

bool matmul_integer(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = DataType::kInt32;
  set_matmul(v, 0, 1, out[0]);
  return true;
}

bool qlinear_matmul(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(7);
  set_matmul(v, 0, 3, out[0]);
  return true;
}

bool gemm(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  for (std::size_t i = 0; i < 3 && out[0].elem == DataType::kUndefined; ++i) {
    out[0].elem = v.elem(i);  // they are of one type
  }
  std::vector<Dim> dims(2, kUnknown), inner(2, kUnknown);
  const char* const transposed[] = {"transA", "transB"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!v.ranked(i)) continue;
    if (v.rank(i) != 2) return false;
    const bool swap = v.attribute_int(transposed[i]) != 0;
    dims[i] = v.shape(i)[swap ? 1 - i : i];
    inner[i] = v.shape(i)[swap ? i : 1 - i];
  }
  need_equal(v, inner[0], inner[1], "the inner sizes of the product differ");
  out[0].set_dims(std::move(dims));
  return true;
}

struct Window {
  std::int64_t kernel, stride, dilation, before, after;
  bool ceil;
};

// floor((d + before + after - dilation*(kernel-1) - 1) / stride) + 1. With
// `ceil`, a rest is a window, too, unless it starts behind the image: as the
// standard has it since opset 22, and runtimes at every opset.
Dim windows(ir::DimTable& dims, Dim d, const Window& w) {
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
Dim auto_padded(ir::DimTable& dims, Dim d, Window w, std::string_view word) {
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

// The spatial axes after a window of `kernel` walked over them; none where the
// node is wrong.
std::optional<std::vector<Dim>> walked(const NodeView& v,
                                       std::span<const Dim> kernel) {
  const std::size_t space = kernel.size();
  if (v.rank(0) != space + 2) return std::nullopt;
  const auto word = v.attribute_string("auto_pad");
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
  std::vector<Dim> out;
  for (std::size_t i = 0; i < space; ++i) {
    const Dim d = v.shape(0)[2 + i];
    const Window w{kernel[i].known() ? kernel[i].size() : 0,
                   strides[i],
                   dilations[i],
                   pads[i],
                   pads[space + i],
                   ceil};
    out.push_back(word == "NOTSET" ? windows(v.dims(), d, w)
                                   : auto_padded(v.dims(), d, w, word));
  }
  return out;
}

bool conv(const NodeView& v, Outputs out) {
  if (out.empty() || !v.ranked(0) || !v.ranked(1) || v.rank(0) < 3 ||
      v.rank(0) != v.rank(1)) {
    return false;
  }
  std::vector<Dim> kernel(v.shape(1).begin() + 2, v.shape(1).end());
  if (const auto given = v.attribute_ints("kernel_shape");
      given && given->size() == kernel.size()) {
    kernel.clear();
    for (std::int64_t k : *given) kernel.push_back(Dim(k));
  }
  const auto space = walked(v, kernel);
  if (!space) return false;
  std::vector<Dim> dims = {v.shape(0)[0], v.shape(1)[0]};
  dims.insert(dims.end(), space->begin(), space->end());
  out[0].elem = v.elem(0);
  out[0].set_dims(std::move(dims));
  return true;
}

// The schema knows the sizes, but for SAME with output_padding, which ONNX
// Runtime leaves out there.
bool conv_transpose(const NodeView& v, Outputs out) {
  const auto added = v.attribute_ints("output_padding");
  const bool adds = added && std::ranges::any_of(*added, std::identity());
  if (out.empty() || !v.ranked(0) || !adds ||
      !v.attribute_string("auto_pad").starts_with("SAME_")) {
    return false;
  }
  out[0].elem = v.elem(0);
  out[0].set_dims(std::vector<Dim>(v.rank(0), kUnknown));
  return true;
}

bool pool(const NodeView& v, Outputs out) {
  const auto given = v.attribute_ints("kernel_shape");
  if (out.empty() || !v.ranked(0) || v.rank(0) < 3 || !given) return false;
  std::vector<Dim> kernel;
  for (std::int64_t k : *given) kernel.push_back(Dim(k));
  const auto space = walked(v, kernel);
  if (!space) return false;
  std::vector<Dim> dims = {v.shape(0)[0], v.shape(0)[1]};
  dims.insert(dims.end(), space->begin(), space->end());
  for (Inferred& o : out) o.set_dims(dims);
  out[0].elem = v.elem(0);
  if (out.size() > 1) out[1].elem = DataType::kInt64;  // where the maxima are
  return true;
}

// Y, present key, present value, scores, of operands [batch, heads, length,
// size]. Operands of rank 3 keep their heads in attributes.
bool attention(const NodeView& v, Outputs out) {
  if (v.opset() < 23 || out.empty() || !v.ranked(0) || !v.ranked(1) ||
      !v.ranked(2) || v.rank(1) != v.rank(0) || v.rank(2) != v.rank(0)) {
    return false;
  }
  std::vector<Dim> q(v.shape(0).begin(), v.shape(0).end());
  std::vector<Dim> k(v.shape(1).begin(), v.shape(1).end());
  std::vector<Dim> values(v.shape(2).begin(), v.shape(2).end());
  const bool flat = q.size() == 3;
  if (flat) {
    const auto heads = v.attribute_int("q_num_heads");
    const auto groups = v.attribute_int("kv_num_heads");
    if (heads <= 0 || groups <= 0) return false;
    const auto apart = [&](std::vector<Dim>& shape, std::int64_t n) {
      shape.back() = v.dims().floor_div(shape.back(), Dim(n));
      shape.insert(shape.begin() + 1, Dim(n));
    };
    apart(q, heads);
    apart(k, groups);
    apart(values, groups);
  }
  if (q.size() != 4) return false;
  Dim total = k[2];
  if (v.has_input(4)) {
    const bool known = v.ranked(4) && v.rank(4) == 4;
    total = known ? v.dims().add(v.shape(4)[2], total) : kUnknown;
  }
  using Shape = std::vector<Dim>;
  const Shape y = flat ? Shape{q[0], q[2], v.dims().mul(q[1], values[3])}
                       : Shape{q[0], q[1], q[2], values[3]};
  const Shape shapes[] = {y,
                          {k[0], k[1], total, k[3]},
                          {k[0], k[1], total, values[3]},
                          {q[0], q[1], q[2], total}};
  const std::size_t like[] = {0, 1, 2, 0};
  for (std::size_t i = 0; i < out.size() && i < 4; ++i) {
    out[i].elem = v.elem(like[i]);
    out[i].set_dims(shapes[i]);
  }
  return true;
}

constexpr TypeRule kRules[] = {
    {"", "Attention", attention}, {"", "AveragePool", pool},
    {"", "Conv", conv},           {"", "ConvTranspose", conv_transpose},
    {"", "Gemm", gemm},           {"", "LpPool", pool},
    {"", "MatMul", matmul},       {"", "MatMulInteger", matmul_integer},
    {"", "MaxPool", pool},        {"", "QLinearMatMul", qlinear_matmul},
};

}  // namespace

std::span<const TypeRule> linear_rules() { return kRules; }

}  // namespace ruleengine::analysis
