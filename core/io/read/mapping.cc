#include "core/io/read/mapping.h"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "core/io/load.h"

namespace ruleengine::io {
namespace {

// The table of mapped ranges that the signal handler reads, without locks. A
// model has one mapping, and one for each external file that was read; those
// that do not fit into the table are not guarded.
struct Slot {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> faulted{false};
};
constexpr std::size_t kSlots = 4096;
constexpr std::size_t kNoSlot = kSlots;
std::array<Slot, kSlots> slots;
std::mutex slots_mutex;
std::atomic<std::size_t> slots_used{0};
struct sigaction previous_action;

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL &&
             previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    ::signal(SIGBUS, SIG_DFL);  // the repeated access then ends the process
  }
}

// mmap is not on POSIX's list for signal handlers, but is a bare system call
// here.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const std::size_t used = slots_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    if (at < slots[i].begin.load() || at >= slots[i].end.load()) continue;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    void* start = reinterpret_cast<void*>(at & ~(page - 1));
    slots[i].faulted.store(true);
    if (::mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
               -1, 0) == start) {
      errno = saved;
      return;
    }
  }
  errno = saved;
  pass_on(signal, info, context);
}

std::size_t take_slot(std::uintptr_t begin, std::uintptr_t end) {
  const std::lock_guard lock(slots_mutex);
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (slots[i].end.load() != 0) continue;
    slots[i].faulted.store(false);
    slots[i].begin.store(begin);
    slots[i].end.store(end);
    if (i >= slots_used.load()) {
      slots_used.store(i + 1, std::memory_order_release);
    }
    return i;
  }
  return kNoSlot;
}

}  // namespace

void guard_mapping_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
  });
}

Result<std::unique_ptr<Mapping>> Mapping::map(int fd, std::uint64_t size) {
  if (size == 0) return std::unique_ptr<Mapping>(new Mapping(nullptr, 0));
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) {
    return Diagnostic{.what = std::string("cannot map the file: ") +
                              std::strerror(errno)};
  }
  return std::unique_ptr<Mapping>(
      new Mapping(static_cast<std::byte*>(at), size));
}

Mapping::Mapping(std::byte* data, std::size_t size)
    : data_(data), size_(size), slot_(kNoSlot) {
  if (size == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  slot_ = take_slot(begin, begin + size);
}

Mapping::~Mapping() {
  if (slot_ != kNoSlot) slots[slot_].end.store(0);
  if (size_ != 0) ::munmap(data_, size_);
}

void Mapping::release() const {
  if (size_ != 0) ::madvise(data_, size_, MADV_DONTNEED);
}

void Passage::pass(Bytes bytes) {
  constexpr std::size_t kStride = std::size_t{16} << 20;
  passed_ += bytes.size();
  if (passed_ < kStride) return;
  passed_ = 0;
  if (file_ != nullptr) file_->release();
}

bool Mapping::faulted() const {
  return slot_ != kNoSlot && slots[slot_].faulted.load();
}

}  // namespace ruleengine::io
