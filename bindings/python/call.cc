#include "bindings/python/call.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "bindings/api/session.h"
#include "bindings/python/failure.h"

namespace ruleengine::python {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 10ms;                     // how often a caller looks
constexpr std::size_t kStack = 8UL << 20;        // as a main thread has
constexpr auto kEnd = std::chrono::seconds(10);  // to stop at the end

// The calls of this process.
struct Calls {
  std::mutex mutex;
  std::condition_variable less;
  std::vector<std::stop_source> running;
  std::atomic<bool> end = false;
  pthread_t last{};  // the thread that ends the interpreter

  void add(const std::stop_source& stop) {
    const std::lock_guard lock(mutex);
    running.push_back(stop);
    if (end) running.back().request_stop();
  }
  void remove(const std::stop_source& stop) {
    const std::lock_guard lock(mutex);
    std::erase(running, stop);
    less.notify_all();
  }
};

// Never destroyed: threads may use it while the process ends.
Calls& calls() {
  static Calls* const all = [] {
    // A child has the calls of no other thread, and must find the lock free.
    pthread_atfork([] { calls().mutex.lock(); }, [] { calls().mutex.unlock(); },
                   [] {
                     calls().running.clear();
                     calls().mutex.unlock();
                   });
    return new Calls();
  }();
  return *all;
}

// A thread whose stack is large enough for the engine.
class Worker {
 public:
  explicit Worker(const std::function<void()>& work) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    const runtime::SignalsHeld held;  // they are for threads of the host
    const int error = pthread_create(
        &thread_, &attributes,
        [](void* f) -> void* {
          (*static_cast<const std::function<void()>*>(f))();
          return nullptr;
        },
        const_cast<void*>(static_cast<const void*>(&work)));
    pthread_attr_destroy(&attributes);
    if (error != 0) {
      throw std::system_error(error, std::generic_category(), "a thread");
    }
  }
  ~Worker() { pthread_join(thread_, nullptr); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  pthread_t thread_{};
};

// Without the GIL while it lives.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() { lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  // f() with the GIL; false where the interpreter ends.
  template <typename F>
  bool with_gil(F&& f) {
    if (is_late()) return false;
    PyEval_RestoreThread(state_);
    const bool out = f();
    state_ = PyEval_SaveThread();
    return out;
  }

 private:
  // Where the interpreter ends, taking the GIL would end this thread by
  // unwinding it, which C++ code does not survive.
  static bool is_late() {
    const Calls& all = calls();
    return all.end && pthread_equal(all.last, pthread_self()) == 0;
  }
  void lock() {
    while (is_late()) ::pause();
    PyEval_RestoreThread(state_);
  }

  PyThreadState* state_;
};

// Takes all the objects, or none.
bool take_all(const std::vector<Busy*>& uses) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i]->take()) continue;
    while (i > 0) uses[--i]->leave();
    return false;
  }
  return true;
}

}  // namespace

bool Busy::take() {
  pid_t holder = 0;
  if (holder_.compare_exchange_strong(holder, ::getpid())) return true;
  if (holder == ::getpid()) return false;
  throw misuse("a call of the process that forked this one uses an object",
               "an object of this process");
}

Call::Call(std::optional<double> seconds, nb::object progress)
    : progress_(std::move(progress)) {
  if (seconds && !(*seconds > 0)) {
    throw misuse("`seconds` is no time", "a positive number, or None",
                 std::to_string(*seconds));
  }
  if (!progress_.is_none() && PyCallable_Check(progress_.ptr()) == 0) {
    throw misuse("`progress` is no function", "a function of (done, total)");
  }
  deadline_ =
      (seconds ? Deadline(*seconds) : Deadline()).or_when(stop_.get_token());
}

api::Progress Call::progress() {
  return [this](std::uint64_t done, std::uint64_t total) {
    total_ = total;
    done_ = done;
  };
}

bool Call::tell() {
  if (PyErr_CheckSignals() != 0) return false;
  const std::uint64_t done = done_;
  if (progress_.is_none() || done == told_) return true;
  told_ = done;
  PyObject* const answer = PyObject_CallFunction(
      progress_.ptr(), "KK", static_cast<unsigned long long>(done),
      static_cast<unsigned long long>(std::max<std::uint64_t>(done, total_)));
  Py_XDECREF(answer);
  return answer != nullptr;
}

void Call::do_run(std::vector<Busy*> uses, const std::function<void()>& work) {
  std::ranges::sort(uses);
  uses.erase(std::ranges::unique(uses).begin(), uses.end());
  std::mutex mutex;
  std::condition_variable wake;
  bool is_done = false, is_raised = false;
  std::exception_ptr thrown;
  const std::function<void()> its = [&] {
    try {
      while (!take_all(uses)) {
        check(deadline_.check());
        std::this_thread::sleep_for(1ms);
      }
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      for (Busy* each : uses) each->leave();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    is_done = true;
    wake.notify_all();
  };
  nb::object type, value, traceback;  // what Python raised meanwhile
  {
    Unlocked unlocked;
    calls().add(stop_);
    {
      const Worker worker(its);
      std::unique_lock lock(mutex);
      while (!wake.wait_for(lock, kLook, [&] { return is_done; })) {
        if (is_raised) continue;
        lock.unlock();
        is_raised = unlocked.with_gil([&] {
          if (tell()) return false;
          PyObject *t = nullptr, *v = nullptr, *b = nullptr;
          PyErr_Fetch(&t, &v, &b);
          type = nb::steal(t);
          value = nb::steal(v);
          traceback = nb::steal(b);
          return true;
        });
        if (is_raised) stop_.request_stop();
        lock.lock();
      }
    }
    calls().remove(stop_);
  }
  if (!is_raised && !tell()) throw nb::python_error();
  if (is_raised) {
    PyErr_Restore(type.release().ptr(), value.release().ptr(),
                  traceback.release().ptr());
    throw nb::python_error();
  }
  if (thrown) std::rethrow_exception(thrown);
}

void end_calls() {
  Calls& all = calls();
  const nb::gil_scoped_release release;
  std::unique_lock lock(all.mutex);
  all.last = pthread_self();
  all.end = true;
  for (std::stop_source& each : all.running) each.request_stop();
  all.less.wait_for(lock, kEnd, [&] { return all.running.empty(); });
}

}  // namespace ruleengine::python
