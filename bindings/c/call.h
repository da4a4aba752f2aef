// What a call of ruleengine.h is given: an end, and who hears of its progress.
#pragma once

#include <optional>
#include <stop_token>

#include "bindings/api/limits.h"
#include "bindings/c/handle.h"

struct re_stop {
  std::stop_source source;
};

struct re_buffer {
  std::string text;
  bool failed = false;   // memory ran out
  bool misused = false;  // it was given NULL
};

namespace ruleengine::c {

class Call {
 public:
  explicit Call(const re_call* given);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Deadline& deadline() const { return deadline_; }
  api::Progress progress();

 private:
  struct Passes {
    std::stop_source& to;
    void operator()() const { to.request_stop(); }
  };

  const re_call given_;
  std::stop_source own_;
  std::optional<std::stop_callback<Passes>> link_;  // from the caller's
  Deadline deadline_;
};

}  // namespace ruleengine::c
