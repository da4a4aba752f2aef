// An attention with random numbers, and what doubles say of it.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cuda/device/attention.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {

struct AttentionSizes {
  int batch = 1, q_heads = 2, kv_heads = 1;
  int q_length = 1, kv_length = 1, qk_size = 64, v_size = 64;
  float cap = 0;
  std::optional<int64_t> left, right;
  int64_t diagonal = 0;
  bool is_bottom_right = false;
  BiasKind bias_kind = BiasKind::kNone;
  bool broadcasts = false;  // one bias for all heads and batches
  bool has_sinks = false;
  std::vector<int> q_lengths, kv_lengths;
  int page_size = 0;
  int splits = 1;
  int seen_keys = 0;  // 0: all
  int skip = 0;       // elements before the first
};

// Queries and outputs are [batch, length, heads, size], keys and values
// [batch, heads, length, size], or pages of that.
template <typename T>
struct AttentionCase {
  AttentionSizes sizes;
  int64_t pages_of_sequence, kv_rows;
  Buffer<T> q, k, v, out;
  Buffer<float> bias_f32, sinks, log_sums, parts;
  Buffer<__half> bias_f16;
  Buffer<__nv_bfloat16> bias_bf16;
  std::vector<std::uint8_t> bias_bool;
  std::vector<std::int32_t> pages;
  std::vector<int64_t> q_lengths;
  std::vector<std::int32_t> kv_lengths;
  bool is_guarded = false;

  explicit AttentionCase(const AttentionSizes& s)
      : sizes(s),
        pages_of_sequence(s.page_size == 0
                              ? 0
                              : (s.kv_length + s.page_size - 1) / s.page_size),
        kv_rows(s.page_size == 0 ? s.batch * s.kv_length
                                 : s.batch * pages_of_sequence * s.page_size),
        q(random_buffer<T>(queries() * s.qk_size, s.skip, 2, 1)),
        k(random_buffer<T>(kv_rows * s.kv_heads * s.qk_size, s.skip, 2, 2)),
        v(random_buffer<T>(kv_rows * s.kv_heads * s.v_size, s.skip, 2, 3)),
        out(queries() * s.v_size, s.skip),
        bias_f32(random_buffer<float>(biases(), 0, 3, 4)),
        sinks(random_buffer<float>(s.q_heads, 0, 3, 5)),
        log_sums(queries()),
        parts(0),
        bias_f16(biases()),
        bias_bf16(biases()),
        q_lengths(s.q_lengths.begin(), s.q_lengths.end()),
        kv_lengths(s.kv_lengths.begin(), s.kv_lengths.end()) {
    for (int64_t i = 0; i < biases(); ++i) {
      bias_f16[i] = of_double<__half>(bias_f32.at(i));
      bias_bf16[i] = of_double<__nv_bfloat16>(bias_f32.at(i));
      bias_bool.push_back(bias_f32.at(i) > 0);
    }
    // Pages lie backwards.
    for (int64_t i = s.batch * pages_of_sequence; i-- > 0;) {
      pages.push_back(static_cast<std::int32_t>(i));
    }
    AttentionArgs of = args();
    parts = Buffer<float>(attention_workspace(of) / 4);
  }

  int64_t queries() const {
    return int64_t{sizes.batch} * sizes.q_heads * sizes.q_length;
  }
  int64_t biases() const {
    const int64_t one = int64_t{sizes.q_length} * sizes.kv_length;
    return sizes.broadcasts ? one : one * sizes.batch * sizes.q_heads;
  }

  const void* bias() {
    switch (sizes.bias_kind) {
      case BiasKind::kF32:
        return bias_f32.data();
      case BiasKind::kF16:
        return bias_f16.data();
      case BiasKind::kBf16:
        return bias_bf16.data();
      case BiasKind::kBool:
        return bias_bool.data();
      default:
        return nullptr;
    }
  }

