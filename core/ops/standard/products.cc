// Products of matrices.
#include <algorithm>
#include <string>

#include "core/ops/families.h"
#include "core/ops/rules/type_helpers.h"
#include "core/ops/sized_node.h"

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

double matmul(const SizedNode& n) { return n.out(0) * n.in(0, -1); }

double gemm(const SizedNode& n) {
  return n.out(0) * n.in(0, n.node.attribute_int("transA") != 0 ? 0 : 1);
}

// The letters of the result of an Einsum.
std::string result_of(std::string_view equation) {
  if (const auto arrow = equation.find("->"); arrow != equation.npos) {
    return std::string(equation.substr(arrow + 2));
  }
  std::string once;
  for (const char c : equation) {
    if (std::ranges::count(equation, c) == 1) once += c;
  }
  return once;
}

// One for each element of the result and each place along the letters that it
// lacks.
double einsum(const SizedNode& n) {
  if (n.node.input_count() < 2) return 0;  // a sum
  std::string equation(n.node.attribute_string("equation"));
  std::erase(equation, ' ');
  std::string seen = result_of(equation);
  std::string_view terms = std::string_view(equation).substr(
      0, std::min(equation.find("->"), equation.size()));
  double out = n.out(0);
  for (std::size_t i = 0; i < n.node.input_count(); ++i) {
    const std::string_view term = terms.substr(0, terms.find(','));
    terms.remove_prefix(std::min(term.size() + 1, terms.size()));
    const std::size_t dots = term.find('.');
    for (std::size_t at = 0; at < term.size(); ++at) {
      if (term[at] == '.' || seen.find(term[at]) != seen.npos) continue;
      seen += term[at];
      const std::size_t from_end = at < dots ? 0 : term.size();
      out *= n.in(i, static_cast<int>(at) - static_cast<int>(from_end));
    }
  }
  return out;
}

// Inputs X [time, batch, size], weights and recurrent weights.
double recurrent(const SizedNode& n) {
  return n.in(0, 0) * n.in(0, 1) * (n.in(1) + n.in(2));
}

constexpr OpRow kStandardProducts[] = {
    {.type = "Einsum", .factors = {true}, .products = einsum},
    {.type = "GRU", .products = recurrent},
    {.type = "Gemm",
     .roles = {.folds = true, .integers = true},
     .factors = {true},
     .types = {gemm},
     .products = gemm},
    {.type = "LSTM", .products = recurrent},
    {.type = "MatMul",
     .roles = {.folds = true, .integers = true},
     .factors = {true},
     .types = {matmul},
     .products = matmul},
    {.type = "MatMulInteger",
     .factors = {true, 0, 1, true},
     .types = {matmul_integer},
     .products = matmul},
    {.type = "QLinearMatMul",
     .factors = {true, 0, 3, true},
     .types = {qlinear_matmul},
     .products = matmul},
    {.type = "RNN", .products = recurrent},
};

}  // namespace

std::span<const OpRow> standard::products() { return kStandardProducts; }

}  // namespace ruleengine::ops
