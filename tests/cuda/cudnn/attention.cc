// Whole attentions, as one operation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tests/cuda/cudnn/operations.h"
#include "tests/cuda/standin/standin.h"

namespace ruleengine::standin {
namespace {

struct WholeAttention {
  TensorSpec q, k, v, o;
  std::optional<TensorSpec> scale, statistics, k_pages, v_pages;
  std::optional<TensorSpec> q_lengths, kv_lengths;

  std::int64_t keys() const {
    return k_pages ? k_pages->dims[2] * k.dims[2] : k.dims[2];
  }

  void check() const {
    const bool fits = q.dims[3] == k.dims[3] && v.dims[3] == o.dims[3] &&
                      q.dims[0] == o.dims[0] && q.dims[1] == o.dims[1] &&
                      q.dims[2] == o.dims[2] && k.dims[0] == v.dims[0] &&
                      k.dims[2] == v.dims[2] && q.dims[1] % k.dims[1] == 0 &&
                      q.dims[1] % v.dims[1] == 0 &&
                      (k_pages || k.dims[0] == q.dims[0]);
    if (!fits) throw GraphFault("an attention has tensors that do not fit");
  }

  // Element `e` of key or value `row` of a head of queries.
  double read(const TensorMemory& m, const TensorSpec& t,
              const std::optional<TensorSpec>& pages, const Four& at) const {
    const auto [b, head, row, e] = at;
    const std::int64_t h = head / (q.dims[1] / t.dims[1]);
    if (!pages) return m.read(t, {b, h, row, e});
    const auto page =
        static_cast<std::int64_t>(m.read(*pages, {b, 0, row / t.dims[2], 0}));
    if (page < 0 || page >= t.dims[0])
      throw GraphFault("there is no such page");
    return m.read(t, {page, h, row % t.dims[2], e});
  }

  double score(const TensorMemory& m, const Four& at) const {
    const auto [b, h, i, j] = at;
    double sum = 0;
    for (std::int64_t e = 0; e < q.dims[3]; ++e) {
      sum += m.read(q, {b, h, i, e}) * read(m, k, k_pages, {b, h, j, e});
    }
    return scale ? sum * m.read(*scale, {0, 0, 0, 0}) : sum;
  }

  void run_row(TensorMemory& m, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t length) const {
    std::vector<double> weights;
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      weights.push_back(score(m, {b, h, i, j}));
      most = std::max(most, weights.back());
    }
    for (double& each : weights) sum += each = std::exp(each - most);
    for (std::int64_t e = 0; e < o.dims[3]; ++e) {
      double out = 0;
      for (std::int64_t j = 0; j < length; ++j) {
        out += weights[static_cast<std::size_t>(j)] *
               read(m, v, v_pages, {b, h, j, e});
      }
      if (standin::driver().reads_behind && length < keys()) {
        out += 0 * read(m, v, v_pages, {b, h, length, e});
      }
      m.write(o, {b, h, i, e}, out / sum);
    }
    if (statistics) m.write(*statistics, {b, h, i, 0}, most + std::log(sum));
  }

  void run(TensorMemory& m) const {
    for_each_index({o.dims[0], o.dims[1], o.dims[2], 1}, [&](const Four& at) {
      const auto [b, h, i, unused] = at;
      const auto queries =
          length_of(m, q_lengths ? &*q_lengths : nullptr, b, o.dims[2]);
      if (i < queries) {
        const auto length =
            length_of(m, kv_lengths ? &*kv_lengths : nullptr, b, keys());
        const auto forgotten =
            static_cast<std::int64_t>(standin::driver().forgotten_keys);
        return run_row(m, b, h, i, length - forgotten);
      }
      spoil_row(m, o, b, h, i);
      if (statistics) spoil_row(m, *statistics, b, h, i);
    });
  }
};

}  // namespace

Operation attention_operation(const Descriptor& d) {
  const auto optional = [&](cudnnBackendAttributeName_t name) {
    const Descriptor* part = d.part(name);
    return part == nullptr ? std::optional<TensorSpec>() : spec_of(part);
  };
  const WholeAttention a{
      .q = spec_of(d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC)),
      .k = spec_of(d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC)),
      .v = spec_of(d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC)),
      .o = spec_of(d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC)),
      .scale = optional(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC),
      .statistics = optional(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC),
      .k_pages = optional(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC),
      .v_pages = optional(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC),
      .q_lengths = optional(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC),
      .kv_lengths = optional(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC)};
  if (d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC) != nullptr) {
    throw GraphFault("a mask of blocks is not known");
  }
  a.check();
  Operation out{.inputs = {a.q, a.k, a.v},
                .outputs = {a.o},
                .run = [a](TensorMemory& m) { a.run(m); }};
  for (const auto* each :
       {&a.scale, &a.k_pages, &a.v_pages, &a.q_lengths, &a.kv_lengths}) {
    if (*each) out.inputs.push_back(**each);
  }
  if (a.statistics) out.outputs.push_back(*a.statistics);
  return out;
}

}  // namespace ruleengine::standin
