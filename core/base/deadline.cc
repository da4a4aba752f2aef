#include "core/base/deadline.h"

#include <cassert>
#include <cstdio>

namespace ruleengine {
namespace {

// No clock runs this long (seconds).
constexpr double kNever = 1e9;

}  // namespace

Deadline::Deadline(double seconds, Clock::time_point start)
    : seconds_(seconds) {
  if (!(seconds < kNever)) return;
  at_ = start + std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(std::max(seconds, 0.0)));
}

Deadline Deadline::or_before(const Deadline& other) const {
  const bool is_earlier = other.at_ < at_;
  Deadline out = is_earlier ? other : *this;
  const Deadline& later = is_earlier ? *this : other;
  if (!out.stop_.stop_possible()) out.stop_ = later.stop_;
  assert(!out.call_ || !later.call_ || out.call_ == later.call_);
  if (!out.call_) out.call_ = later.call_;
  return out;
}

Diagnostic Deadline::passed(std::string where, std::string found) const {
  if (is_cancelled()) {
    return {.kind = ErrorKind::kCancelled,
            .what = "the run was cancelled",
            .where = std::move(where)};
  }
  if (call_ && call_->at() < at_) {
    return call_->passed(std::move(where), std::move(found));
  }
  char most[32];
  std::snprintf(most, sizeof(most), "at most %g s", seconds_);
  return {.kind = ErrorKind::kLimit,
          .what = "the run took too long",
          .where = std::move(where),
          .expected = most,
          .found = std::move(found),
          .remedy = Remedy::kTime};
}

}  // namespace ruleengine
