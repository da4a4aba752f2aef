// Products of matrices.
#include "core/ops/families.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
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
  out[0].elem = v.elem(0) != DataType::kUndefined ? v.elem(0) : v.elem(1);
  set_matmul(v, 0, 1, out[0]);
  return true;
}

bool matmul_integer(const NodeView& v, Outputs out) {
  out[0].elem = DataType::kInt32;
  set_matmul(v, 0, 1, out[0]);
  return true;
}

bool qlinear_matmul(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(7);
  set_matmul(v, 0, 3, out[0]);
  return true;
}

bool gemm(const NodeView& v, Outputs out) {
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

constexpr OpRow kRows[] = {
    {.type = "Gemm", .types = {gemm}},
    {.type = "MatMul", .types = {matmul}},
    {.type = "MatMulInteger", .types = {matmul_integer}},
    {.type = "QLinearMatMul", .types = {qlinear_matmul}},
};

}  // namespace

std::span<const OpRow> standard::products() { return kRows; }

}  // namespace ruleengine::ops
