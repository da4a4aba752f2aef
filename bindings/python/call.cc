#include "bindings/python/call.h"

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

constexpr auto kLook = 10ms;  // how often a caller looks
constexpr auto kTry = 1ms;    // how often a call tries to take its objects
constexpr std::size_t kStack = 8UL << 20;        // as a main thread has
constexpr auto kEnd = std::chrono::seconds(10);  // to stop at the end

// The calls of this process.
struct Calls {
  std::mutex mutex;
  std::condition_variable less;
  std::vector<std::stop_source> running;
  std::atomic<bool> is_end = false;
  pthread_t last{};  // the thread that ends the interpreter
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

// Whether the thread must not take the GIL any more.
bool is_too_late(pthread_t thread) {
  const Calls& all = calls();
  return all.is_end && pthread_equal(all.last, thread) == 0;
}

// A call, while it runs.
class Running {
 public:
  explicit Running(std::stop_source stop) : stop_(std::move(stop)) {
    const std::lock_guard lock(calls().mutex);
    calls().running.push_back(stop_);
    if (is_too_late(pthread_self())) stop_.request_stop();
  }
  ~Running() {
    const std::lock_guard lock(calls().mutex);
    std::erase(calls().running, stop_);
    calls().less.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::stop_source stop_;
};

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
    if (is_too_late(pthread_self())) return false;
    PyEval_RestoreThread(state_);
    const bool out = f();
    state_ = PyEval_SaveThread();
    return out;
  }

 private:
  // Where the interpreter ends, taking the GIL would end this thread by
  // unwinding it, which C++ code does not survive.
  void lock() {
    while (is_too_late(pthread_self())) ::pause();
    PyEval_RestoreThread(state_);
  }

  PyThreadState* state_;
};

// Objects that a call uses, until it ends.
class Uses {
 public:
  // Takes all of them, or none.
  bool take(const std::vector<Busy*>& all) {
    for (Busy* each : all) {
      if (!each->take()) {
        leave();
        return false;
      }
      taken_.push_back(each);
    }
    return true;
  }
  Uses() = default;
  ~Uses() { leave(); }
  Uses(const Uses&) = delete;
  Uses& operator=(const Uses&) = delete;

 private:
  void leave() {
    for (Busy* each : taken_) each->leave();
    taken_.clear();
  }

  std::vector<Busy*> taken_;
};

// What Python raised.
class Raised {
 public:
  void fetch() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    type_ = nb::steal(type);
    value_ = nb::steal(value);
    traceback_ = nb::steal(traceback);
  }
  explicit operator bool() const { return type_.is_valid(); }
  [[noreturn]] void raise() {
    PyErr_Restore(type_.release().ptr(), value_.release().ptr(),
                  traceback_.release().ptr());
    throw nb::python_error();
  }

 private:
  nb::object type_, value_, traceback_;
};

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

void Call::check_interpreter() const {
  if (!is_too_late(caller_)) return;
  throw Failure(
      {.kind = ErrorKind::kCancelled, .what = "the interpreter ends"});
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

// Waits for the objects, and works.
void Call::use(const std::vector<Busy*>& uses,
               const std::function<void()>& work) {
  Uses its;
  while (!its.take(uses)) {
    check(deadline_.check());
    std::this_thread::sleep_for(kTry);
  }
  work();
}

void Call::do_run(std::vector<Busy*> uses, const std::function<void()>& work) {
  std::erase(uses, nullptr);
  std::ranges::sort(uses);
  uses.erase(std::ranges::unique(uses).begin(), uses.end());
  std::mutex mutex;
  std::condition_variable wake;
  bool is_done = false;
  std::exception_ptr thrown;
  const std::function<void()> its = [&] {
    try {
      use(uses, work);
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    is_done = true;
    wake.notify_all();
  };
  Raised raised;
  const auto look = [&] {
    if (tell()) return false;
    raised.fetch();
    return true;
  };
  {
    Unlocked unlocked;
    const Running running(stop_);
    const Worker worker(its);
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, kLook, [&] { return is_done; })) {
      if (stop_.stop_requested()) continue;
      lock.unlock();
      if (unlocked.with_gil(look)) stop_.request_stop();
      lock.lock();
    }
  }
  if (raised || look()) raised.raise();
  if (thrown) std::rethrow_exception(thrown);
}

void end_calls() {
  Calls& all = calls();
  const nb::gil_scoped_release release;
  std::unique_lock lock(all.mutex);
  all.last = pthread_self();
  all.is_end = true;
  for (std::stop_source& each : all.running) each.request_stop();
  all.less.wait_for(lock, kEnd, [&] { return all.running.empty(); });
}

}  // namespace ruleengine::python
