#include "core/io/signals.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "core/io/descriptor.h"

namespace ruleengine::io {

struct Doomed::Entry {
  enum class Kind { kProcesses, kData, kTemporary, kFolder };
  Kind kind;
  std::string path = {};
  int file = -1;  // of data
  std::string result = {};
  struct stat before = {};  // the file at `result`; zeros if none
  pid_t group = 0;
};

namespace {

constexpr std::array kSignals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};

using Entry = Doomed::Entry;
constexpr std::size_t kDoomedKinds = 4;

// The tables that the handler reads without a lock, one for each kind. Files
// that do not fit are left to the next run.
constexpr std::size_t kDoomedSlots = 4096;
struct Table {
  std::array<std::atomic<Entry*>, kDoomedSlots> slots;
  std::atomic<std::size_t> used{0};
};
std::array<Table, kDoomedKinds> tables;
static_assert(std::atomic<Entry*>::is_always_lock_free);

Table& table_of(Entry::Kind kind) {
  return tables[static_cast<std::size_t>(kind)];
}

// The mask for the number of SignalHolds, the signal that waits for their end,
// and whether the process is ending.
constexpr std::uint32_t kHolds = 0xffffff;
constexpr int kSignalShift = 24;
constexpr std::uint32_t kSignal = 0x7fu << kSignalShift;
constexpr std::uint32_t kEnding = 1u << 31;
std::atomic<std::uint32_t> state{0};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

struct stat what_is_at(const char* path) {
  struct stat info = {};
  if (::lstat(path, &info) != 0) info = {};
  return info;
}

bool is_as_before(const Entry& name) {
  const struct stat now = what_is_at(name.result.c_str());
  return now.st_dev == name.before.st_dev && now.st_ino == name.before.st_ino &&
         now.st_ctim.tv_sec == name.before.st_ctim.tv_sec &&
         now.st_ctim.tv_nsec == name.before.st_ctim.tv_nsec;
}

// Removes what is in the folder, as far as it goes. Allocates nothing: a signal
// handler calls it.
void remove_content(int folder, int depth) {
  constexpr int kMostDepth = 16;
  alignas(dirent64) std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t size = ::getdents64(folder, buffer.data(), buffer.size());
    if (size <= 0) return;
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += entry->d_reclen;
      const char* const name = entry->d_name;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      if (::unlinkat(folder, name, 0) == 0 || depth == kMostDepth) continue;
      const int inner = ::openat(
          folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (inner < 0) continue;
      remove_content(inner, depth + 1);
      ::close(inner);
      ::unlinkat(folder, name, AT_REMOVEDIR);
    }
  }
}

bool remove_folder(const char* path) {
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    remove_content(folder, 0);
    ::close(folder);
  }
  return ::rmdir(path) == 0;
}

// Whether it was removed. Data may not be ours.
bool remove(const Entry& entry) {
  const char* path = entry.path.c_str();
  switch (entry.kind) {
    case Entry::Kind::kProcesses:
      return ::kill(-entry.group, SIGKILL) == 0;
    case Entry::Kind::kData:
      if (!is_name_of(path, entry.file)) return true;  // not yet
      if (!hold_alone(entry.file) || !is_as_before(entry)) return false;
      return ::unlink(path) == 0;
    case Entry::Kind::kTemporary:
      return ::unlink(path) == 0;
    case Entry::Kind::kFolder:
      return remove_folder(path);
  }
  return false;
}

// Removes all of a kind; whether none was left.
bool remove_all(Entry::Kind kind) {
  bool all = true;
  Table& table = table_of(kind);
  const std::size_t used = table.used.load();
  for (std::size_t i = 0; i < used; ++i) {
    // Whoever takes an entry out of its table owns it.
    const Entry* const entry = table.slots[i].exchange(nullptr);
    if (entry != nullptr && !remove(*entry)) all = false;
  }
  return all;
}

sigset_t set_of(int signal) {
  sigset_t out;
  sigemptyset(&out);
  sigaddset(&out, signal);
  return out;
}

