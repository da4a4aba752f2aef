#include "tests/cuda/cudnn/operations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace ruleengine::standin {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeast = -std::numeric_limits<double>::infinity();

std::optional<TensorSpec> optional_spec(const Descriptor& d,
                                        cudnnBackendAttributeName_t name) {
  const Descriptor* part = d.part(name);
  if (part == nullptr) return std::nullopt;
  return spec_of(part);
}

const TensorSpec* pointer(const std::optional<TensorSpec>& t) {
  return t ? &*t : nullptr;
}

void add_inputs(Operation& to,
                std::initializer_list<const std::optional<TensorSpec>*> all) {
  for (const auto* each : all) {
    if (*each) to.inputs.push_back(**each);
  }
}

// `of_rows`: each row of `from` has one value.
void expect_broadcast(const TensorSpec& from, const TensorSpec& to,
                      bool of_rows) {
  for (std::size_t i = 0; i < (of_rows ? 3 : 4); ++i) {
    if (from.dims[i] != 1 && from.dims[i] != to.dims[i]) {
      throw GraphFault("a pointwise operation has tensors that do not fit");
    }
  }
}

// --- pointwise ---------------------------------------------------------------

std::size_t operands_of(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_EXP:
    case CUDNN_POINTWISE_LOG:
    case CUDNN_POINTWISE_TANH_FWD:
    case CUDNN_POINTWISE_GEN_INDEX:
    case CUDNN_POINTWISE_IDENTITY:
      return 1;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return 3;
    default:
      return 2;
  }
}

double pointwise(cudnnPointwiseMode_t mode, double x, double b, double t) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_MAX:
      return std::max(x, b);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_TANH_FWD:
      return std::tanh(x);
    case CUDNN_POINTWISE_IDENTITY:
      return x;
    case CUDNN_POINTWISE_CMP_LT:
      return x < b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_GT:
      return x > b ? 1 : 0;
    case CUDNN_POINTWISE_LOGICAL_AND:
      return x != 0 && b != 0 ? 1 : 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return t != 0 ? x : b;
    default:
      throw GraphFault("the mode of a pointwise operation is not known");
  }
}

Operation pointwise_operation(const Descriptor& d) {
  const Descriptor* how = d.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  if (how == nullptr) throw GraphFault("a pointwise operation has no mode");
  const auto mode =
      how->number(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_RELU_FWD);
  const auto axis = how->number<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
  const bool is_index = mode == CUDNN_POINTWISE_GEN_INDEX;
  if (is_index && (axis < 0 || axis > 3)) throw GraphFault("no axis");
  if (!is_index) pointwise(mode, 1, 1, 1);  // throws where it is not known
  constexpr cudnnBackendAttributeName_t kNames[] = {
      CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  Operation out;
  const TensorSpec y = spec_of(d.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  for (std::size_t i = 0; i < operands_of(mode); ++i) {
    out.inputs.push_back(spec_of(d.part(kNames[i])));
    expect_broadcast(out.inputs.back(), y, mode == CUDNN_POINTWISE_MAX);
  }
  out.outputs = {y};
  out.run = [inputs = out.inputs, y, mode, axis, is_index](TensorMemory& m) {
    for_each_index(y.dims, [&](const Four& at) {
      if (is_index) {
        const auto i = at[static_cast<std::size_t>(axis)];
        return m.write(y, at, static_cast<double>(i));
      }
      double x[3] = {};
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        x[i] = m.read(inputs[i], at);
      }
      m.write(y, at, pointwise(mode, x[0], x[1], x[2]));
    });
  };
  return out;
}

// --- products ----------------------------------------------------------------

struct Matmul {
  TensorSpec a, b, c;
  std::optional<TensorSpec> rows, columns, inner;  // of each sequence
  double padding = 0;

  void check() const {
    const bool fits = a.dims[0] == c.dims[0] && b.dims[0] == c.dims[0] &&
                      a.dims[1] == c.dims[1] && c.dims[1] % b.dims[1] == 0 &&
                      a.dims[2] == c.dims[2] && b.dims[3] == c.dims[3] &&
                      a.dims[3] == b.dims[2];
    if (!fits) throw GraphFault("a product has tensors that do not fit");
  }

  // Row `i` of a head, where there is one.
  void run_row(TensorMemory& m, std::int64_t s, std::int64_t h,
               std::int64_t i) const {
    const std::int64_t group = h / (c.dims[1] / b.dims[1]);
    const auto n = length_of(m, pointer(columns), s, c.dims[3]);
    const auto k = length_of(m, pointer(inner), s, a.dims[3]);
    for (std::int64_t j = 0; j < c.dims[3]; ++j) {
      double sum = 0;
      for (std::int64_t e = 0; j < n && e < k; ++e) {
        sum += m.read(a, {s, h, i, e}) * m.read(b, {s, group, e, j});
      }
      m.write(c, {s, h, i, j}, j < n ? sum : padding);
    }
  }

  void run(TensorMemory& m) const {
    for_each_index({c.dims[0], c.dims[1], c.dims[2], 1}, [&](const Four& at) {
      const auto [s, h, i, unused] = at;
      if (i < length_of(m, pointer(rows), s, c.dims[2])) {
        return run_row(m, s, h, i);
      }
      if (!c.is_virtual) return spoil_row(m, c, s, h, i);
      for (std::int64_t j = 0; j < c.dims[3]; ++j) {
        m.write(c, {s, h, i, j}, padding);
      }
    });
  }
};

Operation matmul_operation(const Descriptor& d) {
  const Descriptor* how = d.part(CUDNN_ATTR_OPERATION_MATMUL_DESC);
  if (how == nullptr) throw GraphFault("a product has no type");
  const Matmul product{
      .a = spec_of(d.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC)),
      .b = spec_of(d.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC)),
      .c = spec_of(d.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC)),
      .rows =
          optional_spec(d, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC),
      .columns =
          optional_spec(d, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC),
      .inner =
          optional_spec(d, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC),
      .padding = how->number<double>(CUDNN_ATTR_MATMUL_PADDING_VALUE, 0)};
  product.check();
  Operation out{.inputs = {product.a, product.b},
                .outputs = {product.c},
                .run = [product](TensorMemory& m) { product.run(m); }};
  add_inputs(out, {&product.rows, &product.columns, &product.inner});
  return out;
}

