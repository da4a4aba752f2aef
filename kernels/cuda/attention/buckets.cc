#include "kernels/cuda/attention/buckets.h"

#include <algorithm>
#include <bit>

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::int64_t kLeast = 32;
// Beyond it a bucket would be no length that cuDNN takes.
constexpr std::int64_t kMost = std::int64_t{1} << 30;

}  // namespace

std::int64_t bucket_of(std::int64_t length) {
  if (length <= 1 || length > kMost) return length;
  return std::max(kLeast, static_cast<std::int64_t>(std::bit_ceil(
                              static_cast<std::uint64_t>(length))));
}

AttentionDescription bucketed(AttentionDescription d) {
  // A table of pages is as long as its sequence; a bias is too.
  if (d.bias || d.paging) return canonical(std::move(d));
  // Without lengths the last query meets the last key of the buckets.
  d.has_lengths = true;
  d.q_length = bucket_of(d.q_length);
  d.kv_length = bucket_of(d.kv_length);
  return canonical(std::move(d));
}

}  // namespace ruleengine::kernels::cuda
