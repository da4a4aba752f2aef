#include "runtime/tensor_arena.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <numeric>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();
// Laying out takes time that grows with the square of it.
constexpr std::size_t kMostBlocks = std::size_t{1} << 14;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// For each block those that had a part of its place last.
std::vector<std::vector<std::size_t>> predecessors(
    std::span<const BlockUse> blocks, const Layout& layout) {
  struct Part {
    std::size_t end, block;
  };
  std::map<std::size_t, Part> parts;  // by their beginning
  std::vector<std::vector<std::size_t>> out(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t begin = layout.offsets[i];
    const std::size_t end = begin + aligned(blocks[i].bytes);
    auto at = parts.lower_bound(begin);
    if (at != parts.begin() && std::prev(at)->second.end > begin) --at;
    while (at != parts.end() && at->first < end) {
      const auto [from, part] = *at;
      out[i].push_back(part.block);
      at = parts.erase(at);
      if (from < begin) parts[from] = {begin, part.block};
      if (part.end > end) at = parts.emplace(end, part).first;
    }
    parts[begin] = {end, i};
    std::ranges::sort(out[i]);
    const auto rest = std::ranges::unique(out[i]);
    out[i].erase(rest.begin(), rest.end());
  }
  return out;
}

}  // namespace

std::size_t live_bytes(std::span<const BlockUse> blocks) {
  std::map<std::size_t, std::int64_t> changes;  // by time
  for (const BlockUse& each : blocks) {
    changes[each.begin] += static_cast<std::int64_t>(aligned(each.bytes));
    changes[each.end] -= static_cast<std::int64_t>(aligned(each.bytes));
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [time, change] : changes) {
    live += change;
    most = std::max(most, live);
  }
  return static_cast<std::size_t>(most);
}

Layout lay_out(std::span<const BlockUse> blocks) {
  Layout out{.offsets = std::vector<std::size_t>(blocks.size())};
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) {
    return aligned(blocks[i].bytes);
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    const std::size_t size = aligned(blocks[i].bytes);
    std::size_t end = 0, best = kForever, best_gap = kForever;
    for (const std::size_t k : placed) {
      const bool meet =
          blocks[k].begin < blocks[i].end && blocks[i].begin < blocks[k].end;
      if (!meet) continue;
      const std::size_t at = out.offsets[k];
      if (at >= end + size && at - end < best_gap) {
        best = end;
        best_gap = at - end;
      }
      end = std::max(end, at + aligned(blocks[k].bytes));
    }
    out.offsets[i] = best == kForever ? end : best;
    out.bytes = std::max(out.bytes, out.offsets[i] + size);
    const auto place =
        std::ranges::upper_bound(placed, out.offsets[i], {},
                                 [&](std::size_t k) { return out.offsets[k]; });
    placed.insert(place, i);
  }
  return out;
}

// Blocks write down their end, also where they outlive the arena.
struct TensorArena::Script {
  std::mutex mutex;
  std::size_t clock = 0;
  std::vector<BlockUse> uses;

  std::size_t begin(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    uses.push_back({.bytes = bytes, .begin = ++clock, .end = kForever});
    return uses.size() - 1;
  }
  void end(std::size_t i) {
    const std::lock_guard lock(mutex);
    uses[i].end = ++clock;
  }
};

void TensorArena::begin(std::vector<std::int64_t> shapes) {
  is_serving_ = false;
  if (!slots_.empty() && shapes == served_shapes_) {
    is_serving_ = std::ranges::all_of(
        slots_, [](const Slot& each) { return each.given.expired(); });
    next_ = 0;
  } else if (shapes == last_shapes_ && shapes != served_shapes_) {
    drop();
    script_ = std::make_shared<Script>();
  }
  last_shapes_ = std::move(shapes);
}

void TensorArena::end(bool is_complete) {
  is_serving_ = false;
  if (script_ == nullptr) return;
  if (is_complete) {
    served_shapes_ = last_shapes_;
    try {
      make_slots();
    } catch (const Failure&) {  // there is too little memory for it
      slots_.clear();
    } catch (const std::bad_alloc&) {
      slots_.clear();
    }
  }
  script_ = nullptr;
}

bool TensorArena::drop() {
  const bool had_one = !slots_.empty();
  slots_.clear();
  block_ = nullptr;
  served_shapes_.reset();
  last_shapes_.reset();
  return had_one;
}

void TensorArena::make_slots() {
  const std::lock_guard lock(script_->mutex);
  std::vector<BlockUse> inner;  // of blocks that the run gave back
  std::vector<std::size_t> index;
  for (const BlockUse& each : script_->uses) {
    const bool is_inner = each.end != kForever && each.bytes > 0;
    index.push_back(is_inner ? inner.size() : kForever);
    if (is_inner) inner.push_back(each);
  }
  if (inner.empty() || inner.size() > kMostBlocks) return;
  const Layout layout = lay_out(inner);
  const auto before = predecessors(inner, layout);
  memory_->drop_free();  // what the runs before left
  block_ = memory_->allocate(layout.bytes);
  std::vector<std::size_t> slot_of(inner.size());
  for (std::size_t i = 0; i < script_->uses.size(); ++i) {
    Slot slot{.bytes = script_->uses[i].bytes, .given = {}, .before = {}};
    if (const std::size_t k = index[i]; k != kForever) {
      slot_of[k] = i;
      slot.data = block_.get() + layout.offsets[k];
      for (const std::size_t each : before[k]) {
        slot.before.push_back(slot_of[each]);
      }
    }
    slots_.push_back(std::move(slot));
  }
}

// In the order of the script: so a place is free once those before it are.
std::shared_ptr<std::byte> TensorArena::next_slot(std::size_t bytes) {
  if (next_ < slots_.size() && slots_[next_].bytes == bytes) {
    Slot& slot = slots_[next_++];
    if (slot.data == nullptr) return nullptr;
    const bool fits = slot.given.expired() &&
                      std::ranges::all_of(slot.before, [&](std::size_t i) {
                        return slots_[i].given.expired();
                      });
    if (fits) {
      std::shared_ptr<std::byte> out(slot.data, [block = block_](auto*) {});
      slot.given = out;
      return out;
    }
  }
  next_ = slots_.size();
  return nullptr;
}

std::shared_ptr<std::byte> TensorArena::allocate(std::size_t bytes) {
  if (is_serving_) {
    if (auto data = next_slot(bytes)) return data;
  }
  std::shared_ptr<std::byte> data = memory_->allocate(bytes);
  if (script_ == nullptr) return data;
  std::byte* at = data.get();
  const std::size_t i = script_->begin(bytes);
  return {at, [script = script_, i, data = std::move(data)](auto*) {
            script->end(i);
          }};
}

}  // namespace ruleengine::runtime
