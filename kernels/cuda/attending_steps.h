// The steps of GpuAttending::run(). Internal to kernels/cuda.
#pragma once

#include <functional>

#include "kernels/cuda/attending.h"
#include "kernels/cuda/device/attention.h"

namespace ruleengine::kernels::cuda {

// --- by a kernel of ours: flash.cc -------------------------------------------

// What the kernel is told; `to`: what it writes. Fails where numbers are too
// large for it.
device::AttentionArgs attention_args(const GpuAttending& a, std::byte* to);

// Adds it to the work.
void run_flash(Call& c, Session& session, DataType type,
               device::AttentionArgs args);
// Zeros for queries that see no key, of which cuDNN does not say what it
// writes. `type`: float16 or bfloat16.
void clear_hidden(Session& session, DataType type,
                  const device::AttentionArgs& args);

// --- what cuDNN is asked: describing.cc --------------------------------------

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

// --- plan_trial.cc -----------------------------------------------------------

// A plan of cuDNN is tried once before it is trusted: versions of cuDNN are
// known that give wrong results for some attentions.
enum class Verdict : std::uint8_t {
  kRight,
  kWrong,
  kNone,  // it did not run, or all results are 0, which tells nothing
};

// Whether a plan gives what the kernel of ours does, for random queries, keys
// and values and the masks of `a`; between the rows of its views and behind
// them is NaN, which a plan may not let into a result. `run` adds the plan to
// the work with other tensors, and says whether that was taken. Waits for the
// work. The tensors are not those of an arena, as other runs do not have them.
Verdict try_plan(
    Call& c, const AttentionParts& parts, const GpuAttending& a,
    const std::function<bool(const GpuAttending& a, std::byte* to)>& run);

}  // namespace ruleengine::kernels::cuda
