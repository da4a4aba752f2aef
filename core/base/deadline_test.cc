#include "core/base/deadline.h"

#include <doctest/doctest.h>

#include <limits>

namespace ruleengine {
namespace {

TEST_CASE("a deadline is over from its time on") {
  const auto now = Deadline::Clock::now();
  CHECK(!Deadline().is_over());
  CHECK(!Deadline(1e300).is_over());
  CHECK(!Deadline(std::numeric_limits<double>::infinity()).is_over());
  CHECK(!Deadline(3600).is_over());
  CHECK(Deadline(0).is_over());
  CHECK(Deadline(1, now - std::chrono::seconds(2)).is_over());
  CHECK(Deadline(1, now - std::chrono::seconds(2)).seconds_left() == 0);
  CHECK(Deadline(3600).seconds_left() > 3500);
}

TEST_CASE("the earlier of two") {
  const Deadline soon(10), late(100), never;
  CHECK(soon.or_before(late).at() == soon.at());
  CHECK(late.or_before(soon).at() == soon.at());
  CHECK(soon.or_before(never).at() == soon.at());
  CHECK(never.or_before(soon).at() == soon.at());
}

TEST_CASE("a stop request ends it at once") {
  std::stop_source source;
  const Deadline hour(3600);
  const Deadline deadline = hour.or_when(source.get_token());
  const Deadline copies[] = {deadline, deadline.or_before(Deadline(10)),
                             Deadline(10).or_before(deadline)};
  for (const Deadline& each : copies) CHECK(!each.is_over());
  source.request_stop();
  CHECK(!hour.is_over());
  for (const Deadline& each : copies) {
    CHECK(each.is_over());
    CHECK(each.seconds_left() == 0);
    CHECK(each.check().error().kind == ErrorKind::kCancelled);
  }
}

TEST_CASE("an end that each call sets") {
  const auto call = std::make_shared<Deadline>();
  const Deadline deadline = Deadline(100).or_of_call(call);
  const Deadline copies[] = {deadline, deadline.or_before(Deadline(50)),
                             Deadline(50).or_before(deadline)};
  for (const Deadline& each : copies) CHECK(!each.is_over());
  *call = Deadline(0.5, Deadline::Clock::now() - std::chrono::seconds(1));
  for (const Deadline& each : copies) {
    CHECK(each.is_over());
    CHECK(each.check().error().expected == "at most 0.5 s");
  }
  std::stop_source source;
  *call = Deadline(10).or_when(source.get_token());
  for (const Deadline& each : copies) {
    CHECK(!each.is_over());
    CHECK(each.seconds_left() < 11);
  }
  source.request_stop();
  for (const Deadline& each : copies) CHECK(each.is_cancelled());
  *call = Deadline();
  CHECK(!deadline.is_over());
}

TEST_CASE("the error of a deadline that is over") {
  const Deadline over(0.25, Deadline::Clock::now() - std::chrono::seconds(1));
  const Status status = over.check();
  REQUIRE(!status.ok());
  CHECK(status.error().kind == ErrorKind::kLimit);
  CHECK(status.error().expected == "at most 0.25 s");
  CHECK(status.error().remedy == Remedy::kTime);
  CHECK(Deadline(3600).check().ok());
  CHECK(over.passed("a.lua", "nobody at work").where == "a.lua");
}

}  // namespace
}  // namespace ruleengine
