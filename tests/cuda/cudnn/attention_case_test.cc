#include "tests/cuda/cudnn/attention_case.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/ir/narrow_float.h"

namespace ruleengine::kernels::cuda {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

double as_type(DataType type, double value) {
  return ir::is_narrow_float(type)
             ? ir::widen(type, ir::narrow(type, value))
             : static_cast<double>(static_cast<float>(value));
}

}  // namespace

AttentionCase::AttentionCase(const AttentionDescription& d,
                             std::vector<std::int64_t> q_counts,
                             std::vector<std::int64_t> kv_counts)
    : d_(d), q_counts_(std::move(q_counts)), kv_counts_(std::move(kv_counts)) {
  q = random(d.element, extent(d.q, q_dims(d.qk_size)));
  k = random(d.element, extent(d.k, kv_dims(d.qk_size)));
  v = random(d.element, extent(d.v, kv_dims(d.v_size)));
  if (d.bias) {
    bias = random(d.bias->element, extent(d.bias->strides, d.bias->dims));
  }
  if (d.has_sink) sink = random(DataType::kFloat, d.q_heads);
  if (d.has_lengths) {
    q_lengths = {DataType::kInt32, {q_counts_.begin(), q_counts_.end()}};
    kv_lengths = {DataType::kInt32, {kv_counts_.begin(), kv_counts_.end()}};
  }
  if (d.is_ragged) add_offsets();
  if (d.paging) add_pages();
  spoil_unused();
}

std::int64_t AttentionCase::queries(std::int64_t b) const {
  return d_.has_lengths ? q_counts_[index(b)] : d_.q_length;
}
std::int64_t AttentionCase::keys(std::int64_t b) const {
  return d_.has_lengths ? kv_counts_[index(b)] : d_.kv_length;
}

FourSizes AttentionCase::q_dims(std::int64_t size) const {
  return {d_.batch, d_.q_heads, d_.q_length, size};
}
FourSizes AttentionCase::kv_dims(std::int64_t size) const {
  if (d_.paging) {
    return {d_.paging->pages, d_.kv_heads, d_.paging->page_size, size};
  }
  return {d_.batch, d_.kv_heads, d_.kv_length, size};
}

std::int64_t AttentionCase::extent(const FourSizes& strides,
                                   const FourSizes& dims) {
  std::int64_t out = 1;
  for (std::size_t i = 0; i < 4; ++i) out += (dims[i] - 1) * strides[i];
  return out;
}

Elements AttentionCase::random(DataType type, std::int64_t count) {
  Elements out{type, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const auto bits = static_cast<double>(state_ >> 40);
    out.values.push_back(as_type(type, bits / 8388608.0 * 2 - 2));
  }
  return out;
}

Elements AttentionCase::offsets(const std::vector<std::int64_t>& lengths,
                                const FourSizes& strides) const {
  Elements out{DataType::kInt64, {0}};
  for (const std::int64_t n : lengths) {
    out.values.push_back(out.values.back() +
                         static_cast<double>(n * strides[2]));
  }
  return out;
}

void AttentionCase::add_offsets() {
  q_offsets = offsets(q_counts_, d_.q);
  o_offsets = offsets(q_counts_, d_.o);
  if (d_.paging) return;
  k_offsets = offsets(kv_counts_, d_.k);
  v_offsets = offsets(kv_counts_, d_.v);
}

void AttentionCase::add_pages() {
  const Paging& p = *d_.paging;
  pages.type = DataType::kInt32;
  // The last page comes first.
  for (std::int64_t i = 0; i < d_.batch * p.table_length; ++i) {
    pages.values.push_back(static_cast<double>(p.pages - 1 - i));
  }
}

