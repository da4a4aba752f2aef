// Types of products and convolutions.
#include "core/analysis/rule_helpers.h"

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
  if (a.empty() || b.empty()) return;
  const auto batch_a = a.first(a.size() > 1 ? a.size() - 2 : 0);
  const auto batch_b = b.first(b.size() > 1 ? b.size() - 2 : 0);
  std::vector<Dim> dims = broadcast_shapes(v, batch_a, batch_b);
  if (a.size() > 1) dims.push_back(a[a.size() - 2]);
  if (b.size() > 1) dims.push_back(b[b.size() - 1]);
  out.set_dims(std::move(dims));
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
  out[0].elem = v.elem(0);
  std::vector<Dim> dims(2, kUnknown);
  const char* const transposed[] = {"transA", "transB"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!v.ranked(i)) continue;
    if (v.rank(i) != 2) return false;
    const bool swap = v.attribute_int(transposed[i], 0) != 0;
    dims[i] = v.shape(i)[swap ? 1 - i : i];
  }
  out[0].set_dims(std::move(dims));
  return true;
}

struct Window {
  std::int64_t kernel, stride, dilation, before, after;
};

// floor((d + before + after - dilation*(kernel-1) - 1) / stride) + 1
Dim windows(ir::DimTable& dims, Dim d, const Window& w) {
  std::int64_t reach = 0, pad = 0, shift = 0;
  if (w.stride <= 0 || w.kernel <= 0 || w.dilation <= 0 ||
      __builtin_mul_overflow(w.dilation, w.kernel - 1, &reach) ||
      __builtin_add_overflow(w.before, w.after, &pad) ||
      __builtin_sub_overflow(pad, reach, &shift) ||
      __builtin_sub_overflow(shift, std::int64_t{1}, &shift)) {
    return kUnknown;
  }
  const Dim out =
      dims.add(dims.floor_div(dims.add(d, Dim(shift)), Dim(w.stride)), Dim(1));
  return out.known() && out.size() < 0 ? kUnknown : out;
}

bool conv(const NodeView& v, Outputs out) {
  if (out.empty() || !v.ranked(0) || !v.ranked(1) || v.rank(0) < 3 ||
      v.rank(0) != v.rank(1) ||
      v.attribute_string("auto_pad", "NOTSET") != "NOTSET") {
    return false;
  }
  const std::size_t space = v.rank(0) - 2;
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
    return false;
  }
  const auto kernel = v.attribute_ints("kernel_shape");
  std::vector<Dim> dims = {v.shape(0)[0], v.shape(1)[0]};
  for (std::size_t i = 0; i < space; ++i) {
    const Dim k = kernel && kernel->size() == space ? Dim((*kernel)[i])
                                                    : v.shape(1)[2 + i];
    if (!k.known()) {
      dims.push_back(kUnknown);
      continue;
    }
    dims.push_back(windows(
        v.dims(), v.shape(0)[2 + i],
        {k.size(), strides[i], dilations[i], pads[i], pads[space + i]}));
  }
  out[0].elem = v.elem(0);
  out[0].set_dims(std::move(dims));
  return true;
}

constexpr TypeRule kRules[] = {
    {"", "Conv", conv},
    {"", "Gemm", gemm},
    {"", "MatMul", matmul},
    {"", "MatMulInteger", matmul_integer},
    {"", "QLinearMatMul", qlinear_matmul},
};

}  // namespace

std::span<const TypeRule> linear_rules() { return kRules; }

}  // namespace ruleengine::analysis
