#include "runtime/threads.h"

#include <algorithm>
#include <utility>

namespace ruleengine::runtime {
namespace {

// Whether this thread is inside a loop.
thread_local bool inside = false;

}  // namespace

SignalsHeld::SignalsHeld() {
  sigset_t all;
  ::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
    ::sigdelset(&all, fault);
  }
  ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsHeld::~SignalsHeld() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Threads::Threads(int count) {
  if (count <= 0) {
    count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  workers_.reserve(static_cast<std::size_t>(count) - 1);
  const SignalsHeld held;
  try {
    for (int i = 1; i < count; ++i) workers_.emplace_back([this] { work(); });
  } catch (...) {  // the system has no more threads
    join();
    throw;
  }
}

Threads::~Threads() { join(); }

bool Threads::is_inside() { return inside; }

void Threads::join() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Threads::for_pieces(std::int64_t total, std::int64_t grain,
                         const Piece& f) {
  grain = std::max<std::int64_t>(grain, 1);
  if (total <= 0) return;
  if (inside || workers_.empty()) {
    for (std::int64_t at = 0; at < total; at += grain) {
      look();
      f(at, std::min(at + grain, total));
    }
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    piece_ = &f;
    total_ = total;
    grain_ = grain;
    next_ = 0;
    error_ = nullptr;
    busy_ = static_cast<int>(workers_.size());
    ++round_;
  }
  wake_.notify_all();
  inside = true;
  take_pieces();
  inside = false;
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Threads::take_pieces() {
  for (;;) {
    const std::int64_t at = next_.fetch_add(grain_);
    if (at >= total_) return;
    try {
      look();
      (*piece_)(at, std::min(at + grain_, total_));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_ || at < error_at_) {
        error_ = std::current_exception();
        error_at_ = at;
      }
      next_ = total_;
    }
  }
}

void Threads::work() {
  inside = true;
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    take_pieces();
    lock.lock();
    if (--busy_ == 0) idle_.notify_one();
  }
}

}  // namespace ruleengine::runtime
