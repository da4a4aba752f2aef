// Deadline: the time at which a run must end, by a steady clock. Long
// computations receive one and check it now and then; a check costs some 20 ns.
// A plain value; safe on any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "core/base/result.h"

namespace ruleengine {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;  // never
  explicit Deadline(double seconds, Clock::time_point start = Clock::now());

  bool is_over() const {
    return at_ != Clock::time_point::max() && Clock::now() >= at_;
  }
  // The earlier of the two.
  Deadline or_before(const Deadline& other) const {
    return other.at_ < at_ ? other : *this;
  }
  Clock::time_point at() const { return at_; }
  double seconds_left() const {  // 0 when it is over
    const std::chrono::duration<double> left = at_ - Clock::now();
    return std::max(left.count(), 0.0);
  }

  // The error for a deadline that has passed: `where` the run was, and in
  // `found` what took the time, if known.
  Diagnostic passed(std::string where = {}, std::string found = {}) const;
  // kLimit when it is over.
  Status check() const { return is_over() ? Status(passed()) : Status(); }

 private:
  Clock::time_point at_ = Clock::time_point::max();
  double seconds_ = 0;
};

}  // namespace ruleengine
