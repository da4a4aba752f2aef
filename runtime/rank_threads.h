// Ranks as threads of one process. They share memory: what is sent is read
// where it lies. A rank that fails ends all others at once; a rank that reports
// no progress for kPatience while others wait for it has stalled, and ends them
// too.
#ifndef RULEENGINE_RUNTIME_RANK_THREADS_H_
#define RULEENGINE_RUNTIME_RANK_THREADS_H_

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "runtime/communicator.h"

namespace ruleengine::runtime {

inline constexpr std::chrono::milliseconds kPatience{4000};

// What a rank is given.
struct RankPlace {
  Communicator& communicator;
  // To call often, between nodes and within long ones; true: another rank
  // failed, and this one is to end.
  std::function<bool()> beat;
};

// Calls `run` for each rank on a thread of its own. The error is that of the
// first rank that failed by itself, with its number.
Status run_ranks(int count, const std::function<Status(RankPlace&)>& run,
                 std::chrono::milliseconds patience = kPatience);

}  // namespace ruleengine::runtime

#endif  // RULEENGINE_RUNTIME_RANK_THREADS_H_
