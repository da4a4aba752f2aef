#include "kernels/cuda/attention/check.h"

#include <fmt/format.h>

#include <bit>
#include <initializer_list>
#include <limits>

namespace ruleengine::kernels::cuda {
namespace {

using Reason = std::optional<std::string>;

constexpr std::int64_t kMostHeads = 65535;  // of a grid of blocks
constexpr std::int64_t kMostLength = std::numeric_limits<std::int32_t>::max();

bool is_half(DataType element) {
  return element == DataType::kFloat16 || element == DataType::kBfloat16;
}

Reason check_sizes(const AttentionDescription& d) {
  for (const std::int64_t n : {d.batch, d.q_heads, d.kv_heads}) {
    if (n < 1 || n > kMostHeads) {
      return fmt::format("batch and heads are 1 to {}, not {}", kMostHeads, n);
    }
  }
  for (const std::int64_t n : {d.q_length, d.kv_length}) {
    if (n < 1 || n > kMostLength) {
      return fmt::format("lengths are 1 to {}, not {}", kMostLength, n);
    }
  }
  for (const std::int64_t n : {d.qk_size, d.v_size}) {
    if (n < 8 || n > 256 || n % 8 != 0) {
      return fmt::format("head sizes are multiples of 8 up to 256, not {}", n);
    }
  }
  if (d.q_heads % d.kv_heads != 0) {
    return fmt::format("{} heads of queries do not share {} heads of keys",
                       d.q_heads, d.kv_heads);
  }
  return std::nullopt;
}

// cuDNN moves 16 bytes at once, wherever they begin.
Reason check_strides(const AttentionDescription& d) {
  for (const FourSizes& strides : {d.q, d.k, d.v, d.o}) {
    if (strides[3] != 1) return "the elements of a head lie apart";
    for (const std::int64_t stride : {strides[0], strides[1], strides[2]}) {
      if (stride < 0 || stride % 8 != 0) {
        return fmt::format("a stride is no multiple of 8: {}", stride);
      }
    }
  }
  return std::nullopt;
}

Reason check_band(const AttentionDescription& d) {
  const Band& band = d.band;
  for (const auto& bound : {band.left, band.right}) {
    if (bound && (*bound < 0 || *bound >= kMostLength)) {
      return fmt::format("a window cannot end {} keys from the diagonal",
                         *bound);
    }
  }
  if (band.right && d.q_length == 1) {
    return "cuDNN is wrong where a mask is causal and there is one query";
  }
  if (band.left && !d.has_lengths && d.q_length > d.kv_length) {
    return "a window has more queries than keys";
  }
  if (band.diagonal != Diagonal::kBottomRight) return std::nullopt;
  if (!d.has_lengths && d.q_length > d.kv_length) {
    return "the last of more queries than keys meets the last key";
  }
  if (d.bias) return "a bias is beside a diagonal at the last key";
  return std::nullopt;
}

Reason check_bias(const AttentionDescription& d) {
  if (!d.bias) return std::nullopt;
  const Bias& bias = *d.bias;
  if (!is_half(bias.element) && bias.element != DataType::kFloat) {
    return fmt::format("a bias is no {}", data_type_name(bias.element));
  }
  const FourSizes scores = {d.batch, d.q_heads, d.q_length, d.kv_length};
  for (std::size_t i = 0; i < 4; ++i) {
    if (bias.dims[i] != 1 && bias.dims[i] != scores[i]) {
      return fmt::format("dim {} of the bias is neither 1 nor {}", i,
                         scores[i]);
    }
  }
  if (bias.dims[3] != 1 && bias.strides[3] != 1) {
    return "the elements of a bias lie apart";
  }
  return std::nullopt;
}

Reason check_places(const AttentionDescription& d) {
  if (d.is_ragged && !d.has_lengths) return "ragged sequences have no lengths";
  if (!d.paging) return std::nullopt;
  const Paging& p = *d.paging;
  if (!d.has_lengths) return "sequences in pages have no lengths";
  if (p.page_size < 1 ||
      !std::has_single_bit(static_cast<std::uint64_t>(p.page_size))) {
    return fmt::format("the size of a page is no power of two: {}",
                       p.page_size);
  }
  if (p.pages < 1 || p.table_length < 1 ||
      p.table_length < (d.kv_length - 1) / p.page_size + 1) {
    return "a table has too few pages for its sequence";
  }
  return std::nullopt;
}

Reason check_features(const AttentionDescription& d) {
  if (!is_half(d.element)) {
    return fmt::format("elements are float16 or bfloat16, not {}",
                       data_type_name(d.element));
  }
  if (d.has_sink && d.q_length == 1) return "a sink is beside one query";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check(const AttentionDescription& d,
                                 const Chip& chip, std::int64_t version,
                                 const BlockedVersions& blocked) {
  if (chip.sm() < 80) {
    return fmt::format("a chip before sm_80: sm_{}", chip.sm());
  }
  for (const auto part : {check_features, check_sizes, check_strides,
                          check_band, check_bias, check_places}) {
    if (Reason reason = part(d)) return reason;
  }
  return blocked.reason(d, chip, version);
}

}  // namespace ruleengine::kernels::cuda
