#include "tests/cuda/standin/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

namespace ruleengine::standin {
namespace {

// Blocks are apart, so that what runs over the end of one is found.
constexpr std::size_t kAlignment = 512;
constexpr std::size_t kPage = 4096;

bool have_common(const std::vector<Use>& a, const std::vector<Use>& b) {
  return std::ranges::any_of(a, [&](const Use& each) {
    return std::ranges::find(b, each.id, &Use::id) != b.end();
  });
}

}  // namespace

DeviceHeap::DeviceHeap() {
  void* at = ::mmap(nullptr, kReserved, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(at);
}

CUdeviceptr DeviceHeap::allocate(std::size_t bytes, std::size_t limit) {
  if (bytes > limit || live_ > limit - bytes) return 0;
  const std::size_t size =
      (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;
  CUdeviceptr at = 0;
  if (const auto known = free_.find(size); known != free_.end()) {
    at = known->second;
    free_.erase(known);
  } else {
    if (size > kReserved - end_) return 0;
    at = base() + end_;
    end_ += size;
  }
  blocks_[at] = {bytes, size, next_id_++};
  live_ += bytes;
  open(true);
  // All of a tensor of a test; not all of what a library takes to work in.
  constexpr std::size_t kFilled = std::size_t{1} << 20;
  std::memset(reinterpret_cast<void*>(at), 0xFF, std::min(size, kFilled));
  open(false);
  return at;
}

bool DeviceHeap::release(CUdeviceptr block) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return false;
  live_ -= found->second.bytes;
  // Pages that are there cost time whenever work opens the heap.
  const CUdeviceptr first = (block + kPage - 1) / kPage * kPage;
  const CUdeviceptr end = (block + found->second.size) / kPage * kPage;
  if (first < end) {
    ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  }
  free_.emplace(found->second.size, block);
  blocks_.erase(found);
  return true;
}

void DeviceHeap::release_all() {
  while (!blocks_.empty()) release(blocks_.begin()->first);
}

Use DeviceHeap::find(std::uintptr_t address) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return {};
  const auto& [at, block] = *--after;
  return address < at + std::max<std::size_t>(block.bytes, 1)
             ? Use{at, block.id}
             : Use{};
}

bool DeviceHeap::has(const Use& use) const {
  const auto found = blocks_.find(use.at);
  return found != blocks_.end() && found->second.id == use.id;
}

bool DeviceHeap::holds(CUdeviceptr at, std::size_t bytes) const {
  const Use use = find(at);
  return use.id != 0 && at + bytes <= use.at + blocks_.at(use.at).bytes;
}

void DeviceHeap::open(bool is_open) {
  const std::size_t used = (end_ + kPage - 1) / kPage * kPage;
  if (used == 0) return;
  ::mprotect(base_, used, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool Machine::is_pinned(const void* data, std::size_t bytes) const {
  const auto* at = static_cast<const std::byte*>(data);
  auto after = pinned.upper_bound(at);
  if (after == pinned.begin()) return false;
  const auto& [begin, size] = *--after;
  return at + bytes <= begin + size;
}

bool Machine::is_capturing() const {
  return std::ranges::any_of(
      streams, [](StreamState* each) { return each->capture != nullptr; });
}

void Machine::misuse(std::string what) {
  driver->misuse.push_back(std::move(what));
}

std::vector<Use> Machine::uses_in(const void* args, std::size_t bytes) {
  std::vector<Use> out;
  for (std::size_t i = 0; i + sizeof(CUdeviceptr) <= bytes;
       i += sizeof(CUdeviceptr)) {
    CUdeviceptr word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(args) + i, sizeof(word));
    if (!heap.is_inside(word)) continue;
    const Use use = heap.find(word);
    if (use.id == 0) misuse("a kernel gets an address of no allocation");
    if (use.id != 0) out.push_back(use);
  }
  return out;
}

// Streams are not in order among each other, so whatever two of them have not
// done yet may be done at once.
void Machine::add(StreamState& stream, Work work) {
  if (stream.capture != nullptr) {
    stream.capture->works.push_back(std::move(work));
    return;
  }
  for (const StreamState* other : streams) {
    if (other == &stream) continue;
    for (const Work& each : other->pending) {
      if (!have_common(each.uses, work.uses)) continue;
      misuse(each.what + " and " + work.what +
             " use the same memory on two streams at once");
    }
  }
  stream.pending.push_back(std::move(work));
}

void Machine::finish(StreamState& stream) {
  if (stream.pending.empty()) return;
  heap.open(true);
  while (!stream.pending.empty()) {
    const Work work = std::move(stream.pending.front());
    stream.pending.pop_front();
    for (const Use& each : work.uses) {
      if (!heap.has(each)) misuse(work.what + " uses memory that was freed");
    }
    try {
      work.run();
    } catch (const std::runtime_error& error) {
      misuse(work.what + ": " + error.what());
    }
  }
  heap.open(false);
}

void Machine::finish_all() {
  for (StreamState* each : streams) finish(*each);
}

namespace {

// A number of the environment, for programs under test.
int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

struct ToldDriver : Driver {
  ToldDriver() {
    version = setting("RULEENGINE_STANDIN_VERSION", version);
    devices = setting("RULEENGINE_STANDIN_DEVICES", devices);
    fails_at =
        static_cast<std::size_t>(setting("RULEENGINE_STANDIN_FAILS_AT", 0));
    failure = setting("RULEENGINE_STANDIN_FAILURE", failure);
    stays_failed = setting("RULEENGINE_STANDIN_STAYS_FAILED", 0) != 0;
  }
};

}  // namespace

Machine& machine() {
  static ToldDriver out;
  static Machine kMachine{.driver = &out,
                          .heap = {},
                          .pinned = {},
                          .streams = {},
                          .events = {},
                          .modules = {},
                          .graphs = {},
                          .execs = {},
                          .current = {}};
  return kMachine;
}

Driver& driver() { return *machine().driver; }

std::size_t Driver::live_bytes() const { return machine().heap.live(); }

std::size_t Driver::pinned_bytes() const {
  std::size_t out = 0;
  for (const auto& [data, bytes] : machine().pinned) out += bytes;
  return out;
}

void Driver::forget() {
  Machine& m = machine();
  m.heap.release_all();
  for (const auto& [data, bytes] : m.pinned) {
    ::munmap(const_cast<std::byte*>(data), bytes);
  }
  m.pinned.clear();
  for (StreamState* each : m.streams) delete each;
  m.streams.clear();
  for (EventState* each : m.events) delete each;
  m.events.clear();
  for (void* handle : m.modules) ::operator delete(handle);
  m.modules.clear();
  for (std::set<void*>* each : {&m.graphs, &m.execs}) {
    for (void* graph : *each) delete static_cast<Graph*>(graph);
    each->clear();
  }
  m.contexts = 0;
  library_objects = 0;
  m.current.clear();
  m.push_failed = false;
}

std::size_t Driver::objects() const {
  const Machine& m = machine();
  return static_cast<std::size_t>(m.contexts) + m.streams.size() +
         m.modules.size() + m.events.size() + m.graphs.size() + m.execs.size() +
         library_objects;
}

bool fails(const char* function) {
  // Plans are built on several threads.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Driver& d = driver();
  ++d.counts.calls[function];
  ++d.counts.all;
  if (d.fails_in == function) return true;
  if (d.fails_at == 0) return false;
  if (d.fails_at > 1) {
    --d.fails_at;
    return false;
  }
  if (!d.stays_failed) d.fails_at = 0;
  d.failed = function;
  return true;
}

void add_work(void* stream, std::string what, std::vector<const void*> uses,
              std::function<void()> work) {
  Machine& m = machine();
  std::vector<Use> known;
  for (const void* each : uses) {
    const Use use = m.heap.find(reinterpret_cast<std::uintptr_t>(each));
    if (use.id == 0) m.misuse(what + " gets an address of no allocation");
    if (use.id != 0) known.push_back(use);
  }
  m.add(*static_cast<StreamState*>(stream),
        {std::move(what), std::move(known), std::move(work)});
}

}  // namespace ruleengine::standin
