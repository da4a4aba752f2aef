#include "tests/cuda/emulator/block.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

ruleengine::emulator::Dim threadIdx, blockIdx, blockDim, gridDim;

namespace ruleengine::emulator {
namespace {

constexpr unsigned kWarp = 32;

std::string text_of(const Dim& dim) {
  return std::to_string(dim.x) + "," + std::to_string(dim.y) + "," +
         std::to_string(dim.z);
}

void copy(const Copy& each) {
  if (each.from != nullptr) {
    std::memcpy(each.to, each.from, 16);
  } else {
    std::memset(each.to, 0, 16);
  }
}

std::string line_of(const Site& site) {
  return "line " + std::to_string(site.line());
}

}  // namespace

Block& block() {
  static Block only;
  return only;
}

void Block::fail(const std::string& what) const {
  std::string text =
      std::string(kernel_->name) + ", block " + text_of(blockIdx);
  if (current_ != nullptr) text += ", thread " + text_of(current_->index);
  throw std::runtime_error(text + ": " + what);
}

std::byte* Block::shared(const void* site, std::size_t size) {
  std::byte* data = shared_.piece(site, size);
  if (data == nullptr) fail("more than 48 KiB of shared memory are declared");
  return data;
}

void Block::wait(State state, const Site& site) {
  current_->state = state;
  current_->site = site;
  current_->fiber->leave();
}

void Block::sync(const Site& site) { wait(State::kAtBarrier, site); }

std::uint64_t Block::exchange(Exchange kind, unsigned mask, std::uint64_t value,
                              unsigned from, const Site& site) {
  Lane* self = current_;
  if ((mask >> self->lane & 1) == 0) {
    fail("a lane is not in its own mask, " + line_of(site));
  }
  self->kind = kind;
  self->mask = mask;
  self->value = value;
  self->from = from;
  self->site = site;
  self->state = State::kInWarp;
  Lane* lanes[kWarp] = {};
  if (gather(mask, kind, lanes)) {
    finish(mask, kind, lanes);
  } else {
    self->fiber->leave();
  }
  return self->result;
}

void Block::together(Together function, void* value, const Site& site) {
  current_->function = function;
  exchange(Exchange::kTogether, 0xffffffff,
           reinterpret_cast<std::uint64_t>(value), 0, site);
}

void Block::copy_later(const Copy& made) {
  const Order order = launch_->order;
  const bool is_early = order == Order::kReverse ||
                        (order == Order::kRandom && random_() % 2 == 0);
  if (is_early) return copy(made);
  current_->copies.back().push_back(made);
}

void Block::wait_copies(std::size_t open) {
  CopyGroups& groups = current_->copies;
  while (groups.size() > open + 1) {
    for (const Copy& each : groups.front()) copy(each);
    groups.erase(groups.begin());
  }
}

// Whether all lanes of the mask have come.
bool Block::gather(unsigned mask, Exchange kind, Lane** lanes) {
  const unsigned first = current_->warp * kWarp;
  for (unsigned i = 0; i < kWarp; ++i) {
    if ((mask >> i & 1) == 0) continue;
    if (first + i >= count_) fail("a mask names a lane beyond the block");
    Lane& lane = lanes_[first + i];
    if (lane.state == State::kDone) fail("a mask names a lane that has ended");
    if (lane.state != State::kInWarp) return false;
    if (lane.mask != mask || lane.kind != kind ||
        (kind == Exchange::kTogether && lane.function != current_->function)) {
      fail("lanes of a warp disagree, " + line_of(current_->site) + " and " +
           line_of(lane.site));
    }
    lanes[i] = &lane;
  }
  return true;
}

void Block::finish(unsigned mask, Exchange kind, Lane** lanes) {
  if (kind == Exchange::kTogether) {
    void* values[kWarp];
    for (unsigned i = 0; i < kWarp; ++i) {
      values[i] = reinterpret_cast<void*>(lanes[i]->value);
    }
    current_->function(values);
  }
  std::uint64_t votes = 0;
  for (unsigned i = 0; i < kWarp; ++i) {
    if (lanes[i] != nullptr && lanes[i]->value != 0) votes |= 1u << i;
  }
  for (unsigned i = 0; i < kWarp; ++i) {
    if (lanes[i] == nullptr) continue;
    lanes[i]->state = State::kReady;
    if (kind != Exchange::kShuffle) {
      lanes[i]->result = votes;
      continue;
    }
    if ((mask >> lanes[i]->from & 1) == 0) {
      fail("a shuffle reads a lane outside its mask, " +
           line_of(lanes[i]->site));
    }
    lanes[i]->result = lanes[lanes[i]->from]->value;
  }
}

void Block::run_thread(void* block) {
  Block& self = *static_cast<Block*>(block);
  try {
    self.kernel_->function(self.args_);
  } catch (const std::runtime_error& fault) {
    self.fault_ = fault.what();  // it cannot leave the fiber's stack
  }
  self.current_->state = State::kDone;
}

void Block::resume(Lane& lane) {
  current_ = &lane;
  threadIdx = lane.index;
  lane.fiber->resume();
  current_ = nullptr;
}

bool Block::all(State state) const {
  return std::all_of(lanes_.begin(), lanes_.begin() + count_,
                     [&](const Lane& lane) { return lane.state == state; });
}

bool Block::run_warp(unsigned warp) {
  const unsigned from = warp * kWarp;
  const unsigned size = std::min(count_ - from, kWarp);
  bool ran = false;
  for (unsigned i = 0; i < size && fault_.empty(); ++i) {
    const bool back = launch_->order == Order::kReverse;
    Lane& lane = lanes_[from + (back ? size - 1 - i : i)];
    if (lane.state != State::kReady) continue;
    resume(lane);
    ran = true;
  }
  return ran;
}

bool Block::run_warps() {
  const bool mixes = launch_->order == Order::kRandom;
  if (mixes) std::shuffle(order_.begin(), order_.end(), random_);
  bool ran = false;
  for (const unsigned warp : order_) {
    while (run_warp(warp)) {
      ran = true;
      if (mixes) break;
    }
  }
  return ran;
}

void Block::release_barrier() {
  const Site& site = lanes_.front().site;
  for (unsigned i = 0; i < count_; ++i) {
    Lane& lane = lanes_[i];
    if (lane.state == State::kDone) {
      fail("threads wait at a barrier, others have ended");
    }
    if (lane.state == State::kInWarp) {
      fail("a warp waits for lanes that do not come, " + line_of(lane.site));
    }
    if (lane.site.line() != site.line()) {
      fail("threads are at different barriers, " + line_of(lane.site) +
           " and " + line_of(site));
    }
    lane.state = State::kReady;
  }
}

void Block::start_lanes() {
  for (unsigned i = 0; i < count_; ++i) {
    lanes_[i].state = State::kReady;
    lanes_[i].copies.assign(1, {});
    lanes_[i].fiber->start(&Block::run_thread, this);
  }
}

void Block::run_block() {
  shared_.begin(launch_->shared_bytes);
  start_lanes();
  while (fault_.empty() && !all(State::kDone)) {
    if (!run_warps() && fault_.empty()) release_barrier();
  }
  if (!fault_.empty()) throw std::runtime_error(fault_);
  if (!shared_.is_intact()) fail("it wrote beyond its shared memory");
}

void Block::prepare(const Launch& launch) {
  const Dim& size = launch.block;
  count_ = size.x * size.y * size.z;
  lanes_.resize(std::max<std::size_t>(lanes_.size(), count_));
  for (unsigned i = 0; i < count_; ++i) {
    Lane& lane = lanes_[i];
    if (lane.fiber == nullptr) lane.fiber = std::make_unique<Fiber>();
    lane.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    lane.warp = i / kWarp;
    lane.lane = i % kWarp;
  }
  order_.resize((count_ + kWarp - 1) / kWarp);
  std::iota(order_.begin(), order_.end(), 0u);
  if (launch.order == Order::kReverse) std::ranges::reverse(order_);
  random_.seed(launch.seed);
}

void Block::run_grid(const Kernel& kernel, const Launch& launch,
                     const void* args) {
  kernel_ = &kernel;
  launch_ = &launch;
  args_ = args;
  fault_.clear();
  prepare(launch);
  gridDim = launch.grid;
  blockDim = launch.block;
  for (unsigned z = 0; z < launch.grid.z; ++z) {
    for (unsigned y = 0; y < launch.grid.y; ++y) {
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block();
      }
    }
  }
}

}  // namespace ruleengine::emulator