// --- reductions --------------------------------------------------------------

Operation reduction_operation(const Descriptor& d) {
  const Descriptor* how = d.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  if (how == nullptr) throw GraphFault("a reduction has no operator");
  const auto op =
      how->number(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_REDUCE_TENSOR_MUL);
  const bool is_max = op == CUDNN_REDUCE_TENSOR_MAX;
  if (!is_max && op != CUDNN_REDUCE_TENSOR_ADD) {
    throw GraphFault("the operator of a reduction is not known");
  }
  const TensorSpec x = spec_of(d.part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
  const TensorSpec y = spec_of(d.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  const Four rows = {x.dims[0], x.dims[1], x.dims[2], 1};
  // Beside a sink the frontend leaves the result the dims of its input, and
  // cuDNN knows that a row is meant.
  if (y.dims != rows && y.dims != x.dims) {
    throw GraphFault("a reduction is not along the last axis");
  }
  const auto run = [x, y, is_max](TensorMemory& m) {
    for_each_index(y.dims, [&](const Four& at) {
      double out = is_max ? kLeast : 0;
      for (std::int64_t j = 0; j < x.dims[3]; ++j) {
        const double each = m.read(x, {at[0], at[1], at[2], j});
        out = is_max ? (each <= out ? out : each) : out + each;
      }
      m.write(y, at, out);
    });
  };
  return {.inputs = {x}, .outputs = {y}, .run = run};
}

// --- pages -------------------------------------------------------------------

Operation page_operation(const Descriptor& d) {
  const auto pages =
      spec_of(d.part(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC));
  const auto table =
      spec_of(d.part(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC));
  const auto lengths =
      spec_of(d.part(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC));
  const auto y = spec_of(d.part(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC));
  // Keys come as columns.
  const bool is_turned = y.strides[2] == 1;
  const auto run = [=](TensorMemory& m) {
    for_each_index(y.dims, [&](const Four& at) {
      const std::int64_t row = is_turned ? at[3] : at[2];
      if (row >= length_of(m, &lengths, at[0], row + 1)) return;
      const auto page = static_cast<std::int64_t>(
          m.read(table, {at[0], 0, row / pages.dims[2], 0}));
      m.write(y, at,
              m.read(pages, {page, at[1], row % pages.dims[2],
                             is_turned ? at[2] : at[3]}));
    });
  };
  return {.inputs = {pages, table, lengths}, .outputs = {y}, .run = run};
}

}  // namespace

std::int64_t length_of(const TensorMemory& m, const TensorSpec* lengths,
                       std::int64_t sequence, std::int64_t absent) {
  if (lengths == nullptr) return absent;
  const auto found =
      static_cast<std::int64_t>(m.read(*lengths, {sequence, 0, 0, 0}));
  if (found < 0) throw GraphFault("a length is below 0");
  return std::min(found, absent);
}

void spoil_row(TensorMemory& m, const TensorSpec& t, std::int64_t b,
               std::int64_t h, std::int64_t row) {
  if (t.offsets != nullptr) return;
  for (std::int64_t j = 0; j < t.dims[3]; ++j) m.write(t, {b, h, row, j}, kNan);
}

Operation operation_of(const Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return pointwise_operation(d);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return matmul_operation(d);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return reduction_operation(d);
    case CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR:
      return page_operation(d);
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return attention_operation(d);
    default:
      throw GraphFault("an operation is not known: " + std::to_string(d.type));
  }
}

std::vector<Operation> operations_of(const Descriptor& graph) {
  const AttributeValue* value = graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (value == nullptr || value->parts.empty()) {
    throw GraphFault("a graph has no operations");
  }
  std::vector<Operation> pending, out;
  for (const Part& each : value->parts) pending.push_back(operation_of(*each));
  std::map<std::int64_t, bool> made;
  const auto is_ready = [&](const Operation& each) {
    return std::ranges::all_of(each.inputs, [&](const TensorSpec& t) {
      return !t.is_virtual || made.contains(t.uid);
    });
  };
  while (!pending.empty()) {
    const auto next = std::ranges::find_if(pending, is_ready);
    if (next == pending.end()) throw GraphFault("a graph has no order");
    for (const TensorSpec& each : next->outputs) made[each.uid] = true;
    out.push_back(std::move(*next));
    pending.erase(next);
  }
  return out;
}

}  // namespace ruleengine::standin
