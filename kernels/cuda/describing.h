// An attention as cuDNN is asked for it. Internal to kernels/cuda.
#pragma once

#include <optional>

#include "kernels/cuda/attending.h"

namespace ruleengine::kernels::cuda {

// Whether its tensors allow that a plan is for the lengths of buckets, so that
// few plans serve all lengths.
bool fits_buckets(const GpuAttending& a);

// nullopt where no description says what it is. `in_buckets`: for those.
std::optional<AttentionDescription> description_of(const GpuAttending& a,
                                                   DataType type,
                                                   bool in_buckets);

// The same as a plan of buckets takes it. Adds what finds lengths and offsets
// to the work.
GpuAttending in_buckets(Call& c, Session& session, const GpuAttending& a);

// An attention that is tried for a plan of a bucket, before others trust it:
// sequences are shorter than the bucket, and begin as far apart as it is long.
GpuAttending within_bucket(Call& c, Session& session, const GpuAttending& a,
                           const AttentionDescription& d);

// The same where one query sees keys in a row: those keys, without a band,
// which cuDNN is wrong about. nullopt where lengths are beside a window.
std::optional<GpuAttending> without_band(Call& c, const GpuAttending& a,
                                         DataType type);

}  // namespace ruleengine::kernels::cuda
