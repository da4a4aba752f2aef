// How a call of Python waits for the engine: the work runs on a thread of its
// own, while the caller's, without the GIL, looks for signals and tells how far
// it has come.
#pragma once

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "bindings/api/limits.h"

namespace ruleengine::python {

namespace nb = nanobind;

// Whether a call uses an object. An object that a call of another thread used
// during a fork() stays in use in the child, where that call does not go on.
class Busy {
 public:
  // False: another call has it. Throws Failure where that call is one of the
  // process that forked this one.
  bool take();
  void leave() { holder_ = 0; }

 private:
  std::atomic<pid_t> holder_ = 0;
};

class Call {
 public:
  // `seconds` that it may take, None: any. `progress`: a function of (done,
  // total), or None.
  Call(std::optional<double> seconds, nb::object progress);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Deadline& deadline() const { return deadline_; }
  api::Progress progress();
  // To call before the work takes the GIL; throws Failure where the interpreter
  // ends.
  void check_interpreter() const;

  // Does the work while no other call uses these objects, of which nullptr is
  // none. Throws what it
  // throws, and what a signal handler or `progress` raised meanwhile, which
  // ends the work.
  template <typename F>
  auto run(std::vector<Busy*> uses, F&& work) {
    using T = decltype(work());
    if constexpr (std::is_void_v<T>) {
      do_run(std::move(uses), [&] { work(); });
    } else {
      std::optional<T> out;
      do_run(std::move(uses), [&] { out.emplace(work()); });
      return *std::move(out);
    }
  }

 private:
  void do_run(std::vector<Busy*> uses, const std::function<void()>& work);
  void use(const std::vector<Busy*>& uses, const std::function<void()>& work);
  bool tell();  // false: Python has an error now

  const pthread_t caller_ = pthread_self();
  std::stop_source stop_;
  Deadline deadline_;
  nb::object progress_;
  std::atomic<std::uint64_t> done_ = 0, total_ = 0;
  std::uint64_t told_ = 0;
};

// Stops the calls of all other threads and waits for them, since the
// interpreter ends. Such calls, and those that other threads begin later, never
// return: their threads sleep until the process is gone.
void end_calls();

}  // namespace ruleengine::python
