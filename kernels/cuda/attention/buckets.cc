#include "kernels/cuda/attention/buckets.h"

#include <algorithm>
#include <bit>

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::int64_t kLeast = 64;
// Beyond it a bucket would be no length that cuDNN takes.
constexpr std::int64_t kMost = std::int64_t{1} << 30;

}  // namespace

std::int64_t bucket_of(std::int64_t length) {
  if (length <= 1 || length > kMost) return length;
  return std::max(kLeast, static_cast<std::int64_t>(std::bit_ceil(
                              static_cast<std::uint64_t>(length))));
}

AttentionDescription with_buckets(AttentionDescription d, std::int64_t q_length,
                                  std::int64_t kv_length) {
  d.is_ragged = d.has_lengths = true;
  d.q_length = q_length;
  d.kv_length = kv_length;
  // One head has no next one.
  if (d.q_heads == 1) d.q[1] = d.o[1] = 8;
  if (d.kv_heads == 1) d.k[1] = d.v[1] = 8;
  // Offsets stand for these.
  d.q[0] = q_length * d.q[2];
  d.o[0] = q_length * d.o[2];
  d.k[0] = kv_length * d.k[2];
  d.v[0] = kv_length * d.v[2];
  return canonical(std::move(d));
}

}  // namespace ruleengine::kernels::cuda
