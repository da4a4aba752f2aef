// Threads: a fixed number of workers that share out loops. A loop is cut into
// the same pieces whatever the number of workers, so that sums within a piece
// are the same on every machine. One loop at a time; a loop inside a loop runs
// where it is. The pool must outlive its loops.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ruleengine::runtime {

// While it lives, threads that are started get no signals but those of their
// own faults: others are for the threads of the host.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

class Threads {
 public:
  // `count` of 0: one for each core.
  explicit Threads(int count = 0);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // Whether this thread runs a piece of a loop beside others.
  static bool is_inside();
  int count() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls f(begin, end) for pieces of [0, total) of `grain` each. What a piece
  // throws is thrown here, that of the first piece that did.
  using Piece = std::function<void(std::int64_t begin, std::int64_t end)>;
  template <typename F>
  void for_each(std::int64_t total, std::int64_t grain, const F& f) {
    if (total > 0 && total <= grain) {  // without a Piece: it may be very short
      look();
      return f(std::int64_t{0}, total);
    }
    for_pieces(total, grain, f);
  }
  // Calls f(i) for each i of the pieces.
  template <typename F>
  void for_each_index(std::int64_t total, std::int64_t grain, const F& f) {
    for_each(total, grain, [&](std::int64_t begin, std::int64_t end) {
      const F own = f;  // held in registers
      for (std::int64_t i = begin; i < end; ++i) own(i);
    });
  }

  // Asked before each piece; what it throws ends the loop. Kernels with long
  // pieces ask within them too.
  std::function<void()> check;
  void look() const {
    if (check) check();
  }

 private:
  void for_pieces(std::int64_t total, std::int64_t grain, const Piece& f);
  void work();
  void take_pieces();
  void join();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::uint64_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  // Of the loop that runs.
  const Piece* piece_ = nullptr;
  std::int64_t total_ = 0, grain_ = 1;
  std::atomic<std::int64_t> next_ = 0;
  std::exception_ptr error_;
  std::int64_t error_at_ = 0;
};

// For long loops: looks now and then. `work` of a turn: steps of some
// nanoseconds each.
class Ticker {
 public:
  explicit Ticker(const Threads& threads) : threads_(threads) {}
  void operator()(std::int64_t work = 1) {
    left_ -= work;
    if (left_ > 0) return;
    left_ = kWork;
    threads_.look();
  }

 private:
  static constexpr std::int64_t kWork = 4096;
  const Threads& threads_;
  std::int64_t left_ = kWork;
};

}  // namespace ruleengine::runtime