  double bias_at(int64_t i) {
    switch (sizes.bias_kind) {
      case BiasKind::kF32:
        return bias_f32.at(i);
      case BiasKind::kF16:
        return bias_f16.at(i);
      case BiasKind::kBf16:
        return bias_bf16.at(i);
      case BiasKind::kBool:
        return bias_bool[std::size_t(i)] != 0 ? 0 : -kInf;
      default:
        return 0;
    }
  }

  AttentionRows rows_of(Buffer<T>& of, int64_t heads, int64_t length,
                        int64_t size, bool by_length) {
    AttentionRows rows{of.data(), {heads * length * size, 0, 0}};
    rows.strides[1] = by_length ? size : length * size;
    rows.strides[2] = by_length ? heads * size : size;
    return rows;
  }

  AttentionArgs args() {
    const AttentionSizes& s = sizes;
    AttentionArgs a{};
    const int64_t kv = s.page_size == 0 ? s.kv_length : s.page_size;
    a.q = rows_of(q, s.q_heads, s.q_length, s.qk_size, true);
    a.out = rows_of(out, s.q_heads, s.q_length, s.v_size, true);
    a.k = rows_of(k, s.kv_heads, kv, s.qk_size, false);
    a.v = rows_of(v, s.kv_heads, kv, s.v_size, false);
    a.batch = s.batch;
    a.q_heads = s.q_heads;
    a.kv_heads = s.kv_heads;
    a.q_length = s.q_length;
    a.kv_length = s.kv_length;
    a.seen_keys = s.seen_keys == 0 ? s.kv_length : s.seen_keys;
    a.qk_size = s.qk_size;
    a.v_size = s.v_size;
    a.scale = scale();
    a.cap = s.cap;
    a.has_left = s.left.has_value();
    a.has_right = s.right.has_value();
    a.left = s.left.value_or(0);
    a.right = s.right.value_or(0);
    a.diagonal = s.diagonal;
    a.is_bottom_right = s.is_bottom_right;
    a.bias_kind = s.bias_kind;
    a.bias = bias();
    const int64_t one = int64_t{s.q_length} * s.kv_length;
    a.bias_strides[0] = s.broadcasts ? 0 : one * s.q_heads;
    a.bias_strides[1] = s.broadcasts ? 0 : one;
    a.bias_strides[2] = s.kv_length;
    a.bias_strides[3] = 1;
    if (!q_lengths.empty()) a.q_lengths = {q_lengths.data(), true};
    if (!kv_lengths.empty()) a.kv_lengths = {kv_lengths.data(), false};
    a.sinks = s.has_sinks ? sinks.data() : nullptr;
    a.log_sums = log_sums.data();
    a.is_guarded = is_guarded;
    if (s.page_size != 0) a.pages = pages.data();
    a.pages_stride = pages_of_sequence;
    a.page_size = s.page_size;
    a.splits = s.splits;
    a.parts = parts.data();
    return a;
  }

  float scale() const {
    return 1 / std::sqrt(static_cast<float>(sizes.qk_size));
  }

  // The row of k and v in elements of one.
  int64_t kv_row(int64_t b, int64_t head, int64_t key) const {
    int64_t length = sizes.kv_length;
    if (sizes.page_size != 0) {
      length = sizes.page_size;
      b = pages[std::size_t(b * pages_of_sequence + key / length)];
      key %= length;
    }
    return (b * sizes.kv_heads + head) * length + key;
  }

  bool is_seen(int64_t b, int64_t query, int64_t key) const {
    const AttentionSizes& s = sizes;
    const auto at = std::size_t(b);
    const int64_t n = s.q_lengths.empty() ? s.q_length : s.q_lengths[at];
    const int64_t keys = s.kv_lengths.empty() ? s.kv_length : s.kv_lengths[at];
    const int64_t diagonal =
        query + s.diagonal + (s.is_bottom_right ? keys - n : 0);
    return query < n && key < keys && (s.seen_keys == 0 || key < s.seen_keys) &&
           (!s.left || key >= diagonal - *s.left) &&
           (!s.right || key <= diagonal + *s.right);
  }

