#include "kernels/cuda/attention/plans_ahead.h"

#include <chrono>
#include <new>
#include <utility>
#include <vector>

namespace ruleengine::kernels::cuda {
namespace {

constexpr std::int64_t kLongest = 4096;
// More kinds of attention than any model has.
constexpr std::size_t kMostKnown = 4096;

std::vector<AttentionDescription> other_lengths(const AttentionDescription& d) {
  std::vector<AttentionDescription> out;
  if (d.q_length != d.kv_length || d.q_length == 1) return out;
  for (std::int64_t n = bucket_of(2); n <= kLongest; n = bucket_of(n + 1)) {
    out.push_back(with_buckets(d, n, n));
  }
  return out;
}

}  // namespace

PlansAhead::~PlansAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PlansAhead::add(const AttentionDescription& bucketed) {
  const std::lock_guard lock(mutex_);
  if (known_.size() > kMostKnown || known_.contains(bucketed.key())) return;
  known_.insert(bucketed.key());
  for (AttentionDescription& each : other_lengths(bucketed)) {
    if (known_.insert(each.key()).second) queue_.push_back(std::move(each));
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void PlansAhead::wait(const std::function<void()>& check) {
  constexpr std::chrono::milliseconds kBetween(50);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetween,
                            [this] { return queue_.empty() && !is_busy_; })) {
    lock.unlock();
    check();
    lock.lock();
  }
}

void PlansAhead::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_over_ || !queue_.empty(); });
    if (is_over_) return;
    const AttentionDescription next = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    lock.unlock();
    try {
      static_cast<void>(plans_.get(next));  // who needs it sees a refusal
    } catch (const std::bad_alloc&) {       // whoever needs it tries again
    }
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace ruleengine::kernels::cuda
