#include "runtime/tensor_arena.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "runtime/failure.h"

namespace ruleengine::runtime {
namespace {

constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();
// Laying out takes time that grows with the square of it.
constexpr std::size_t kMostBlocks = std::size_t{1} << 14;

// For each block those that had a part of its place last.
std::vector<std::vector<std::size_t>> predecessors(
    std::span<const BlockUse> blocks, const Layout& layout,
    std::size_t alignment) {
  struct Part {
    std::size_t end, block;
  };
  std::map<std::size_t, Part> parts;  // by their beginning
  std::vector<std::vector<std::size_t>> out(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t begin = layout.offsets[i];
    const std::size_t end = begin + rounded_up(blocks[i].bytes, alignment);
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

Layout lay_out(std::span<const BlockUse> blocks, std::size_t alignment) {
  Layout out{.offsets = std::vector<std::size_t>(blocks.size())};
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) {
    return rounded_up(blocks[i].bytes, alignment);
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    const std::size_t size = rounded_up(blocks[i].bytes, alignment);
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
      end = std::max(end, at + rounded_up(blocks[k].bytes, alignment));
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
  mutable std::mutex mutex;
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

bool TensorArena::Form::is_free() const {
  return std::ranges::all_of(
      slots, [](const Slot& each) { return each.given.expired(); });
}

void TensorArena::begin(std::vector<std::int64_t> shapes) {
  is_serving_ = false;
  next_ = 0;
  const auto known = std::ranges::find(forms_, shapes, &Form::shapes);
  const bool is_other = known != forms_.begin();
  // What outlives its run keeps the block from other shapes.
  if (is_other && !std::ranges::all_of(forms_, &Form::is_free)) {
    block_ = nullptr;
  }
  if (known == forms_.end()) {
    constexpr std::size_t kMost = 8;
    if (forms_.size() == kMost) forms_.pop_back();
    forms_.insert(forms_.begin(),
                  Form{.shapes = std::move(shapes), .slots = {}});
    return;
  }
  std::rotate(forms_.begin(), known, known + 1);
  const Form& form = forms_.front();
  if (form.is_written) {
    if (!form.slots.empty() && form.is_free()) find_room();
  } else {
    block_ = nullptr;  // the run needs the memory
    forms_.front().copied = 0;
    script_ = std::make_shared<Script>();
  }
}

// Where there is too little memory for the block, the run is not served.
void TensorArena::find_room() {
  Form& form = forms_.front();
  try {
    if (block_ == nullptr || block_bytes_ < form.bytes) {
      block_ = nullptr;
      block_ = memory_->allocate(form.bytes);
      block_bytes_ = form.bytes;
    }
    is_serving_ = true;
  } catch (const Failure&) {
    form.slots.clear();
  } catch (const std::bad_alloc&) {
    form.slots.clear();
  }
}

void TensorArena::end(bool is_complete) {
  is_serving_ = false;
  const auto script = std::exchange(script_, nullptr);
  if (script == nullptr || !is_complete) return;
  forms_.front().is_written = true;
  try {
    make_slots(*script);
  } catch (const std::bad_alloc&) {
    forms_.front().slots.clear();
  }
}

bool TensorArena::drop() {
  const bool had_some = std::ranges::any_of(
      forms_, [](const Form& each) { return !each.slots.empty(); });
  forms_.clear();
  block_ = nullptr;
  return had_some;
}

void TensorArena::make_slots(const Script& script) {
  const std::lock_guard lock(script.mutex);
  std::vector<BlockUse> inner;  // of blocks that the run gave back
  std::vector<std::size_t> index;
  for (const BlockUse& each : script.uses) {
    const bool is_inner = each.end != kForever && each.bytes > 0;
    index.push_back(is_inner ? inner.size() : kForever);
    if (is_inner) inner.push_back(each);
  }
  if (inner.empty() || inner.size() > kMostBlocks) return;
  const std::size_t alignment = memory_->alignment();
  const Layout layout = lay_out(inner, alignment);
  const auto before = predecessors(inner, layout, alignment);
  memory_->drop_free();  // what the runs before left
  Form& form = forms_.front();
  form.bytes = layout.bytes;
  std::vector<std::size_t> slot_of(inner.size());
  for (std::size_t i = 0; i < script.uses.size(); ++i) {
    Slot slot{.bytes = script.uses[i].bytes, .given = {}, .before = {}};
    if (const std::size_t k = index[i]; k != kForever) {
      slot_of[k] = i;
      slot.offset = layout.offsets[k];
      for (const std::size_t each : before[k]) {
        slot.before.push_back(slot_of[each]);
      }
    }
    form.slots.push_back(std::move(slot));
  }
}

// In the order of the script: so a place is free once those before it are.
std::shared_ptr<std::byte> TensorArena::next_slot(std::size_t bytes) {
  std::vector<Slot>& slots = forms_.front().slots;
  if (next_ < slots.size() && slots[next_].bytes == bytes) {
    Slot& slot = slots[next_++];
    if (!slot.offset) return nullptr;
    const bool fits = slot.given.expired() &&
                      std::ranges::all_of(slot.before, [&](std::size_t i) {
                        return slots[i].given.expired();
                      });
    if (fits) {
      // The slot keeps the deleter, which is to keep no block.
      std::shared_ptr<std::byte> out(
          block_.get() + *slot.offset,
          [block = block_](auto*) mutable { block = nullptr; });
      slot.given = out;
      return out;
    }
  }
  next_ = slots.size();
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
