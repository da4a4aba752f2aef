// Deadline: when a run must end: at a time, by a steady clock, or as soon as
// the caller asks for it. Long computations receive one and check it now and
// then; a check costs some 20 ns. A plain value, safe on any thread, but for
// or_of_call().
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace ruleengine {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;  // never
  explicit Deadline(double seconds, Clock::time_point start = Clock::now());

  // The same time, or earlier: when a stop is requested, from any thread.
  Deadline or_when(std::stop_token stop) const {
    Deadline out = *this;
    out.stop_ = std::move(stop);
    return out;
  }
  // The earlier of this and of what `call` is at each check, for what serves
  // many calls. Whoever changes `call` does so between calls, on the thread of
  // the next one.
  Deadline or_of_call(std::shared_ptr<const Deadline> call) const {
    Deadline out = *this;
    out.call_ = std::move(call);
    return out;
  }
  // The earlier of the two; at most one of them may have a stop token, and at
  // most one a call.
  Deadline or_before(const Deadline& other) const;

  bool is_cancelled() const {
    return stop_.stop_requested() || (call_ && call_->is_cancelled());
  }
  bool is_over() const {
    if (is_cancelled()) return true;
    const Clock::time_point end = at();
    return end != Clock::time_point::max() && Clock::now() >= end;
  }
  Clock::time_point at() const {
    return call_ ? std::min(at_, call_->at()) : at_;
  }
  double seconds_left() const {  // 0 when it is over
    if (is_cancelled()) return 0;
    const std::chrono::duration<double> left = at() - Clock::now();
    return std::max(left.count(), 0.0);
  }

  // The error for a deadline that has passed: `where` the run was, and in
  // `found` what took the time, if known.
  Diagnostic passed(std::string where = {}, std::string found = {}) const;
  // kLimit or kCancelled when it is over.
  Status check() const { return is_over() ? Status(passed()) : Status(); }

 private:
  Clock::time_point at_ = Clock::time_point::max();
  double seconds_ = 0;
  std::stop_token stop_;
  std::shared_ptr<const Deadline> call_;
};

}  // namespace ruleengine
