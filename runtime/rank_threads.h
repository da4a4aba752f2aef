// Ranks as threads of one process. They share memory: what is sent is read
// where it lies. Ranks that wait for each other, or for one that has ended,
// fail once no rank computes; a rank that only takes long is waited for, as
// long as the deadline of who waits allows. A rank that fails ends all others,
// which may compute on for two seconds, so that the same rank is named in every
// run.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "runtime/communicator.h"

namespace ruleengine::runtime {

// What a rank is given.
struct RankPlace {
  Communicator& communicator;
  // To be asked regularly. True: another rank failed, so this one must end.
  std::function<bool()> is_cancelled;
};

// Calls `run` for each rank on a thread of its own. The error is that of the
// lowest rank that failed by itself, with its number.
Status run_ranks(int count, const std::function<Status(RankPlace&)>& run);

}  // namespace ruleengine::runtime