  double score(int64_t b, int64_t head, int64_t query, int64_t key) {
    const AttentionSizes& s = sizes;
    const int64_t q_row = (b * s.q_length + query) * s.q_heads + head;
    const int64_t row = kv_row(b, head / (s.q_heads / s.kv_heads), key);
    double sum = 0;
    for (int64_t i = 0; i < s.qk_size; ++i) {
      sum += q.at(q_row * s.qk_size + i) * k.at(row * s.qk_size + i);
    }
    sum *= scale();
    if (s.cap != 0) sum = s.cap * std::tanh(sum / s.cap);
    const int64_t first = s.broadcasts ? 0 : b * s.q_heads + head;
    return sum + bias_at((first * s.q_length + query) * s.kv_length + key);
  }

  // The output of a row; returns the logarithm of the sum.
  double row_of(int64_t b, int64_t head, int64_t query, double* to) {
    const AttentionSizes& s = sizes;
    std::vector<double> scores(std::size_t(s.kv_length), -kInf);
    double most = s.has_sinks ? sinks.at(head) : -kInf;
    for (int64_t key = 0; key < s.kv_length; ++key) {
      if (!is_seen(b, query, key)) continue;
      scores[std::size_t(key)] = score(b, head, query, key);
      most = std::max(most, scores[std::size_t(key)]);
    }
    std::fill_n(to, s.v_size, 0.0);
    if (most == -kInf) return -kInf;
    double sum = s.has_sinks ? std::exp(sinks.at(head) - most) : 0;
    for (const double each : scores) sum += std::exp(each - most);
    for (int64_t key = 0; key < s.kv_length; ++key) {
      const double share = std::exp(scores[std::size_t(key)] - most) / sum;
      if (share == 0) continue;
      const int64_t row = kv_row(b, head / (s.q_heads / s.kv_heads), key);
      for (int64_t i = 0; i < s.v_size; ++i) {
        to[i] += share * v.at(row * s.v_size + i);
      }
    }
    return most + std::log(sum);
  }

  void launch(Order order) {
    const AttentionArgs a = args();
    const int size = attention_size(a);
    const auto blocks = static_cast<unsigned>(attention_blocks(a) * a.splits);
    run(named<T>(("flash_attention_" + std::to_string(size)).c_str()), a,
        {.blocks = blocks,
         .threads = kAttentionThreads,
         .shared = attention_shared(size, sizeof(T))},
        order);
    if (a.splits == 1) return;
    run(named<T>("join_attention"), a,
        {.blocks = static_cast<unsigned>(join_blocks(a)),
         .threads = kJoinThreads},
        order);
  }

  void check() {
    const AttentionSizes& s = sizes;
    CAPTURE(s.q_length);
    CAPTURE(s.kv_length);
    CAPTURE(s.qk_size);
    CAPTURE(s.v_size);
    CAPTURE(s.splits);
    std::vector<double> outputs(static_cast<std::size_t>(out.size()));
    std::vector<double> logs(static_cast<std::size_t>(queries()));
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t head = 0; head < s.q_heads; ++head) {
        for (int64_t i = 0; i < s.q_length; ++i) {
          const int64_t row = (b * s.q_length + i) * s.q_heads + head;
          logs[std::size_t((b * s.q_heads + head) * s.q_length + i)] =
              row_of(b, head, i, outputs.data() + row * s.v_size);
        }
      }
    }
    for (const Order order : kOrders) {
      out.clear();
      log_sums.clear();
      parts.clear();
      launch(order);
      check_close(
          out, [&](int64_t i) { return outputs[std::size_t(i)]; },
          tolerance<T>(), 3 * tolerance<T>());
      check_close(
          log_sums, [&](int64_t i) { return logs[std::size_t(i)]; }, 3e-6,
          3e-6);
    }
  }
};

}  // namespace ruleengine::kernels::device