void AttentionCase::spoil_unused() {
  if (!d_.has_lengths || d_.is_ragged) return;
  for (std::int64_t b = 0; b < d_.batch; ++b) {
    for (std::int64_t head = 0; head < d_.q_heads; ++head) {
      const std::int64_t h = head / (d_.q_heads / d_.kv_heads);
      for (std::int64_t i = queries(b); i < d_.q_length; ++i) {
        q.values[index(b * d_.q[0] + head * d_.q[1] + i * d_.q[2])] = kNan;
      }
      for (std::int64_t j = keys(b); j < d_.kv_length; ++j) {
        k.values[index(place_of_key(k_offsets, d_.k, b, h, j))] = kNan;
        v.values[index(place_of_key(v_offsets, d_.v, b, h, j))] = kNan;
      }
    }
  }
}

std::int64_t AttentionCase::place_of_result(std::int64_t b, std::int64_t head,
                                            std::int64_t query) const {
  const std::int64_t first =
      d_.is_ragged ? static_cast<std::int64_t>(o_offsets.values[index(b)])
                   : b * d_.o[0];
  return first + head * d_.o[1] + query * d_.o[2];
}

std::int64_t AttentionCase::place_of_key(const Elements& firsts,
                                         const FourSizes& strides,
                                         std::int64_t b, std::int64_t head,
                                         std::int64_t key) const {
  const std::int64_t inside = head * strides[1];
  if (d_.paging) {
    const Paging& p = *d_.paging;
    const auto page = static_cast<std::int64_t>(
        pages.values[index(b * p.table_stride + key / p.page_size)]);
    return page * strides[0] + inside + key % p.page_size * strides[2];
  }
  const std::int64_t first =
      d_.is_ragged ? static_cast<std::int64_t>(firsts.values[index(b)])
                   : b * strides[0];
  return first + inside + key * strides[2];
}

double AttentionCase::score(std::int64_t b, std::int64_t head,
                            std::int64_t query, std::int64_t key) const {
  const std::int64_t h = head / (d_.q_heads / d_.kv_heads);
  const std::int64_t q_first =
      d_.is_ragged ? static_cast<std::int64_t>(q_offsets.values[index(b)])
                   : b * d_.q[0];
  const std::int64_t q_at = q_first + head * d_.q[1] + query * d_.q[2];
  const std::int64_t k_at = place_of_key(k_offsets, d_.k, b, h, key);
  double out = 0;
  for (std::int64_t e = 0; e < d_.qk_size; ++e) {
    out += q.values[index(q_at + e)] * k.values[index(k_at + e)];
  }
  out *= static_cast<double>(scale);
  const auto most = static_cast<double>(cap);
  if (d_.has_cap) out = most * std::tanh(out / most);
  if (!d_.bias) return out;
  const FourSizes at = {b, head, query, key};
  std::int64_t place = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    if (d_.bias->dims[i] != 1) place += at[i] * d_.bias->strides[i];
  }
  return out + bias.values[index(place)];
}

bool AttentionCase::is_seen(std::int64_t b, std::int64_t query,
                            std::int64_t key) const {
  const Band& band = d_.band;
  const std::int64_t diagonal = band.diagonal == Diagonal::kTopLeft
                                    ? query
                                    : query + keys(b) - queries(b);
  return (!band.left || key >= diagonal - *band.left) &&
         (!band.right || key <= diagonal + *band.right);
}

AttentionCase::Row AttentionCase::row(std::int64_t b, std::int64_t head,
                                      std::int64_t query) const {
  const std::int64_t h = head / (d_.q_heads / d_.kv_heads);
  double sum = d_.has_sink ? std::exp(sink.values[index(head)]) : 0;
  bool has_key = false;
  Row out{std::vector<double>(index(d_.v_size), 0.0), 0};
  for (std::int64_t j = 0; j < keys(b); ++j) {
    if (!is_seen(b, query, j)) continue;
    has_key = true;
    const double weight = std::exp(score(b, head, query, j));
    sum += weight;
    const std::int64_t at = place_of_key(v_offsets, d_.v, b, h, j);
    for (std::int64_t e = 0; e < d_.v_size; ++e) {
      out.values[index(e)] += weight * v.values[index(at + e)];
    }
  }
  if (!has_key) return {};
  for (double& each : out.values) each /= sum;
  out.statistics = std::log(sum);
  return out;
}

}  // namespace ruleengine::kernels::cuda
