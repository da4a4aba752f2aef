// Fewer plans for lengths that change: a plan serves all lengths up to that of
// its bucket, and is told the lengths, and where sequences begin, at each run.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

// The next power of two that is at least 64; 1 stays, as decoding has plans of
// its own.
std::int64_t bucket_of(std::int64_t length);

// The attention with these lengths of buckets: sequences lie behind each other,
// from offsets that are data, so that strides do not depend on their lengths.
// The heads of a row must be beside each other. Not for a bias or pages.
AttentionDescription with_buckets(AttentionDescription d, std::int64_t q_length,
                                  std::int64_t kv_length);

}  // namespace ruleengine::kernels::cuda