// Only by the one thread that has set kEnding.
void end_by(int signal) {
  remove_all(Entry::Kind::kProcesses);
  // Where data stays, so do the models, since the next run finds the data by
  // them.
  if (remove_all(Entry::Kind::kData)) remove_all(Entry::Kind::kTemporary);
  remove_all(Entry::Kind::kFolder);
  ::signal(signal, SIG_DFL);
  const sigset_t one = set_of(signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

void on_signal(int signal) {
  const int saved = errno;
  const auto waits = static_cast<std::uint32_t>(signal) << kSignalShift;
  std::uint32_t now = state.load();
  // Only the first signal counts.
  while ((now & (kEnding | kSignal)) == 0) {
    const bool ends = (now & kHolds) == 0;
    if (!state.compare_exchange_weak(now, ends ? kEnding : now | waits)) {
      continue;
    }
    if (ends) end_by(signal);
    break;
  }
  errno = saved;
}

// The thread that ends the process does not come here.
[[noreturn]] void wait_for_the_end() {
  for (;;) ::pause();
}

}  // namespace

void clean_up_on_signals() {
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

Doomed::Doomed(Entry entry) {
  auto owned = std::make_unique<Entry>(std::move(entry));
  Table& table = table_of(owned->kind);
  for (std::size_t i = 0; i < kDoomedSlots; ++i) {
    Entry* free = nullptr;
    if (!table.slots[i].compare_exchange_strong(free, owned.get())) continue;
    slot_ = &table.slots[i];
    (void)owned.release();
    std::size_t used = table.used.load();
    while (used <= i && !table.used.compare_exchange_weak(used, i + 1)) {
    }
    return;
  }
}

Doomed Doomed::temporary(const std::string& path) {
  return Doomed({.kind = Entry::Kind::kTemporary, .path = path});
}

Doomed Doomed::data(const std::string& path, int file,
                    const std::string& result) {
  return Doomed({.kind = Entry::Kind::kData,
                 .path = path,
                 .file = file,
                 .result = result,
                 .before = what_is_at(result.c_str())});
}

Doomed Doomed::folder(const std::string& path) {
  return Doomed({.kind = Entry::Kind::kFolder, .path = path});
}

Doomed Doomed::processes(pid_t group) {
  return Doomed({.kind = Entry::Kind::kProcesses, .group = group});
}

Doomed::Doomed(Doomed&& from) noexcept
    : slot_(std::exchange(from.slot_, nullptr)) {}

Doomed& Doomed::operator=(Doomed&& from) noexcept {
  std::swap(slot_, from.slot_);
  return *this;
}

void Doomed::drop() {
  if (slot_ == nullptr) return;
  delete std::exchange(slot_, nullptr)->exchange(nullptr);
}

SignalHold::SignalHold() {
  std::uint32_t now = state.load();
  do {
    if ((now & kEnding) != 0) wait_for_the_end();
  } while (!state.compare_exchange_weak(now, now + 1));
}

SignalHold::~SignalHold() {
  std::uint32_t now = state.load();
  std::uint32_t next;
  do {
    next = now - 1;
    if ((next & kHolds) == 0 && next != 0) next = kEnding;
  } while (!state.compare_exchange_weak(now, next));
  if (next == kEnding) {
    end_by(static_cast<int>((now & kSignal) >> kSignalShift));
  }
}

FileSizeSignalBlock::FileSizeSignalBlock() {
  const sigset_t signals = set_of(SIGXFSZ);
  sigset_t old;
  ::pthread_sigmask(SIG_BLOCK, &signals, &old);
  was_blocked_ = sigismember(&old, SIGXFSZ) == 1;
}

FileSizeSignalBlock::~FileSizeSignalBlock() {
  if (was_blocked_) return;
  const sigset_t signals = set_of(SIGXFSZ);
  const timespec now = {};
  (void)::sigtimedwait(&signals, nullptr, &now);  // consumes a pending signal
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace ruleengine::io
