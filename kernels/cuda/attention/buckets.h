// Fewer plans for lengths that change: a plan serves all lengths up to that of
// its bucket, and is told the lengths at each run.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/description.h"

namespace ruleengine::kernels::cuda {

// The next power of two that is at least 32; 1 stays, as decoding has plans of
// its own.
std::int64_t bucket_of(std::int64_t length);

// The attention with the lengths of its buckets, which then needs the lengths
// of its sequences. Q, K, V and O must reach to the end of the bucket, where
// they may hold anything. What has a bias, or pages, only becomes canonical.
AttentionDescription bucketed(AttentionDescription d);

}  // namespace ruleengine::kernels::cuda
