// An attention as cuDNN is asked for it. Internal to kernels/cuda.
#pragma once

#include <optional>

#include "kernels/cuda/attending.h"

namespace ruleengine::kernels::cuda {

// nullopt where no description says what it is.
std::optional<AttentionDescription> description_of(const GpuAttending& a,
                                                   DataType type);

// The same with the lengths of buckets, so that few plans serve all lengths;
// nullopt where its tensors do not allow it. Adds what finds lengths and
// offsets to the work.
std::optional<GpuAttending> in_buckets(Call& c, Session& session,
                                       const GpuAttending& a);

// The same for as many queries as the description has, and most of its keys:
// what is tried for a plan of a bucket, before shorter ones trust it.
GpuAttending of_whole_bucket(Call& c, Session& session, const GpuAttending& a,
                             const AttentionDescription& d);

// The same where one query sees keys in a row: those keys, without a band,
// which cuDNN is wrong about. nullopt where lengths are beside a window.
std::optional<GpuAttending> without_band(Call& c, const GpuAttending& a,
                                         DataType type);

}  // namespace ruleengine::kernels::cuda
