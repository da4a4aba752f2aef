#pragma once

#include <chrono>

namespace ruleengine {

// Starts when it is made.
class Stopwatch {
 public:
  double seconds() const {
    const std::chrono::duration<double> taken = Clock::now() - start_;
    return taken.count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace ruleengine
