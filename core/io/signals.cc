#include "core/io/signals.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <utility>

#include "core/io/read/hold.h"

namespace ruleengine::io {

struct Doomed::Name {
  std::string path;
  int file = -1;  // if it is a data file
  std::string result;
  struct stat before = {};  // the file at `result`; zeros if none
};

namespace {

constexpr std::array kSignals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};

// The table of names that the handler reads without a lock. Names that do not
// fit are left to the next run.
constexpr std::size_t kSlots = 4096;
std::array<std::atomic<Doomed::Name*>, kSlots> slots;
std::atomic<std::size_t> slots_used{0};

// The mask for the number of SignalHolds; the bits above are the pending
// signal.
constexpr std::uint32_t kHolds = 0xffffff;
constexpr int kSignalShift = 24;
std::atomic<std::uint32_t> state{0};

struct stat what_is_at(const char* path) {
  struct stat info = {};
  if (::lstat(path, &info) != 0) info = {};
  return info;
}

bool is_as_before(const Doomed::Name& name) {
  const struct stat now = what_is_at(name.result.c_str());
  return now.st_dev == name.before.st_dev && now.st_ino == name.before.st_ino &&
         now.st_ctim.tv_sec == name.before.st_ctim.tv_sec &&
         now.st_ctim.tv_nsec == name.before.st_ctim.tv_nsec;
}

// Removes names; returns whether all data was removed. If not, the models stay,
// since the next run finds the data by them.
bool remove_names(bool data) {
  bool all = true;
  const std::size_t used = slots_used.load();
  for (std::size_t i = 0; i < used; ++i) {
    // Whoever takes a name out of the table owns it.
    Doomed::Name* name = slots[i].exchange(nullptr);
    if (name == nullptr) continue;
    if ((name->file >= 0) != data) {
      slots[i].store(name);
      continue;
    }
    const char* path = name->path.c_str();
    if (data && !is_name_of(path, name->file)) continue;  // not yet
    if (!data || (hold_alone(name->file) && is_as_before(*name))) {
      ::unlink(path);
    } else {
      all = false;
    }
  }
  return all;
}

void end_by(int signal) {
  if (remove_names(true)) remove_names(false);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

void on_signal(int signal) {
  const int saved = errno;
  const auto waits = static_cast<std::uint32_t>(signal) << kSignalShift;
  std::uint32_t now = state.load();
  // Only the first signal is kept.
  while ((now & kHolds) != 0 && (now & ~kHolds) == 0) {
    if (state.compare_exchange_weak(now, now | waits)) break;
  }
  if ((now & kHolds) == 0) end_by(signal);
  errno = saved;
}

}  // namespace

void remove_names_on_signals() {
  ::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : kSignals) {
    struct sigaction old = {}, action = {};
    ::sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (const int other : kSignals) sigaddset(&action.sa_mask, other);
    ::sigaction(signal, &action, nullptr);
  }
}

Doomed::Doomed(std::unique_ptr<Name> name) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    Name* free = nullptr;
    if (!slots[i].compare_exchange_strong(free, name.get())) continue;
    (void)name.release();
    slot_ = i;
    std::size_t used = slots_used.load();
    while (used <= i && !slots_used.compare_exchange_weak(used, i + 1)) {
    }
    return;
  }
}

Doomed Doomed::temporary(const std::string& path) {
  return Doomed(std::make_unique<Name>(Name{.path = path, .result = {}}));
}

Doomed Doomed::data(const std::string& path, int file,
                    const std::string& result) {
  return Doomed(std::make_unique<Name>(
      Name{path, file, result, what_is_at(result.c_str())}));
}

Doomed::Doomed(Doomed&& from) noexcept
    : slot_(std::exchange(from.slot_, kNone)) {}

Doomed& Doomed::operator=(Doomed&& from) noexcept {
  std::swap(slot_, from.slot_);
  return *this;
}

void Doomed::drop() {
  if (slot_ == kNone) return;
  delete slots[std::exchange(slot_, kNone)].exchange(nullptr);
}

SignalHold::SignalHold() { state.fetch_add(1); }

SignalHold::~SignalHold() {
  const std::uint32_t now = state.fetch_sub(1) - 1;
  if ((now & kHolds) == 0 && now != 0) {
    end_by(static_cast<int>(now >> kSignalShift));
  }
}

FileSizeSignalBlock::FileSizeSignalBlock() {
  sigset_t signals, old;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &signals, &old);
  was_blocked_ = sigismember(&old, SIGXFSZ) == 1;
}

FileSizeSignalBlock::~FileSizeSignalBlock() {
  if (was_blocked_) return;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  const timespec now = {};
  (void)::sigtimedwait(&signals, nullptr, &now);  // consumes a pending signal
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace ruleengine::io
