// Plans by what they are for: at most so many in memory, the rest in a folder
// if one is given. A plan takes half a second to build, so two threads that
// want the same one build it once, and others do not wait. What cuDNN refuses
// (kModel) is kept as well, with the reason; another error is kept in memory,
// unless it is that of a moment (kLimit).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "kernels/cuda/attention/blocked.h"
#include "kernels/cuda/attention/chip.h"
#include "kernels/cuda/attention/cudnn.h"
#include "kernels/cuda/attention/description.h"
#include "kernels/cuda/attention/plan_store.h"

namespace ruleengine::kernels::cuda {

// What a plan depends on beside its description. The driver is a field of the
// chip.
struct PlanPlace {
  Chip chip;
  std::int64_t cudnn = 0, frontend = 0;  // versions

  std::string key() const;
};

// The bytes that a plan is found by. `place`: the key of one.
std::string plan_key(const AttentionDescription& d, const std::string& place);

struct PlanCounts {
  std::uint64_t builds = 0;    // plans that were built
  std::uint64_t hits = 0;      // found in memory, refusals too
  std::uint64_t loads = 0;     // found in the folder, refusals too
  std::uint64_t refusals = 0;  // told by the builder
};

// How plans are made. Each is called on any thread.
template <typename Plan>
struct PlanMaker {
  std::function<Result<Plan>(const AttentionDescription&)> build;
  std::function<Result<Plan>(std::string_view)> load;
  std::function<Result<std::string>(const Plan&)> save;
};

// `Plan` is cheap to copy. Safe on any thread.
template <typename Plan>
class PlanCache {
 public:
  // `most`: plans in memory, at least 1.
  PlanCache(PlanMaker<Plan> maker, const PlanPlace& place, std::size_t most,
            std::optional<PlanStore> store = std::nullopt)
      : maker_(std::move(maker)),
        place_(place.key()),
        most_(most),
        store_(std::move(store)) {}

  Result<Plan> get(const AttentionDescription& d) {
    const std::string key = plan_key(d, place_);
    std::unique_lock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      ++counts_.hits;
      order_.splice(order_.begin(), order_, found->second);
      const std::shared_future<Result<Plan>> plan = found->second->plan;
      lock.unlock();
      return plan.get();
    }
    std::promise<Result<Plan>> promise;
    const std::uint64_t number = add(key, promise.get_future().share());
    lock.unlock();
    return fill(key, number, d, promise);
  }

  // The same, but nothing is built, loaded or waited for; nullopt where it is
  // not in memory.
  std::optional<Result<Plan>> find(const AttentionDescription& d) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(plan_key(d, place_));
    if (found == by_key_.end()) return std::nullopt;
    const std::shared_future<Result<Plan>>& plan = found->second->plan;
    const bool is_there =
        plan.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    return is_there ? std::optional(plan.get()) : std::nullopt;
  }

  // From now on the plan for it is this refusal, also in the folder where it
  // `is_lasting`.
  void refuse(const AttentionDescription& d, Diagnostic why, bool is_lasting) {
    const std::string key = plan_key(d, place_);
    if (is_lasting) keep(key, why);
    std::promise<Result<Plan>> refusal;
    refusal.set_value(std::move(why));
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      order_.erase(found->second);
      by_key_.erase(found);
    }
    add(key, refusal.get_future().share());
  }

  PlanCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }

 private:
  struct Entry {
    std::string key;
    std::uint64_t number = 0;  // a later entry may have the same key
    std::shared_future<Result<Plan>> plan;
  };

  // Under the lock.
  std::uint64_t add(const std::string& key,
                    std::shared_future<Result<Plan>> plan) {
    order_.push_front({key, ++last_, std::move(plan)});
    by_key_[key] = order_.begin();
    while (order_.size() > most_) {
      by_key_.erase(order_.back().key);
      order_.pop_back();
    }
    return last_;
  }
  void forget(const std::string& key, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end() || found->second->number != number) return;
    order_.erase(found->second);
    by_key_.erase(found);
  }

  Result<Plan> fill(const std::string& key, std::uint64_t number,
                    const AttentionDescription& d,
                    std::promise<Result<Plan>>& promise) {
    try {
      Result<Plan> plan = make(key, d);
      if (!plan && plan.error().kind == ErrorKind::kLimit) forget(key, number);
      promise.set_value(plan);
      return plan;
    } catch (...) {
      forget(key, number);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  static bool is_refusal(const Diagnostic& error) {
    return error.kind == ErrorKind::kModel;
  }
  void count(std::uint64_t PlanCounts::*which) {
    const std::lock_guard lock(mutex_);
    ++(counts_.*which);
  }

  Result<Plan> make(const std::string& key, const AttentionDescription& d) {
    if (std::optional<Result<Plan>> loaded = load(key)) {
      count(&PlanCounts::loads);
      return *std::move(loaded);
    }
    Result<Plan> plan = maker_.build(d);
    if (plan) {
      count(&PlanCounts::builds);
    } else if (is_refusal(plan.error())) {
      count(&PlanCounts::refusals);
    }
    keep(key, plan);
    return plan;
  }

  std::optional<Result<Plan>> load(const std::string& key) const {
    if (!store_) return std::nullopt;
    const std::optional<StoredPlan> found = store_->read(key);
    if (!found) return std::nullopt;
    if (found->is_refusal) return Diagnostic{.what = found->bytes};
    Result<Plan> plan = maker_.load(found->bytes);
    if (!plan) return std::nullopt;
    return plan;
  }

  void keep(const std::string& key, const Result<Plan>& plan) const {
    if (!store_) return;
    if (plan) {
      if (const Result<std::string> bytes = maker_.save(*plan)) {
        store_->write(key, {.bytes = *bytes});
      }
    } else if (is_refusal(plan.error())) {
      store_->write(key, {.is_refusal = true, .bytes = plan.error().what});
    }
  }

  const PlanMaker<Plan> maker_;
  const std::string place_;  // its key
  const std::size_t most_;
  const std::optional<PlanStore> store_;

  mutable std::mutex mutex_;
  std::list<Entry> order_;  // what was used last is first
  std::map<std::string, typename std::list<Entry>::iterator> by_key_;
  std::uint64_t last_ = 0;
  PlanCounts counts_;
};

// Plans of cuDNN for one chip.
class AttentionPlans {
 public:
  // `version`: as cudnn_version() tells it.
  AttentionPlans(const Chip& chip, std::int64_t version, std::size_t most,
                 std::optional<PlanStore> store = std::nullopt,
                 BlockedVersions blocked = BlockedVersions::built_in());

  // An error of the kind kModel is a refusal. It is checked each time, since
  // the list of blocked versions may know more than what the folder has.
  Result<AttentionPlan> get(const AttentionDescription& d);
  // The same, if it is in memory.
  std::optional<Result<AttentionPlan>> find(const AttentionDescription& d);
  // A plan that does not work is not given again by this process, nor, where
  // that `is_lasting`, by another one.
  void refuse(const AttentionDescription& d, Diagnostic why, bool is_lasting) {
    cache_.refuse(canonical(d), std::move(why), is_lasting);
  }
  PlanCounts counts() const { return cache_.counts(); }

 private:
  std::optional<Diagnostic> refusal_of(const AttentionDescription& d) const;

  Chip chip_;
  std::int64_t version_;
  BlockedVersions blocked_;
  PlanCache<AttentionPlan> cache_;
};

}  // namespace ruleengine::kernels::cuda
