// Builds plans that may be asked for, on a thread of its own: one takes half a
// second.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "kernels/cuda/attention/plan_cache.h"

namespace ruleengine::kernels::cuda {

// Safe on any thread. Its end waits for the plan that is being built.
class PlansAhead {
 public:
  // `plans` must outlive it.
  explicit PlansAhead(AttentionPlans& plans) : plans_(plans) {}
  ~PlansAhead();
  PlansAhead(const PlansAhead&) = delete;
  PlansAhead& operator=(const PlansAhead&) = delete;

  // The same attention with other lengths, each that of a bucket up to 4,096;
  // of a sequence that attends to itself.
  void add(const AttentionDescription& bucketed);
  // Until all that was added is built, or was refused. `check` is called
  // meanwhile, and ends the wait where it throws.
  void wait(const std::function<void()>& check);

 private:
  void work();

  AttentionPlans& plans_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<AttentionDescription> queue_;
  std::set<std::string> known_;  // keys of all that was added
  bool is_busy_ = false, is_over_ = false;
  std::thread thread_;  // started by the first add()
};

}  // namespace ruleengine::kernels::cuda
